//! `windlass config`

use serde_json::{Value, json};
use windlass_core::config::ConfigValueKind;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output::{ColorRole, ColumnAlign, TextTable};
use crate::cli::settings::{
    CLIENT, CliSetting, ConfigFileArgs, SettingOrigin, SettingValue, SettingsCatalogue,
    SettingsLayers, SettingsSection, redacted, reference,
};
use crate::cli::{output, run_source};

/// Show the settings of this machine and their sources
#[derive(Debug, clap::Args)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "\
The order of precedence is: a flag, its variable (WINDLASS_ and the flag's name), the file, the
default. The file is --config or WINDLASS_CONFIG. Without these it is windlass/config.yml in
XDG_CONFIG_HOME or ~/.config, and then /etc/windlass/config.yml.

Examples:
  windlass config show serve
  windlass config show --json | jq -r 'select(.from != \"default\") | .setting'")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    Show(ConfigShowArgs),
    Reference(ConfigReferenceArgs),
}

/// Show every setting, its value and its source
#[derive(Debug, clap::Args)]
struct ConfigShowArgs {
    /// Show only the settings of this section
    #[arg(value_name = "SECTION", value_enum)]
    section: Option<ConfigSectionArg>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    file: ConfigFileArgs,
}

/// Print the reference of all settings, in Markdown
#[derive(Debug, clap::Args)]
struct ConfigReferenceArgs {}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ConfigSectionArg {
    /// Settings of `windlass serve`
    Serve,
    /// Settings of `windlass worker`
    Worker,
    /// Settings of `windlass dev`
    Dev,
    /// Settings of commands that use a controller
    Client,
}

/// Shows the settings.
pub(crate) fn run(args: &ConfigArgs, context: &CommandContext) -> Result<u8, CliError> {
    match &args.command {
        ConfigCommand::Show(args) => show(args, context),
        ConfigCommand::Reference(ConfigReferenceArgs {}) => {
            Ok(output::print_data(reference(&SettingsCatalogue::new()).trim_end()))
        }
    }
}

fn show(args: &ConfigShowArgs, context: &CommandContext) -> Result<u8, CliError> {
    let layers = SettingsLayers::load(args.file.config.as_deref(), context)?;
    let wanted =
        |section: &&SettingsSection| args.section.is_none_or(|which| which.name() == section.name);
    let sections: Vec<&SettingsSection> = layers.catalogue.sections.iter().filter(wanted).collect();
    let mut rows = Vec::new();
    for section in sections {
        layers.check(section.name)?;
        for setting in &section.settings {
            rows.push(SettingRow::new(section, setting, &layers)?);
        }
    }
    if args.json {
        return Ok(output::print_json_lines(
            &rows.iter().map(SettingRow::json).collect::<Vec<_>>(),
        ));
    }
    let files: Vec<String> = layers.files().map(|file| file.display().to_string()).collect();
    let read = if files.is_empty() {
        "no file is read".to_owned()
    } else {
        format!("read: {}", files.join(", "))
    };
    output::print_message(&context.err.paint(ColorRole::Quiet, &read));
    Ok(output::print_data(&table(&rows).lines(&context.out).join("\n")))
}

impl ConfigSectionArg {
    const fn name(self) -> &'static str {
        match self {
            Self::Serve => "serve",
            Self::Worker => "worker",
            Self::Dev => "dev",
            Self::Client => "client",
        }
    }
}

/// The current value of a setting.
struct SettingRow<'a> {
    section: &'static str,
    setting: &'a CliSetting,
    said: SettingValue,
}

impl<'a> SettingRow<'a> {
    fn new(
        section: &SettingsSection,
        setting: &'a CliSetting,
        layers: &SettingsLayers,
    ) -> Result<Self, CliError> {
        let said = match section.name {
            CLIENT => run_source::client_setting(layers, &setting.name)?,
            name => layers.value_of(name, &setting.name),
        };
        let default =
            || SettingValue { values: setting.default.clone(), origin: SettingOrigin::Default };
        Ok(Self { section: section.name, setting, said: said.unwrap_or_else(default) })
    }

    fn values(&self) -> Vec<String> {
        self.said.values.iter().map(|value| redacted(&self.setting.name, value)).collect()
    }

    fn json(&self) -> Value {
        let values = self.values();
        let value = match self.setting.takes {
            ConfigValueKind::Switch => json!(values.first().is_some_and(|value| value == "true")),
            ConfigValueKind::One => json!(values.first()),
            ConfigValueKind::Many => json!(values),
        };
        let (from, place) = match &self.said.origin {
            SettingOrigin::Variable(name) => ("variable", Some(name.clone())),
            SettingOrigin::Saved => ("context", None),
            whence @ SettingOrigin::File { .. } => ("file", Some(whence.to_string())),
            SettingOrigin::Default => ("default", None),
        };
        json!({
            "section": self.section, "setting": self.setting.name, "value": value,
            "from": from, "place": place, "variable": self.setting.variable,
        })
    }
}

fn table(rows: &[SettingRow<'_>]) -> TextTable {
    let head =
        [("setting", ColumnAlign::Left), ("value", ColumnAlign::Left), ("from", ColumnAlign::Left)];
    let mut table = TextTable::new(head);
    for row in rows {
        let value = match (row.setting.takes, &*row.values()) {
            (ConfigValueKind::Switch, []) => "false".to_owned(),
            (_, []) => "-".to_owned(),
            (_, values) => values.join(", "),
        };
        let name = format!("{}.{}", row.section, row.setting.name);
        table.row([name, value, row.said.origin.to_string()]);
    }
    table
}
