//! How a run is done here and shown, whether it is a new one or an earlier one again.

use std::path::PathBuf;

use windlass_core::display_text::{NAME_MAX, is_label};
use windlass_core::requirement::Labels;
use windlass_core::spec::parse_positive_duration;
use windlass_core::time::Span;

use super::bounded_number::number;
use super::otlp;
use super::output::OutputMode;
use crate::controller::traces::TraceCollector;
use crate::worker::labels;

/// What every command that runs steps takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LocalRunArgs {
    /// Steps at a time; as many as there are cores if not said
    #[arg(short, long, value_name = "N", value_parser = number(1..=10_000))]
    jobs: Option<u32>,
    /// Advertise one more label
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub(crate) label: Vec<String>,
    /// What to show of what steps print; if not said everything, and on a terminal, where several run at a time, that of steps
    /// that fail
    #[arg(long, value_name = "MODE", value_enum)]
    output: Option<OutputModeArg>,
    /// Print events as JSON, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a report in the format of `JUnit`
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Send spans of the run to a collector of OpenTelemetry, at its address for OTLP over HTTP
    #[arg(long, value_name = "URL", value_parser = otlp::named)]
    otlp: Option<TraceCollector>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OutputModeArg {
    /// Each line as it comes, behind the name of its step
    Stream,
    /// All of a step when it has ended
    Group,
    /// That of steps that failed
    Failures,
    /// Nothing
    None,
}

impl LocalRunArgs {
    /// Steps at a time.
    pub(crate) fn slots(&self) -> u32 {
        self.jobs.unwrap_or_else(cores)
    }

    /// A flag that was given and is only about steps that run here.
    pub(crate) fn local_only_flag(&self) -> Option<&'static str> {
        let given = [
            ("--jobs", self.jobs.is_some()),
            ("--label", !self.label.is_empty()),
            ("--output", self.output.is_some()),
            ("--junit", self.junit.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// What this machine advertises.
    pub(crate) fn labels(&self) -> Labels {
        with_labels(&self.label)
    }

    /// Where spans go, if they do.
    pub(crate) fn collector(&self) -> Option<TraceCollector> {
        otlp::collector(self.otlp.as_ref())
    }

    /// What is shown of what steps print, if that was said.
    pub(crate) fn mode(&self) -> Option<OutputMode> {
        self.output.map(|mode| match mode {
            OutputModeArg::Stream => OutputMode::Stream,
            OutputModeArg::Group => OutputMode::Group,
            OutputModeArg::Failures => OutputMode::Failures,
            OutputModeArg::None => OutputMode::None,
        })
    }
}

/// As many steps at a time as this machine has cores.
pub(crate) fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(1)
}

/// A span of time, as it is given.
pub(crate) fn read_duration(text: &str) -> Result<Span, String> {
    parse_positive_duration(text)
        .map_err(|_| "write it like 250ms, 90s, 15m or 2h, not zero".to_owned())
}

/// One label, as it is given.
pub(crate) fn label(text: &str) -> Result<String, String> {
    if is_label(text) {
        return Ok(text.to_owned());
    }
    Err(format!("a label is one word of 1 to {NAME_MAX} bytes"))
}

/// What this machine advertises, and these.
pub(crate) fn with_labels(more: &[String]) -> Labels {
    let detected = labels::detect();
    Labels::new(detected.iter().chain(more.iter().map(String::as_str)))
}
