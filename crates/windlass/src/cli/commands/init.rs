//! `windlass init`

use std::fs::File;
use std::io::{ErrorKind, Write as _};

use super::build_tools::kits;
use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::cli::project::FILE;

/// Create a windlass.yml that fits this folder
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Detects Cargo, npm, Go, Python and Make, also combined. Does not overwrite an existing file.

Example:
  windlass init && windlass validate")]
pub(crate) struct InitArgs {
    /// Replace an existing windlass.yml
    #[arg(long)]
    force: bool,
}

const HEADER: &str = "\
# A pipeline: steps run in parallel unless `needs` orders them.
# `windlass plan` shows the order, `windlass graph` draws it.
";
const HELLO: &str = "\
steps:
  hello:
    run: echo hello from windlass

  # A step waits for the steps in its `needs`.
  world:
    needs: hello
    run: echo and good-bye
";

/// Inspects the folder and writes the file.
pub(crate) fn run(args: &InitArgs, context: &CommandContext) -> Result<u8, CliError> {
    let kits = kits(&context.folder);
    let several = kits.len() > 1;
    let steps: Vec<String> = kits.iter().map(|kit| kit.steps(several)).collect();
    let body =
        if kits.is_empty() { HELLO.to_owned() } else { format!("steps:\n{}", steps.join("\n")) };
    write(args, context, &format!("{HEADER}\n{body}"))?;
    let found: Vec<&str> = kits.iter().map(|kit| kit.name).collect();
    let found = if found.is_empty() { "no known build tool".to_owned() } else { found.join(", ") };
    Ok(output::print_data(&format!("{FILE} written (found: {found})\nTry `windlass plan`.")))
}

fn write(args: &InitArgs, context: &CommandContext, text: &str) -> Result<(), CliError> {
    let path = context.folder.join(FILE);
    let file = if args.force { File::create(&path) } else { File::create_new(&path) };
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CliError::usage(format!("{FILE} already exists"))
            .hint("to replace it, run `windlass init --force`"),
        _ => CliError::usage(format!("{FILE} cannot be written: {error}")),
    })
}
