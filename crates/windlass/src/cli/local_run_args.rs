//! Options for running steps here and showing them, shared by `run` and `rerun`.

use std::path::PathBuf;

use windlass_controller::traces::TraceCollector;
use windlass_core::display_text::{NAME_MAX, is_label};
use windlass_core::requirement::Labels;
use windlass_core::spec::parse_positive_duration;
use windlass_core::time::Span;
use windlass_worker::labels;

use super::bounded_number::number;
use super::otlp;
use super::output::OutputMode;

/// The options of every command that runs steps.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LocalRunArgs {
    /// Run at most this many steps at a time (default: the number of cores)
    #[arg(short, long, value_name = "N", value_parser = number(1..=10_000))]
    jobs: Option<u32>,
    /// Advertise an additional label of this machine; can be repeated
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub(crate) label: Vec<String>,
    /// Show the output of steps in this mode (default: stream for one step at a time, else failures on a terminal and group
    /// elsewhere)
    #[arg(long, value_name = "MODE", value_enum)]
    output: Option<OutputModeArg>,
    /// Print events as JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// The file of the `JUnit` report.
    #[arg(long, value_name = "FILE", help = "Write a JUnit report to this file")]
    pub(crate) junit: Option<PathBuf>,
    /// Send spans of the run to this OpenTelemetry collector (OTLP over HTTP)
    #[arg(long, value_name = "URL", value_parser = otlp::named)]
    otlp: Option<TraceCollector>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OutputModeArg {
    /// Show each line at once, after the name of its step
    Stream,
    /// Show the output of a step when it has ended
    Group,
    /// Show only the output of failed steps
    Failures,
    /// Show no output
    None,
}

impl LocalRunArgs {
    /// The number of concurrent steps.
    pub(crate) fn slots(&self) -> u32 {
        self.jobs.unwrap_or_else(cores)
    }

    /// A given flag that applies only to steps that run here.
    pub(crate) fn local_only_flag(&self) -> Option<&'static str> {
        let given = [
            ("--jobs", self.jobs.is_some()),
            ("--label", !self.label.is_empty()),
            ("--output", self.output.is_some()),
            ("--junit", self.junit.is_some()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// The labels of this machine.
    pub(crate) fn labels(&self) -> Labels {
        with_labels(&self.label)
    }

    /// The collector of spans.
    pub(crate) fn collector(&self) -> Option<TraceCollector> {
        otlp::collector(self.otlp.as_ref())
    }

    /// The output mode, if it was set.
    pub(crate) fn mode(&self) -> Option<OutputMode> {
        self.output.map(|mode| match mode {
            OutputModeArg::Stream => OutputMode::Stream,
            OutputModeArg::Group => OutputMode::Group,
            OutputModeArg::Failures => OutputMode::Failures,
            OutputModeArg::None => OutputMode::None,
        })
    }
}

/// The number of cores of this machine.
pub(crate) fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(1)
}

/// Parses a positive duration.
pub(crate) fn read_duration(text: &str) -> Result<Span, String> {
    parse_positive_duration(text)
        .map_err(|_| "write it like 250ms, 90s, 15m or 2h, not zero".to_owned())
}

/// Parses a label.
pub(crate) fn label(text: &str) -> Result<String, String> {
    if is_label(text) {
        return Ok(text.to_owned());
    }
    Err(format!("a label is one word of 1 to {NAME_MAX} bytes"))
}

/// The detected labels of this machine, and these.
pub(crate) fn with_labels(more: &[String]) -> Labels {
    let detected = labels::detect();
    Labels::new(detected.iter().chain(more.iter().map(String::as_str)))
}
