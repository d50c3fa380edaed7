//! Commands of a step.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use windlass_worker::executors::{CommandOutput, GuardedCommand, StepCall};

use super::error::{Error, Result};

/// A command that a step runs, made by [`Context::command`](super::Context::command).
///
/// It gets the environment of the worker, the variables of the step's options, and the variables that every step has. It
/// runs in the root of the pipeline, its standard input is empty, and it is asked to end together with its step.
///
/// ```no_run
/// # async fn build(ctx: &windlass::Context) -> windlass::Result<()> {
/// ctx.command("cargo").args(["build", "--release"]).run().await?;
/// let version = ctx.command("git").args(["describe", "--tags"]).text().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a command does nothing unless it is run"]
pub struct Command {
    command: GuardedCommand,
}

impl Command {
    pub(super) fn new(call: &Arc<StepCall>, program: OsString) -> Self {
        Self { command: GuardedCommand::new(call, program) }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<A: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = A>) -> Self {
        arguments.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Sets the working directory, relative to the root of the pipeline.
    pub fn dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.command.dir(folder.as_ref().to_owned());
        self
    }

    /// Runs the command. A failure is an error.
    pub async fn run(self) -> Result<()> {
        self.ended(false).await.map(drop)
    }

    /// Runs the command and returns its output, including standard error, without the line break at the end. A failure is an
    /// error, and so is output of more than 16 MiB: let the command write to a file instead.
    pub async fn text(self) -> Result<String> {
        let name = self.command.name();
        let captured = self.ended(true).await?;
        if captured.left_out > 0 {
            let printed = captured.output.len() as u64 + captured.left_out;
            return Err(Error::msg(format!(
                "`{name}` printed {printed} bytes, too many for a text: have it write to a file"
            )));
        }
        let text = String::from_utf8_lossy(&captured.output);
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    /// Runs the command and returns its exit code and output, whether it failed or not.
    pub async fn output(self) -> Result<CommandOutput> {
        let name = self.command.name();
        let ran = self.command.run(true).await;
        ran.map_err(|error| Error::from(error).context(format!("`{name}` could not be run")))
    }

    async fn ended(self, keeps: bool) -> Result<CommandOutput> {
        let name = self.command.name();
        let ran = self.command.run(keeps).await;
        let ran =
            ran.map_err(|error| Error::from(error).context(format!("`{name}` could not be run")))?;
        match ran.code {
            0 => Ok(ran),
            code => Err(Error::msg(format!("`{name}` ended with exit code {code}"))),
        }
    }
}
