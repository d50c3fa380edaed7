//! `windlass explain`

use windlass_core::problem::ProblemCode;
use windlass_core::spec::nearest_name;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::output::ColorRole;

/// Explain an error code, or list all codes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass explain E029
  windlass explain")]
pub(crate) struct ExplainArgs {
    /// Explain this code of an error message, such as E029 (default: list all codes)
    code: Option<String>,
}

/// Prints the page of a code, or the titles of all pages.
pub(crate) fn run(args: &ExplainArgs, context: &CommandContext) -> Result<u8, CliError> {
    let Some(written) = &args.code else { return Ok(output::print_data(&titles(context))) };
    match ProblemCode::parse(written) {
        Some(code) => Ok(output::print_data(code.page().trim_end())),
        None => Err(unknown(written)),
    }
}

fn titles(context: &CommandContext) -> String {
    let line = |code: &ProblemCode| {
        format!("{}  {}", context.out.paint(ColorRole::Strong, code.as_str()), title(*code))
    };
    ProblemCode::ALL.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The part of a page's first line after the code.
fn title(code: ProblemCode) -> &'static str {
    let line = code.page().lines().next().unwrap_or_default();
    line.split_once(": ").map_or("", |(_, title)| title)
}

fn unknown(written: &str) -> CliError {
    let error = CliError::usage(format!("there is no code `{written}`"));
    let number: String = written.chars().filter(char::is_ascii_digit).collect();
    let padded = format!("E{number:0>3}");
    let near = ProblemCode::parse(&padded)
        .map(ProblemCode::as_str)
        .or_else(|| nearest_name(written, ProblemCode::ALL.iter().map(|code| code.as_str())));
    error.hint(match near {
        Some(near) => format!("did you mean `{near}`? `windlass explain` lists them all"),
        None => "`windlass explain` lists them all".to_owned(),
    })
}
