//! `windlass completions`

use clap_complete::Shell;

use crate::cli::context::CommandContext;
use crate::cli::error::CliError;
use crate::cli::{help, output};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass")]
pub(crate) struct CompletionsArgs {
    /// Print completions for this shell
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

/// Prints the completions.
#[expect(clippy::unnecessary_wraps, reason = "every command has this signature")]
pub(crate) fn run(args: &CompletionsArgs, _context: &CommandContext) -> Result<u8, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "windlass", &mut script);
    Ok(output::print_data(String::from_utf8_lossy(&script).trim_end()))
}
