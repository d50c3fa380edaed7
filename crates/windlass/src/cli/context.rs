//! The environment of a command.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use windlass_link::mailbox::MailboxRegistry;

use super::environment;
use super::error::CliError;
use super::extensions::ProgramExtensions;
use super::output::{Terminal, TerminalCaps};

/// Below this width no layout is readable.
const COLUMNS_MIN: usize = 40;

/// The working directory of the command, and the capabilities of its terminal.
#[derive(Clone, Debug)]
pub(crate) struct CommandContext {
    /// The current directory.
    pub(crate) folder: PathBuf,
    /// The capabilities of stdout.
    pub(crate) out: TerminalCaps,
    /// The capabilities of stderr.
    pub(crate) err: TerminalCaps,
    /// The mailbox links of this program.
    pub(crate) links: MailboxRegistry,
    /// The functions, hooks and probes compiled into this program.
    pub(crate) compiled: ProgramExtensions,
}

impl CommandContext {
    /// The context of this process.
    pub(crate) fn of_process() -> Result<Self, CliError> {
        let folder = std::env::current_dir().map_err(|error| {
            let what = format!("the current directory cannot be read: {error}");
            CliError::usage(what)
                .hint("it may have been removed: change to another directory with `cd`")
        })?;
        let terminal = || io::stderr().is_terminal().then(|| Terminal::size().columns);
        let width = environment::columns().or_else(terminal).map(|width| width.max(COLUMNS_MIN));
        let detect = |terminal| TerminalCaps::detect(&environment::variable, terminal, width);
        Ok(Self {
            folder,
            out: detect(io::stdout().is_terminal()),
            err: detect(io::stderr().is_terminal()),
            links: MailboxRegistry::built_in(),
            compiled: ProgramExtensions::default(),
        })
    }
}
