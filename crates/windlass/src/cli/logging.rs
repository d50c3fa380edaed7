//! How much a process that stays says, and in which form.

use super::output::{LogFormat, LogLevel, Logger};
use crate::embedded::system_now;

/// What every command that stays takes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LoggingArgs {
    /// What lines look like: `text`, or `json` with an object a line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// How much is told: `error`, `warn`, `info` or `debug`
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,
    /// Tell of every hand-out and outcome, like `--log-level debug`
    #[arg(short, long)]
    verbose: bool,
}

impl LoggingArgs {
    /// What says it.
    pub(crate) fn logger(self) -> Logger {
        let level = if self.verbose { LogLevel::Debug } else { self.log_level };
        Logger { format: self.log_format, level, clock: system_now }
    }
}
