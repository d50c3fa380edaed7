//! The program as a value, on which other binaries are built.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use windlass_link::mailbox::{MailboxAddress, MailboxError, MailboxRegistry, Mailboxes};

use super::extensions::ProgramExtensions;
use super::{dispatch, help, output};
use crate::sdk::{ExecutorCallee, Pipeline, ScriptExecutor, TracedCallee};

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
    links: MailboxRegistry,
    compiled: ProgramExtensions,
}

impl Cli {
    /// The command line of `windlass` itself.
    pub fn new() -> Self {
        Self { links: MailboxRegistry::built_in(), compiled: ProgramExtensions::default() }
    }

    /// Adds a link for addresses that begin with `SCHEME:`. `opens` only parses the address: the connection is opened
    /// on first use. docs/guides/links.md is the guide.
    #[must_use]
    pub fn link(
        self,
        scheme: &str,
        opens: impl Fn(&MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { links: self.links.with(scheme, opens), ..self }
    }

    /// Adds the steps of a pipeline in Rust, the default of a command without a file. docs/guides/rust.md is the
    /// guide.
    #[must_use]
    pub fn pipeline(self, pipeline: &Pipeline) -> Self {
        let mut compiled = self.compiled;
        compiled.callees.extend(pipeline.callees());
        compiled.catalogue.0.extend(pipeline.catalogue().0);
        compiled.hooks = pipeline.hooks.clone();
        compiled.pipeline = Some(pipeline.source());
        Self { compiled, ..self }
    }

    /// Adds an executor: it runs the scripts of steps whose `shell:` has this name.
    #[must_use]
    pub fn executor(mut self, name: &str, executor: impl ScriptExecutor) -> Self {
        let callee = TracedCallee::around(Arc::new(ExecutorCallee(Arc::new(executor))));
        self.compiled.callees.add_shell(name, callee);
        self
    }

    /// Adds a probe for labels: every worker of this program gets the returned labels in addition to the detected ones.
    /// The probe runs when a worker starts.
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    ///
    /// fn licences() -> Vec<String> {
    ///     let count = std::fs::read_to_string("/etc/licences").map_or(0, |text| text.lines().count());
    ///     vec![format!("licences={count}")]
    /// }
    ///
    /// fn main() -> ExitCode {
    ///     windlass::Cli::new().probe(licences).main()
    /// }
    /// ```
    #[must_use]
    pub fn probe(mut self, probe: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        self.compiled.probes.add(probe);
        self
    }

    /// Runs the arguments of this process. Call it first in `main`, before any thread starts: the process may have
    /// been started as the guard of a worker, and then does nothing else.
    pub fn main(self) -> ExitCode {
        windlass_worker::guard::main_if_asked_with(&self.links);
        let program = std::env::args_os().next().map(PathBuf::from);
        if let Some(name) = program.as_deref().and_then(Path::file_stem).and_then(OsStr::to_str) {
            output::set_program_name(name, help::commands());
        }
        dispatch::run(std::env::args_os().skip(1), self.links, self.compiled)
    }
}

impl Default for Cli {
    fn default() -> Self {
        Self::new()
    }
}
