//! `windlass plan`

use windlass_core::expand::Selection;
use windlass_core::problem::Severity;

use crate::cli::args::GivenParam;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::load::Loaded;
use crate::cli::output::{self, Ink};
use crate::cli::project::Target;
use crate::cli::render::{Outlook, plan_json, plan_text};
use crate::worker::labels;

/// Show what a run would do, and what would be skipped here
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Steps of one wave need nothing of each other. Nothing is run.

Examples:
  windlass plan
  windlass plan test                 what `test` needs, and itself
  windlass plan ship.yml deploy -p channel=stable
  windlass plan --json | jq '.steps[] | select(.groups[].skipped)'")]
pub(crate) struct Args {
    /// The pipeline file, if it ends in .yml or .yaml or contains `/`; then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Give a param a value
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<GivenParam>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes the plan and shows it for this machine.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let target = Target::read(&args.target);
    let selection = Selection { steps: target.steps, ..Selection::default() };
    let loaded = Loaded::read(context, target.file.as_deref(), Severity::Note)?;
    show(&loaded.select(&selection)?, &args.param, context, args.json)
}

/// Shows what a run of the file would do.
pub(crate) fn show(
    loaded: &Loaded,
    params: &[GivenParam],
    context: &Context,
    json: bool,
) -> Result<u8, CliError> {
    let expanded = loaded.plan(params)?;
    let outlook = Outlook::new(&expanded, &context.compiled.labels(&labels::detect()));
    tell_unavailable(loaded, context);
    let text =
        if json { plan_json(&outlook).to_string() } else { plan_text(&outlook, &context.out) };
    Ok(output::data(&text))
}

/// Keys that keep the pipeline from being run by this version.
fn tell_unavailable(loaded: &Loaded, context: &Context) {
    let mut titles: Vec<&str> = loaded.notes.iter().map(|note| &*note.title).collect();
    titles.sort_unstable();
    titles.dedup();
    for title in titles {
        output::talk(&format!("{} {title}", context.err.paint(Ink::Quiet, "note:")));
    }
}
