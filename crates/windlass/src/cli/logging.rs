//! The log level and format of long-running processes.

use super::output::{LogFormat, LogLevel, Logger};
use crate::embedded::system_now;

/// The options of every long-running command.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LoggingArgs {
    /// Write log lines in this format: `text`, or `json` with one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Log messages of this level and above: `error`, `warn`, `info` or `debug`
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,
    /// Log every dispatch and outcome, like `--log-level debug`
    #[arg(short, long)]
    verbose: bool,
}

impl LoggingArgs {
    /// The logger with these options.
    pub(crate) fn logger(self) -> Logger {
        let level = if self.verbose { LogLevel::Debug } else { self.log_level };
        Logger { format: self.log_format, level, clock: system_now }
    }
}
