//! `windlass schema`

use windlass_core::spec::pipeline_json_schema;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;

/// Print the JSON Schema of pipeline files, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The schema is generated from the tables of the parser.

Example:
  windlass schema > windlass.schema.json

and as the first line of windlass.yml, for editors with the YAML language server:
  # yaml-language-server: $schema=./windlass.schema.json")]
pub(crate) struct SchemaArgs {}

/// Prints the schema.
#[expect(clippy::unnecessary_wraps, reason = "every command has this signature")]
pub(crate) fn run(_: &SchemaArgs, _: &CommandContext) -> Result<u8, CliError> {
    Ok(output::print_data(&format!("{:#}", pipeline_json_schema())))
}
