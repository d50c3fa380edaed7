//! `windlass plan`

use windlass_core::expand::StepSelection;
use windlass_core::problem::ProblemSeverity;
use windlass_worker::labels;

use crate::cli::args::ParamArg;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::output;
use crate::cli::output::ColorRole;
use crate::cli::project::PipelineTarget;
use crate::cli::render::{PlanOutlook, plan_json, plan_text};

/// Show the steps that a run would execute or skip on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Steps of one wave do not depend on each other. Nothing is run.

Examples:
  windlass plan
  windlass plan test                 `test` and its needs
  windlass plan ship.yml deploy -p channel=stable
  windlass plan --json | jq '.steps[] | select(.groups[].skipped)'")]
pub(crate) struct PlanArgs {
    /// Name the pipeline file (ending in .yml or .yaml, or containing `/`), then steps
    #[arg(value_name = "FILE | STEP")]
    target: Vec<String>,
    /// Set a param of the pipeline; can be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<ParamArg>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Plans the pipeline and shows the plan for this machine.
pub(crate) fn run(args: &PlanArgs, context: &CommandContext) -> Result<u8, CliError> {
    let target = PipelineTarget::read(&args.target);
    let selection = StepSelection { steps: target.steps, ..StepSelection::default() };
    let loaded = LoadedPipeline::read(context, target.file.as_deref(), ProblemSeverity::Note)?;
    show(&loaded.select(&selection)?, &args.param, context, args.json)
}

/// Shows the steps that a run of the file would execute.
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

/// Reports keys that this version cannot run.
fn tell_unavailable(loaded: &LoadedPipeline, context: &CommandContext) {
    let mut titles: Vec<&str> = loaded.valid.notes.iter().map(|note| &*note.title).collect();
    titles.sort_unstable();
    titles.dedup();
    for title in titles {
        output::print_message(&format!("{} {title}", context.err.paint(ColorRole::Quiet, "note:")));
    }
}
