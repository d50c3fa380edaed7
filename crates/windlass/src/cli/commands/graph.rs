//! `windlass graph`

use std::path::PathBuf;

use windlass_core::problem::Severity;

use crate::cli::args::GivenParam;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::load::Loaded;
use crate::cli::output;
use crate::cli::render::{Format, Graph};

/// Draw the pipeline: text, dot, mermaid or svg
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass graph
  windlass graph --format svg > docs/pipeline.svg
  windlass graph --format dot | dot -Tpng > pipeline.png")]
pub(crate) struct Args {
    /// The pipeline file; the nearest windlass.yml upwards if left out
    file: Option<PathBuf>,
    /// What to draw it as
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Give a param a value
    #[arg(short, long = "param", value_name = "NAME=VALUE")]
    param: Vec<GivenParam>,
}

/// Draws the steps of the file and their needs; a matrix is one node.
pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CliError> {
    let loaded = Loaded::read(context, args.file.as_deref(), Severity::Note)?;
    let expanded = loaded.plan(&args.param)?;
    let graph = Graph::new(&loaded.pipeline, &expanded);
    Ok(output::data(graph.draw(args.format, &context.out).trim_end()))
}
