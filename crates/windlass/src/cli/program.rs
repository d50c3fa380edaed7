//! The program as a value: what somebody's own binary is made of.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::compiled::Compiled;
use super::{dispatch, help, output};
use crate::link::post::{Links, MailError, Mailboxes, Site};
use crate::sdk::Pipeline;

/// The command line of windlass, with what a program adds to it.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     windlass::Cli::new().main()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Cli {
    links: Links,
    compiled: Compiled,
}

impl Cli {
    /// The one that `windlass` itself is.
    pub fn new() -> Self {
        Self { links: Links::built_in(), compiled: Compiled::default() }
    }

    /// Adds a link, for addresses that begin with `SCHEME:`. `opens` only looks at the address: the place is reached when
    /// it is used. docs/links.md is the guide.
    #[must_use]
    pub fn link(
        self,
        scheme: &str,
        opens: impl Fn(&Site) -> Result<Arc<dyn Mailboxes>, MailError> + Send + Sync + 'static,
    ) -> Self {
        Self { links: self.links.with(scheme, opens), ..self }
    }

    /// Adds the steps of a pipeline in Rust, which is meant where a command is given no file. docs/rust.md is the guide.
    #[must_use]
    pub fn pipeline(self, pipeline: &Pipeline) -> Self {
        let compiled = Compiled {
            callees: pipeline.callees(),
            catalogue: pipeline.catalogue(),
            pipeline: Some(pipeline.source()),
        };
        Self { compiled, ..self }
    }

    /// Answers the arguments of this process. It has to come first in `main`, before a thread is started: the process may
    /// have been started to be the guard of a worker, and is nothing else then.
    pub fn main(self) -> ExitCode {
        crate::worker::guard::main_if_asked_with(&self.links);
        let program = std::env::args_os().next().map(PathBuf::from);
        if let Some(name) = program.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str) {
            output::go_by(name, help::commands());
        }
        dispatch::run_with(std::env::args_os().skip(1), self.links, self.compiled)
    }
}

impl Default for Cli {
    fn default() -> Self {
        Self::new()
    }
}
