//! The log level and format of long-running processes, and the subscriber that writes their log.

use tracing::dispatcher::set_global_default;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt as _;

use super::output::{LogFormat, LogLevel, ProcessLogLayer};
use crate::embedded::system_now;
use crate::sdk::StepLogLayer;

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
    /// Installs the subscriber of this process with these options.
    pub(crate) fn install(self) {
        let level = if self.verbose { LogLevel::Debug } else { self.log_level };
        install(level, self.log_format);
    }
}

/// Installs the subscriber of a command without these options, which logs at the default level as text.
pub(crate) fn install_default() {
    install(LogLevel::Info, LogFormat::Text);
}

/// A program that has installed a subscriber of its own keeps it: events of windlass go there.
fn install(level: LogLevel, format: LogFormat) {
    let steps = StepLogLayer::of_environment();
    let layer = ProcessLogLayer { level, format, clock: system_now, steps };
    drop(set_global_default(Registry::default().with(layer).into()));
}
