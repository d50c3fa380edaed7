//! `windlass plan`

use windlass_core::expand::StepSelection;
use windlass_core::problem::ProblemSeverity;

use crate::cli::args::ParamArg;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::output::{self, ColorRole};
use crate::cli::project::PipelineTarget;
use crate::cli::render::{PlanOutlook, plan_json, plan_text};
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
pub(crate) struct PlanArgs {
    /// The pipeline file, if it ends in .yml or .yaml or contains `/`; then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Give a param a value
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<ParamArg>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Makes the plan and shows it for this machine.
pub(crate) fn run(args: &PlanArgs, context: &CommandContext) -> Result<u8, CliError> {
    let target = PipelineTarget::read(&args.target);
    let selection = StepSelection { steps: target.steps, ..StepSelection::default() };
    let loaded = LoadedPipeline::read(context, target.file.as_deref(), ProblemSeverity::Note)?;
    show(&loaded.select(&selection)?, &args.param, context, args.json)
}

/// Shows what a run of the file would do.
pub(crate) fn show(
    loaded: &LoadedPipeline,
    params: &[ParamArg],
    context: &CommandContext,
    json: bool,
) -> Result<u8, CliError> {
    let expanded = loaded.plan(params)?;
    let outlook = PlanOutlook::new(&expanded, &context.compiled.labels(&labels::detect()));
    tell_unavailable(loaded, context);
    let text =
        if json { plan_json(&outlook).to_string() } else { plan_text(&outlook, &context.out) };
    Ok(output::print_data(&text))
}

/// Keys that keep the pipeline from being run by this version.
fn tell_unavailable(loaded: &LoadedPipeline, context: &CommandContext) {
    let mut titles: Vec<&str> = loaded.notes.iter().map(|note| &*note.title).collect();
    titles.sort_unstable();
    titles.dedup();
    for title in titles {
        output::print_message(&format!("{} {title}", context.err.paint(ColorRole::Quiet, "note:")));
    }
}
