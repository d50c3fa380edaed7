//! `windlass expand`

use std::path::PathBuf;

use windlass_core::problem::ProblemSeverity;

use crate::cli::args::ParamArg;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::output;
use crate::cli::render::definition;

/// Print the pipeline with params and defaults filled in
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The output is a pipeline file that results in the same plan.

Examples:
  windlass expand
  windlass expand ship.yml -p channel=stable
  windlass expand --json | jq .steps.test")]
pub(crate) struct ExpandArgs {
    /// Expand this pipeline file (default: windlass.yml here or in the nearest parent folder)
    file: Option<PathBuf>,
    /// Set a param of the pipeline; can be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<ParamArg>,
    /// Print JSON instead of YAML
    #[arg(long)]
    json: bool,
}

/// Prints the pipeline after expansion.
pub(crate) fn run(args: &ExpandArgs, context: &CommandContext) -> Result<u8, CliError> {
    // A key that this version cannot execute has no expanded form.
    let loaded = LoadedPipeline::read(context, args.file.as_deref(), ProblemSeverity::Error)?;
    let expanded = loaded.plan(&args.param)?;
    let tree = definition(&loaded.valid.pipeline, &expanded);
    let text = if args.json { tree.json() } else { tree.yaml() };
    Ok(output::print_data(text.trim_end()))
}
