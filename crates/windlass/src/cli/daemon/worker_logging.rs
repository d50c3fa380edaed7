//! Log lines of a worker about its steps and their logs.
//!
//! The wrapper sits between the worker and its executor, so that neither of these has to log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tracing::{info, warn};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::report::UtcTime;
use windlass_core::session::{LeaseGrant, OutcomeVerdict};
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_core::time::{Span, Time};
use windlass_link::output::RoomWaitListener;
use windlass_store::db::StoreError;
use windlass_store::logs::LogSpaceWait;
use windlass_worker::{
    AttemptFuture, AttemptOrders, Executor, ExecutorBrokenFuture, ExecutorReadyFuture,
    StateDirectoryError,
};

use crate::cli::output::{LogFields, LogLevel, LogRecord};
use crate::embedded::system_now;

/// Remembered leases without a verdict: more than a worker holds.
const LEASES_MAX: usize = 4_096;

/// An executor that logs its attempts.
#[derive(Debug)]
pub(super) struct LoggingExecutor {
    steps: Arc<dyn Executor>,
    worker: String,
    /// The log fields of leases without a verdict.
    leases: Mutex<BTreeMap<Fence, LogFields>>,
}

impl LoggingExecutor {
    /// Logs the steps that a worker runs with an executor.
    pub(super) fn new(steps: Arc<dyn Executor>, worker: &str) -> Self {
        Self { steps, worker: worker.to_owned(), leases: Mutex::default() }
    }

    fn keep(&self, about: &LogFields) {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.extend(about.fence.map(|fence| (fence, about.clone())));
        if leases.len() > LEASES_MAX {
            leases.pop_first();
        }
    }

    fn forget(&self, fence: Fence) -> LogFields {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        // The step of an earlier start is unknown here.
        let (fence, worker) = (Some(fence), Some(self.worker.clone()));
        let unknown = || LogFields { worker, fence, ..LogFields::default() };
        fence.and_then(|fence| leases.remove(&fence)).unwrap_or_else(unknown)
    }
}

impl Executor for LoggingExecutor {
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        let about = about(&grant, &self.worker);
        self.keep(&about);
        if LogLevel::Debug.is_enabled() {
            line(LogLevel::Debug, about.clone(), "started").emit();
        }
        let attempt = self.steps.start(grant, orders);
        Box::pin(async move {
            let outcome = attempt.await;
            let level = level(&outcome);
            if level.is_enabled() {
                line(level, about, &ending(&outcome)).emit();
            }
            outcome
        })
    }

    fn broken(&self) -> ExecutorBrokenFuture {
        self.steps.broken()
    }

    fn on_joined(&self, worker: WorkerId, incarnation: Incarnation) -> ExecutorReadyFuture {
        self.steps.on_joined(worker, incarnation)
    }

    fn on_verdicts(&self, verdicts: &[(Fence, OutcomeVerdict)]) {
        for (fence, verdict) in verdicts {
            let about = self.forget(*fence);
            if *verdict == OutcomeVerdict::Stale {
                let what = "its outcome came too late and does not count";
                line(LogLevel::Warn, about, what).emit();
            }
        }
        self.steps.on_verdicts(verdicts);
    }
}

pub(super) fn about(grant: &LeaseGrant, worker: &str) -> LogFields {
    LogFields {
        run: Some(grant.lease.run),
        // A worker does not know the pipeline of a run.
        pipeline: None,
        step: Some(grant.name.to_string()),
        attempt: Some((grant.lease.attempt, grant.delivery)),
        worker: Some(worker.to_owned()),
        fence: Some(grant.lease.fence),
        by: None,
    }
}

fn line(level: LogLevel, about: LogFields, what: &str) -> LogRecord {
    let of = about.run.zip(about.step.as_deref());
    let of = of.map(|(run, step)| format!("run {run} {step}, ")).unwrap_or_default();
    let message = format!("{of}lease {}: {what}", about.fence.unwrap_or_default().0);
    LogRecord { level, at: None, message, about }
}

fn ending(outcome: &Outcome) -> String {
    match outcome.exit_code {
        None if let Some(failure) = lost_output(outcome) => format!("{}: {failure}", outcome.kind),
        Some(code) if code != 0 => format!("{} with exit code {code}", outcome.kind),
        _ => outcome.kind.to_string(),
    }
}

fn lost_output(outcome: &Outcome) -> Option<StepFailure> {
    StepFailure::of_output(&outcome.output).filter(|it| it.kind == StepFailureKind::OutputLost)
}

pub(super) fn level(outcome: &Outcome) -> LogLevel {
    match outcome.kind {
        OutcomeKind::Failed if lost_output(outcome).is_some() => LogLevel::Warn,
        OutcomeKind::Succeeded | OutcomeKind::Released => LogLevel::Debug,
        OutcomeKind::Failed | OutcomeKind::TimedOut | OutcomeKind::Cancelled => LogLevel::Info,
        OutcomeKind::Lost => LogLevel::Warn,
    }
}

/// Logs steps whose output finds no space.
#[derive(Debug)]
pub(super) struct RoomWaitLogger {
    pub(super) worker: String,
}

impl RoomWaitListener for RoomWaitLogger {
    fn note_wait(&self, wait: &LogSpaceWait<'_>) {
        let about = LogFields {
            run: Some(wait.log.run),
            step: Some(wait.step.to_owned()),
            attempt: Some((wait.log.attempt, wait.log.delivery)),
            worker: Some(self.worker.clone()),
            ..LogFields::default()
        };
        let (level, what) = room_wait_message(wait, system_now());
        let message = format!("run {} {}: {what}", wait.log.run, wait.step);
        LogRecord { level, at: None, message, about }.emit();
    }
}

fn room_wait_message(wait: &LogSpaceWait<'_>, now: Time) -> (LogLevel, String) {
    let why = match wait.error {
        None => return (LogLevel::Info, "its output can be written again".to_owned()),
        Some(StoreError::Full { place }) => format!("no space left in {place}"),
        Some(error) => error.to_string(),
    };
    let until = wait.at_most.map(|most| {
        let span = Span::millis(u64::try_from(most.as_millis()).unwrap_or(u64::MAX));
        format!("; it fails at {} (in {span}) unless that changes", UtcTime(now + span))
    });
    (
        LogLevel::Warn,
        format!(
            "it waits because its output cannot be written: {why}{}",
            until.unwrap_or_default()
        ),
    )
}

/// Logs when outcomes cannot be saved for the next start of a worker, and when they can again.
pub(super) async fn log_state_faults(mut fault: watch::Receiver<Option<StateDirectoryError>>) {
    while fault.changed().await.is_ok() {
        let seen = fault.borrow_and_update().clone();
        let Some(error) = seen else {
            info!("outcomes can be saved again");
            continue;
        };
        warn!(
            "outcomes cannot be saved: {error}. They are lost if this worker ends before a controller answers"
        );
    }
}
