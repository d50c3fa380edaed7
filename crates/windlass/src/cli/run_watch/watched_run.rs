//! The interface between the watch loop and a run: what the loop waits for, and what it asks for.

use std::future::Future;

use windlass_core::engine::StepFollowUp;
use windlass_core::id::StepIx;
use windlass_core::report::WhyReport;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_store::logs::LogId;

use crate::cli::error::CliError;
use crate::cli::output::CommandHints;
use crate::cli::run_source::RunEventsPage;
use crate::cli::step_tests::StepTestReports;

/// News about a watched run.
#[derive(Debug)]
pub(crate) enum RunUpdate {
    /// The next events.
    Events(RunEventsPage),
    /// Output of a step.
    Output(LogId, Vec<u8>),
    /// A message for the user.
    Message(String),
    /// The past durations of the steps.
    PastDurations(StepDurations),
    /// Nothing to show.
    Nothing,
}

/// An attempt whose end is about to be shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedAttempt {
    /// The log of the attempt.
    pub(crate) log: LogId,
    /// Whether its output is shown.
    pub(crate) is_shown: bool,
    /// What follows for the step.
    pub(crate) next: StepFollowUp,
}

/// How a run reacts when the user asks for its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndRequestReaction {
    /// The run ends soon.
    Ends,
    /// The user leaves, and the run is not watched any longer.
    Leaves,
}

/// Receives output of steps and shows it.
pub(crate) type OutputSink<'a> = dyn FnMut(LogId, &[u8]) + Send + 'a;

/// A run that the loop can watch.
pub(crate) trait WatchedRun {
    /// A reason to wake the loop.
    type Wakeup;

    /// Waits until there is something to read. The future may be dropped while it waits: nothing is lost then.
    fn wait(&mut self) -> impl Future<Output = Self::Wakeup>;

    /// Reads the news behind a wakeup. This future is never dropped halfway.
    fn read(&mut self, wakeup: Self::Wakeup) -> impl Future<Output = Result<RunUpdate, CliError>>;

    /// Shows the output that an attempt printed before its end, as far as it is not shown yet.
    fn read_rest_of_output(
        &mut self,
        ended: EndedAttempt,
        show: &mut OutputSink<'_>,
    ) -> impl Future<Output = Result<(), CliError>>;

    /// Notes which logs are written now: those of running steps, if their output is shown while they run.
    fn set_running_logs(&mut self, logs: Vec<LogId>);

    /// Handles the request to end the run; `count` is how often the user has asked.
    fn on_end_request(&mut self, count: u32) -> Result<EndRequestReaction, CliError>;

    /// Called when no other event has come for a while. Returns a message for the user, if there is one.
    fn on_idle(&mut self, end_requests: u32) -> Result<Option<String>, CliError>;

    /// The engine's reasons for the status of these steps, as far as it can be asked.
    fn why(
        &self,
        summary: &RunSummary,
        steps: &[StepIx],
    ) -> impl Future<Output = Vec<(StepIx, WhyReport)>>;

    /// The last bytes of a log; empty if they cannot be read.
    fn log_tail(&self, log: LogId, bytes: usize) -> impl Future<Output = Vec<u8>>;

    /// The summaries that the steps wrote, with step names.
    fn step_summaries(&self, summary: &RunSummary) -> impl Future<Output = Vec<(String, String)>>;

    /// The results of the tests that the steps ran.
    fn test_reports(&self, summary: &RunSummary) -> impl Future<Output = StepTestReports>;

    /// Commands about the run.
    fn hints(&self) -> &CommandHints;
}
