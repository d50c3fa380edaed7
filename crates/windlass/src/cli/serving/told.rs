//! What a worker says of its steps and of its way to the controller.
//!
//! Both stand between the worker and what it uses, so that neither the worker nor its executor has to know of lines.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use windlass_core::engine::Utc;
use windlass_core::failure::{Failure, FailureKind};
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{Exchange, Grant, Refusal, Register, Registered, Reply, Verdict};
use windlass_core::time::{Span, Time};

use crate::cli::output::{About, Level, Logger, Said};
use crate::link::output::RoomWaitListener;
use crate::link::{Carried, Link, LinkError};
use crate::logs::RoomWait;
use crate::store::StoreError;
use crate::worker::{Attempt, Executor, Orders, Over, Prepared, StateError};

/// Leases without a verdict that are kept in mind: more than a worker holds.
const LEASES_MAX: usize = 4_096;

/// An executor whose attempts are told of.
#[derive(Debug)]
pub(super) struct ToldSteps {
    steps: Arc<dyn Executor>,
    worker: String,
    log: Logger,
    /// What lines say of leases that have no verdict.
    leases: Mutex<BTreeMap<Fence, About>>,
}

impl ToldSteps {
    /// Tells of the steps that a worker has run by an executor.
    pub(super) fn new(steps: Arc<dyn Executor>, worker: &str, log: Logger) -> Self {
        Self { steps, worker: worker.to_owned(), log, leases: Mutex::default() }
    }

    fn keep(&self, about: &About) {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases.extend(about.fence.map(|fence| (fence, about.clone())));
        if leases.len() > LEASES_MAX {
            leases.pop_first();
        }
    }

    fn let_go(&self, fence: Fence) -> About {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        // One of an earlier life is not known here.
        let (fence, worker) = (Some(fence), Some(self.worker.clone()));
        let unknown = || About { worker, fence, ..About::default() };
        fence.and_then(|fence| leases.remove(&fence)).unwrap_or_else(unknown)
    }
}

impl Executor for ToldSteps {
    fn start(&self, grant: Grant, orders: watch::Receiver<Orders>) -> Attempt {
        let (log, about) = (self.log, about(&grant, &self.worker));
        self.keep(&about);
        if log.says(Level::Debug) {
            log.say(&line(Level::Debug, about.clone(), "started"));
        }
        let attempt = self.steps.start(grant, orders);
        Box::pin(async move {
            let outcome = attempt.await;
            let level = level(&outcome);
            if log.says(level) {
                log.say(&line(level, about, &ending(&outcome)));
            }
            outcome
        })
    }

    fn over(&self) -> Over {
        self.steps.over()
    }

    fn joined(&self, worker: WorkerId, incarnation: Incarnation) -> Prepared {
        self.steps.joined(worker, incarnation)
    }

    fn judged(&self, verdicts: &[(Fence, Verdict)]) {
        for (fence, verdict) in verdicts {
            let about = self.let_go(*fence);
            if *verdict == Verdict::Stale {
                let what = "its outcome came too late and does not count";
                self.log.say(&line(Level::Warn, about, what));
            }
        }
        self.steps.judged(verdicts);
    }
}

fn about(grant: &Grant, worker: &str) -> About {
    About {
        run: Some(grant.lease.run),
        // A worker is not told of which pipeline a run is.
        pipeline: None,
        step: Some(grant.name.to_string()),
        attempt: Some((grant.lease.attempt, grant.delivery)),
        worker: Some(worker.to_owned()),
        fence: Some(grant.lease.fence),
        by: None,
    }
}

fn line(level: Level, about: About, what: &str) -> Said {
    let of = about.run.zip(about.step.as_deref());
    let of = of.map(|(run, step)| format!("run {run} {step}, ")).unwrap_or_default();
    let message = format!("{of}lease {}: {what}", about.fence.unwrap_or_default().0);
    Said { level, at: None, message, about }
}

fn ending(outcome: &Outcome) -> String {
    match outcome.exit_code {
        None if let Some(failure) = lost_output(outcome) => format!("{}: {failure}", outcome.kind),
        Some(code) if code != 0 => format!("{} with exit code {code}", outcome.kind),
        _ => outcome.kind.to_string(),
    }
}

fn lost_output(outcome: &Outcome) -> Option<Failure> {
    Failure::of_output(&outcome.output).filter(|it| it.kind == FailureKind::OutputLost)
}

fn level(outcome: &Outcome) -> Level {
    match outcome.kind {
        OutcomeKind::Failed if lost_output(outcome).is_some() => Level::Warn,
        OutcomeKind::Succeeded | OutcomeKind::Released => Level::Debug,
        OutcomeKind::Failed | OutcomeKind::TimedOut | OutcomeKind::Cancelled => Level::Info,
        OutcomeKind::Lost => Level::Warn,
    }
}

/// Tells of steps whose output finds no room.
#[derive(Debug)]
pub(super) struct ToldWaits {
    pub(super) worker: String,
    pub(super) log: Logger,
}

impl RoomWaitListener for ToldWaits {
    fn note_wait(&self, wait: &RoomWait<'_>) {
        let about = About {
            run: Some(wait.log.run),
            step: Some(wait.step.to_owned()),
            attempt: Some((wait.log.attempt, wait.log.delivery)),
            worker: Some(self.worker.clone()),
            ..About::default()
        };
        let (level, what) = said_of(wait, (self.log.clock)());
        let message = format!("run {} {}: {what}", wait.log.run, wait.step);
        self.log.say(&Said { level, at: None, message, about });
    }
}

fn said_of(wait: &RoomWait<'_>, now: Time) -> (Level, String) {
    let why = match wait.error {
        None => return (Level::Info, "its output can be written again".to_owned()),
        Some(StoreError::Full { place }) => format!("no space left in {place}"),
        Some(error) => error.to_string(),
    };
    let until = wait.at_most.map(|most| {
        let span = Span::millis(u64::try_from(most.as_millis()).unwrap_or(u64::MAX));
        format!("; it fails at {} (in {span}) unless that changes", Utc(now + span))
    });
    (
        Level::Warn,
        format!("it waits, for its output cannot be written: {why}{}", until.unwrap_or_default()),
    )
}

/// Tells when outcomes cannot be kept for another life of a worker, and when they can again.
pub(super) async fn tell_faults(mut fault: watch::Receiver<Option<StateError>>, log: Logger) {
    while fault.changed().await.is_ok() {
        let told = fault.borrow_and_update().clone();
        match told {
            Some(error) => log.note(
                Level::Warn,
                format!(
                    "outcomes cannot be kept: {error}. They are lost if this worker ends before a controller answers"
                ),
            ),
            None => log.note(Level::Info, "outcomes can be kept again"),
        }
    }
}

/// A link of which it is told when it breaks, and when it is whole again.
#[derive(Debug)]
pub(super) struct ToldLink {
    link: Arc<dyn Link>,
    worker: String,
    log: Logger,
    is_broken: AtomicBool,
}

impl ToldLink {
    /// Tells of the link of a worker.
    pub(super) fn new(link: Arc<dyn Link>, worker: &str, log: Logger) -> Self {
        Self { link, worker: worker.to_owned(), log, is_broken: AtomicBool::new(false) }
    }

    fn tell<T>(&self, answered: &Result<T, LinkError>) {
        let (level, message) = match answered {
            Ok(_) if self.is_broken.swap(false, Ordering::Relaxed) => {
                (Level::Info, "contact with the controller is back".to_owned())
            }
            // What is final is told by whoever ends because of it.
            Err(error) if error.is_final() => return,
            Err(error) if !self.is_broken.swap(true, Ordering::Relaxed) => {
                (Level::Warn, format!("contact with the controller is lost: {error}; trying again"))
            }
            Ok(_) | Err(_) => return,
        };
        let about = About { worker: Some(self.worker.clone()), ..About::default() };
        self.log.say(&Said { level, at: None, message, about });
    }
}

impl Link for ToldLink {
    fn register(&self, register: Register) -> Carried<'_, Result<Registered, Refusal>> {
        Box::pin(async move {
            let answered = self.link.register(register).await;
            self.tell(&answered);
            answered
        })
    }

    fn exchange(&self, exchange: Exchange) -> Carried<'_, Reply> {
        Box::pin(async move {
            let answered = self.link.exchange(exchange).await;
            self.tell(&answered);
            answered
        })
    }
}
