//! `windlass config`

use serde_json::{Value, json};
use windlass_core::config::Takes;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output::{self, Align, Ink, Table};
use crate::cli::reading;
use crate::cli::settings::{
    CLIENT, Catalogue, ConfigArgs, Layers, Said, Section, Setting, Whence, reference, shown,
};

/// Show the settings of this machine, and where each comes from
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
A flag comes before the variable (WINDLASS_ and the flag's name), the variable before the file,
the file before the default. The file is --config, else WINDLASS_CONFIG, else windlass/config.yml
in XDG_CONFIG_HOME or ~/.config, and behind that /etc/windlass/config.yml.

Examples:
  windlass config show serve
  windlass config show --json | jq -r 'select(.from != \"default\") | .setting'")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Show(ShowArgs),
    Reference(ReferenceArgs),
}

/// Every setting, its value and where it comes from
#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Only those of this section
    #[arg(value_name = "SECTION", value_enum)]
    section: Option<Which>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: ConfigArgs,
}

/// Every setting that there is, in Markdown
#[derive(Debug, clap::Args)]
struct ReferenceArgs {}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    /// Of `windlass serve`
    Serve,
    /// Of `windlass worker`
    Worker,
    /// Of `windlass dev`
    Dev,
    /// Of commands that ask a controller
    Client,
}

/// Shows them.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    match &args.command {
        Command::Show(args) => show(args, context),
        Command::Reference(ReferenceArgs {}) => {
            Ok(output::data(reference(&Catalogue::new()).trim_end()))
        }
    }
}

fn show(args: &ShowArgs, context: &Context) -> Result<u8, CliError> {
    let layers = Layers::load(args.file.config.as_deref(), context)?;
    let wanted = |section: &&Section| args.section.is_none_or(|which| which.name() == section.name);
    let sections: Vec<&Section> = layers.catalogue.sections.iter().filter(wanted).collect();
    let mut rows = Vec::new();
    for section in sections {
        layers.check(section.name)?;
        for setting in &section.settings {
            rows.push(Row::new(section, setting, &layers)?);
        }
    }
    if args.json {
        return Ok(output::objects(&rows.iter().map(Row::json).collect::<Vec<_>>()));
    }
    let files: Vec<String> = layers.files().map(|file| file.display().to_string()).collect();
    let read = if files.is_empty() {
        "no file is read".to_owned()
    } else {
        format!("read: {}", files.join(", "))
    };
    output::talk(&context.err.paint(Ink::Quiet, &read));
    Ok(output::data(&table(&rows).lines(&context.out).join("\n")))
}

impl Which {
    const fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Worker => "worker",
            Self::Dev => "dev",
            Self::Client => "client",
        }
    }
}

/// A setting as it is now.
struct Row<'a> {
    section: &'static str,
    setting: &'a Setting,
    said: Said,
}

impl<'a> Row<'a> {
    fn new(section: &Section, setting: &'a Setting, layers: &Layers) -> Result<Self, CliError> {
        let said = match section.name {
            CLIENT => reading::said(layers, &setting.name)?,
            name => layers.said(name, &setting.name),
        };
        let default = || Said { values: setting.default.clone(), whence: Whence::Default };
        Ok(Self { section: section.name, setting, said: said.unwrap_or_else(default) })
    }

    fn values(&self) -> Vec<String> {
        self.said.values.iter().map(|value| shown(&self.setting.name, value)).collect()
    }

    fn json(&self) -> Value {
        let values = self.values();
        let value = match self.setting.takes {
            Takes::Switch => json!(values.first().is_some_and(|value| value == "true")),
            Takes::One => json!(values.first()),
            Takes::Many => json!(values),
        };
        let (from, place) = match &self.said.whence {
            Whence::Variable(name) => ("variable", Some(name.clone())),
            Whence::Saved => ("context", None),
            whence @ Whence::File { .. } => ("file", Some(whence.to_string())),
            Whence::Default => ("default", None),
        };
        json!({
            "section": self.section, "setting": self.setting.name, "value": value,
            "from": from, "place": place, "variable": self.setting.variable,
        })
    }
}

fn table(rows: &[Row<'_>]) -> Table {
    let head = [("setting", Align::Left), ("value", Align::Left), ("from", Align::Left)];
    let mut table = Table::new(head);
    for row in rows {
        let value = match (row.setting.takes, &*row.values()) {
            (Takes::Switch, []) => "false".to_owned(),
            (_, []) => "-".to_owned(),
            (_, values) => values.join(", "),
        };
        let name = format!("{}.{}", row.section, row.setting.name);
        table.row([name, value, row.said.whence.to_string()]);
    }
    table
}
