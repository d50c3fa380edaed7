//! `windlass graph`

use std::path::PathBuf;

use windlass_core::problem::ProblemSeverity;

use crate::cli::args::ParamArg;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::load_pipeline::LoadedPipeline;
use crate::cli::output;
use crate::cli::render::{GraphFormat, PipelineGraph};

/// Draw the pipeline as text, dot, mermaid or svg
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass graph
  windlass graph --format svg > docs/pipeline.svg
  windlass graph --format dot | dot -Tpng > pipeline.png")]
pub(crate) struct GraphArgs {
    /// Draw this pipeline file (default: windlass.yml here or in the nearest parent folder)
    file: Option<PathBuf>,
    /// Draw in this format
    #[arg(short, long, value_enum, default_value_t = GraphFormat::Text)]
    format: GraphFormat,
    /// Set a param of the pipeline; can be repeated
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<ParamArg>,
}

/// Draws the steps of the file and their needs; a matrix is one node.
pub(crate) fn run(args: &GraphArgs, context: &CommandContext) -> Result<u8, CliError> {
    let loaded = LoadedPipeline::read(context, args.file.as_deref(), ProblemSeverity::Note)?;
    let expanded = loaded.plan(&args.param)?;
    let graph = PipelineGraph::new(&loaded.valid.pipeline, &expanded);
    Ok(output::print_data(graph.draw(args.format, &context.out).trim_end()))
}
