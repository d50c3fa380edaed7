//! What a command knows of its surroundings.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use super::environment;
use super::error::CliError;
use super::extensions::ProgramExtensions;
use super::output::{Terminal, TerminalCaps};
use crate::link::mailbox::MailboxRegistry;

/// Narrower than this, nothing could be laid out at all.
const COLUMNS_MIN: usize = 40;

/// Where the command was given, and how what it says looks.
#[derive(Clone, Debug)]
pub(crate) struct CommandContext {
    /// The current directory.
    pub(crate) folder: PathBuf,
    /// Of standard output.
    pub(crate) out: TerminalCaps,
    /// Of standard error.
    pub(crate) err: TerminalCaps,
    /// The links through mailboxes that this program knows.
    pub(crate) links: MailboxRegistry,
    /// What this program has beside windlass itself.
    pub(crate) compiled: ProgramExtensions,
}

impl CommandContext {
    /// The surroundings of this process.
    pub(crate) fn of_process() -> Result<Self, CliError> {
        let folder = std::env::current_dir().map_err(|error| {
            let what = format!("the current directory cannot be read: {error}");
            CliError::usage(what).hint("it may have been removed: `cd` somewhere else")
        })?;
        let terminal = || io::stderr().is_terminal().then(|| Terminal::size().columns);
        let width = environment::columns().or_else(terminal).map(|width| width.max(COLUMNS_MIN));
        let look = |terminal| TerminalCaps::detect(&environment::variable, terminal, width);
        Ok(Self {
            folder,
            out: look(io::stdout().is_terminal()),
            err: look(io::stderr().is_terminal()),
            links: MailboxRegistry::built_in(),
            compiled: ProgramExtensions::default(),
        })
    }
}
