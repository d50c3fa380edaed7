//! What a command knows of its surroundings.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use super::compiled::Compiled;
use super::environment;
use super::error::CliError;
use super::output::{Look, Terminal};
use crate::link::post::Links;

/// Narrower than this, nothing could be laid out at all.
const COLUMNS_MIN: usize = 40;

/// Where the command was given, and how what it says looks.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// The current directory.
    pub(crate) folder: PathBuf,
    /// Of standard output.
    pub(crate) out: Look,
    /// Of standard error.
    pub(crate) err: Look,
    /// The links through mailboxes that this program knows.
    pub(crate) links: Links,
    /// What this program has beside windlass itself.
    pub(crate) compiled: Compiled,
}

impl Context {
    /// The surroundings of this process.
    pub(crate) fn of_process() -> Result<Self, CliError> {
        let folder = std::env::current_dir().map_err(|error| {
            let what = format!("the current directory cannot be read: {error}");
            CliError::usage(what).hint("it may have been removed: `cd` somewhere else")
        })?;
        let terminal = || io::stderr().is_terminal().then(|| Terminal::size().columns);
        let width = environment::columns().or_else(terminal).map(|width| width.max(COLUMNS_MIN));
        let look = |terminal| Look::detect(&environment::variable, terminal, width);
        Ok(Self {
            folder,
            out: look(io::stdout().is_terminal()),
            err: look(io::stderr().is_terminal()),
            links: Links::built_in(),
            compiled: Compiled::default(),
        })
    }
}
