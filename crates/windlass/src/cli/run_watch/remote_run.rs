//! A run of another process, watched through a source of runs.

use std::sync::Arc;

use tokio::sync::mpsc;
use windlass_core::engine::StepFollowUp;
use windlass_core::id::StepIx;
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;
use windlass_store::logs::LogId;

use super::event_feed::{RemoteFeedEvent, feed};
use super::interrupts::InterruptListener;
use super::log_followers::{FollowedLogChunk, LogFollowers};
use super::watch_loop::{RunReportOptions, RunWatch, WatchOutcome, WatchOutput};
use super::watched_run::{EndRequestReaction, EndedAttempt, OutputSink, RunUpdate, WatchedRun};
use crate::cli::error::CliError;
use crate::cli::output::{CommandHints, OutputMode, ScreenOptions, TerminalCaps};
use crate::cli::run_source::{KnownRun, RunSource, tail};
use crate::cli::step_tests::StepTestReports;
use crate::cli::{exit, output};

/// A run of another process to watch.
#[derive(Debug)]
pub(crate) struct RemoteWatch {
    /// Its source.
    pub(crate) source: Arc<dyn RunSource>,
    /// Its known state.
    pub(crate) known: KnownRun,
    /// The terminal capabilities.
    pub(crate) caps: TerminalCaps,
    /// The contents of standard output.
    pub(crate) output: WatchOutput,
    /// The steps that were named.
    pub(crate) named: Vec<String>,
}

/// A run of another process.
struct RemoteRun {
    source: Arc<dyn RunSource>,
    feed: mpsc::Receiver<RemoteFeedEvent>,
    log_followers: LogFollowers,
}

/// News from its source.
enum RemoteRunWakeup {
    Feed(RemoteFeedEvent),
    Output(FollowedLogChunk),
}

impl RemoteWatch {
    /// Shows the run and its result. Returns the run's exit code, or that of a user who stopped watching.
    pub(crate) async fn watch(self) -> Result<u8, CliError> {
        let Self { source, known: KnownRun { summary, position, .. }, caps, output, named } = self;
        let mut interrupts = InterruptListener::listen().map_err(|error| {
            CliError::unreachable(format!("cannot listen for signals: {error}"))
        })?;
        let there = source.logs(summary.run()).await?;
        let feed = feed(Arc::clone(&source), summary.run(), position);
        let log_followers = LogFollowers::new(Arc::clone(&source), &there);
        let run = RemoteRun { source, feed, log_followers };
        // The number of concurrent steps depends on workers that come and go.
        let slots = summary.plan().step_count();
        let mode = OutputMode::default_for(&caps, slots);
        let options = ScreenOptions { caps, mode, slots, ctrl_c_ends: false };
        let began = summary.held().next().is_some() || summary.status_counts().ended() > 0;
        let under_way = began && !summary.status().is_terminal();
        let mut watch = RunWatch::new(run, summary, output, options);
        if under_way {
            watch.show_running();
        }
        let outcome = watch.follow(&mut interrupts).await?;
        watch.close();
        if outcome == WatchOutcome::Left {
            let (run, summary) = watch.into_run();
            return Ok(run.report_continuation(&summary));
        }
        Ok(watch.report(RunReportOptions { named: &named, junit: None, interrupted: false }))
    }
}

impl RemoteRun {
    /// Tells the user who stops watching that the run continues.
    fn report_continuation(&self, summary: &RunSummary) -> u8 {
        let (run, hints) = (summary.run(), self.hints());
        if let (Some(watch), Some(cancel)) = (hints.watch(run), hints.cancel(run)) {
            output::print_message(&format!(
                "the run continues; `{watch}` shows it again, `{cancel}` cancels it"
            ));
        }
        exit::INTERRUPTED
    }
}

impl WatchedRun for RemoteRun {
    type Wakeup = RemoteRunWakeup;

    async fn wait(&mut self) -> RemoteRunWakeup {
        tokio::select! {
            biased;
            Some(event) = self.feed.recv() => RemoteRunWakeup::Feed(event),
            chunk = self.log_followers.next() => RemoteRunWakeup::Output(chunk),
        }
    }

    async fn read(&mut self, wakeup: RemoteRunWakeup) -> Result<RunUpdate, CliError> {
        match wakeup {
            RemoteRunWakeup::Feed(RemoteFeedEvent::Page(page)) => Ok(RunUpdate::Events(page)),
            RemoteRunWakeup::Feed(RemoteFeedEvent::Unreachable) => {
                Ok(RunUpdate::Message("the controller does not answer; waiting for it".to_owned()))
            }
            RemoteRunWakeup::Feed(RemoteFeedEvent::ReachableAgain) => {
                Ok(RunUpdate::Message("the controller answers again".to_owned()))
            }
            RemoteRunWakeup::Feed(RemoteFeedEvent::Failed(error)) => Err(error),
            RemoteRunWakeup::Output(FollowedLogChunk { log, bytes, .. }) => {
                Ok(RunUpdate::Output(log, bytes))
            }
        }
    }

    async fn read_rest_of_output(
        &mut self,
        ended: EndedAttempt,
        show: &mut OutputSink<'_>,
    ) -> Result<(), CliError> {
        let EndedAttempt { log, is_shown, next } = ended;
        if !is_shown {
            self.log_followers.forget(log);
            return Ok(());
        }
        // A lease that was given up can still have an outcome, which ends the attempt once more.
        let may_end_again = matches!(next, StepFollowUp::Again { .. });
        while let Some(chunk) = self.log_followers.rest(log, may_end_again).await? {
            show(chunk.log, &chunk.bytes);
        }
        Ok(())
    }

    fn set_running_logs(&mut self, logs: Vec<LogId>) {
        self.log_followers.listen(logs);
    }

    /// The run belongs to another process: Ctrl-C only stops watching it.
    fn on_end_request(&mut self, _count: u32) -> Result<EndRequestReaction, CliError> {
        Ok(EndRequestReaction::Leaves)
    }

    fn on_idle(&mut self, _end_requests: u32) -> Result<Option<String>, CliError> {
        Ok(None)
    }

    async fn why(&self, summary: &RunSummary, steps: &[StepIx]) -> Vec<(StepIx, WhyReport)> {
        let mut reasons: Vec<(StepIx, WhyReport)> = Vec::new();
        for step in steps {
            let why = self.source.why(summary.run(), *step).await;
            reasons.extend(why.ok().flatten().map(|why| (*step, why)));
        }
        reasons
    }

    async fn log_tail(&self, log: LogId, bytes: usize) -> Vec<u8> {
        tail(&*self.source, log, bytes).await
    }

    async fn step_summaries(&self, summary: &RunSummary) -> Vec<(String, String)> {
        // A source that no longer answers has already reported the end.
        let notes = self.source.step_summaries(summary.run()).await;
        notes.unwrap_or_default().by_step_name(summary)
    }

    async fn test_reports(&self, summary: &RunSummary) -> StepTestReports {
        self.source.test_reports(summary.run()).await.unwrap_or_default()
    }

    fn hints(&self) -> &CommandHints {
        self.source.hints()
    }
}
