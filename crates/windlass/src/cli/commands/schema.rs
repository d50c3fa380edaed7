//! `windlass schema`

use windlass_core::spec::schema;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::output;

/// Print the JSON Schema of pipeline files, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "\
It is made from the tables that the parser uses.

Example:
  windlass schema > windlass.schema.json

and as the first line of windlass.yml, for editors with the YAML language server:
  # yaml-language-server: $schema=./windlass.schema.json")]
pub(crate) struct Args {}

/// Prints the schema.
#[expect(clippy::unnecessary_wraps, reason = "every command has this form")]
pub(crate) fn run(_: &Args, _: &Context) -> Result<u8, CliError> {
    Ok(output::data(&format!("{:#}", schema())))
}
