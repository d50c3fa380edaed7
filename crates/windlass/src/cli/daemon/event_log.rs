//! The log of a controller: one line for each event that an operator may need.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tracing::warn;
use windlass_controller::SharedView;
use windlass_controller::api::ControllerMode;
use windlass_core::access::AuditAction;
use windlass_core::engine::{CancelReason, Event, StepFollowUp, event};
use windlass_core::id::{Fence, RunId, StepIx, WorkerId};
use windlass_core::outcome::OutcomeKind;
use windlass_core::time::Time;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::journal::{Journal, Position};

use crate::cli::output::{LogFields, LogLevel, LogRecord};
use crate::cli::render::count;

/// Ended leases that are remembered, to name the worker of a late outcome.
const ENDED_MAX: usize = 1_024;

/// Follows durable events and logs those that matter.
#[derive(Debug)]
pub(super) struct EventLogger {
    views: Arc<SharedView>,
    journal: Arc<dyn Journal>,
    leases: BTreeMap<Fence, LoggedLease>,
    /// Ended leases, oldest first.
    ended: VecDeque<Fence>,
    /// Whether other controllers can lead, and the current term.
    company: ControllerMode,
    is_ours: bool,
    generation: u16,
}

/// Details of a lease that its events do not repeat.
#[derive(Clone, Copy, Debug)]
struct LoggedLease {
    attempt: (u16, u16),
    worker: WorkerId,
}

impl EventLogger {
    /// Logs the events of this view, and those of the journal that the view no longer has.
    pub(super) fn new(
        views: Arc<SharedView>,
        journal: Arc<dyn Journal>,
        company: ControllerMode,
    ) -> Self {
        let (leases, ended) = (BTreeMap::new(), VecDeque::new());
        Self { views, journal, leases, ended, company, is_ours: false, generation: 0 }
    }

    /// Runs until shutdown.
    pub(super) async fn run(mut self, mut shutdown: ShutdownReceiver) {
        let from = self.begin();
        let mut follower = self.views.follow(&self.journal, from);
        loop {
            let events = tokio::select! {
                () = shutdown.wait() => return,
                events = follower.next_retrying() => events,
            };
            for recorded in events.iter() {
                self.tell(recorded.at, &recorded.event);
            }
            if events.pruned().is_some() {
                follower.skip_to(self.begin());
            }
        }
    }

    /// Reads the open leases, and the position they are from.
    fn begin(&mut self) -> Position {
        self.ended.clear();
        let (position, leases, (is_ours, generation)) = self.views.with(|view| {
            let lease = |it: windlass_core::report::LeaseReport<'_>| {
                (it.fence, LoggedLease { attempt: (it.attempt, it.delivery), worker: it.worker })
            };
            let ours = (view.has_led(view.engine.term()), view.engine.generation());
            (view.position, view.engine.leases().map(lease).collect(), ours)
        });
        (self.leases, self.is_ours, self.generation) = (leases, is_ours, generation);
        self.warn_clock_jump();
        position
    }

    /// Warns that deletion is delayed because the clock may be wrong.
    fn warn_clock_jump(&self) {
        let leap = self.views.with(|view| view.engine.suspected_clock_jump(view.engine.now()));
        let Some((leapt, left)) = leap.filter(|_| self.is_reported()) else { return };
        let what = format!(
            "the clock is {leapt} ahead of the last event of this store: the store was unused, or the clock is wrong"
        );
        let then = format!(
            "items that are too old only because of that are deleted after {left} of leading"
        );
        warn!("{what}. Runs, logs and idempotency keys: {then}");
    }

    fn tell(&mut self, at: Time, event: &Event) {
        self.track_lease(event);
        let words = self
            .words_of_leader(event)
            .or_else(|| self.words(event).filter(|_| self.is_reported()));
        let Some((level, message)) = words else { return };
        let about = self.about(event);
        LogRecord { level, at: Some(at), message, about }.emit();
    }

    /// Of several controllers that follow the same runs, only the leader logs their events.
    fn is_reported(&self) -> bool {
        self.is_ours || self.company == ControllerMode::Exclusive
    }

    /// Messages about changes of the leader, where there can be several, and about a restored store.
    fn words_of_leader(&mut self, event: &Event) -> Option<(LogLevel, String)> {
        let Event::Led(event::Led { term, generation, .. }) = event else { return None };
        self.is_ours = self.views.with(|view| view.has_led(*term));
        let before = std::mem::replace(&mut self.generation, *generation);
        if *generation > before && self.is_reported() {
            let what = "the store has lost committed events: it was restored, or a standby of the database took over";
            let then = "workers present earlier leases again, and unknown ones are refused";
            return Some((LogLevel::Warn, format!("{what}. Generation {generation}: {then}")));
        }
        self.warn_clock_jump();
        if self.company == ControllerMode::Exclusive {
            return None;
        }
        let who = if self.is_ours { "this controller leads" } else { "another controller leads" };
        Some((LogLevel::Info, format!("{who}, term {}", term.0)))
    }

    /// Remembers the lease of each worker.
    fn track_lease(&mut self, event: &Event) {
        if let Event::Granted(event::Granted { attempt, delivery, worker, fence, .. }) = event {
            let lease = LoggedLease { attempt: (*attempt, *delivery), worker: *worker };
            self.leases.insert(*fence, lease);
        }
        if let Event::LeaseEnded(event::LeaseEnded { fence, .. }) = event {
            self.ended.push_back(*fence);
            while self.ended.len() > ENDED_MAX {
                let oldest = self.ended.pop_front();
                oldest.and_then(|oldest| self.leases.remove(&oldest));
            }
        }
    }

    /// All known fields of an event's subject.
    fn about(&self, event: &Event) -> LogFields {
        let (step, worker, fence) = event.references();
        let lease = fence.and_then(|fence| self.leases.get(&fence));
        let worker = worker.or(lease.map(|lease| lease.worker));
        LogFields {
            run: event.run(),
            pipeline: event.run().and_then(|run| self.pipeline(run)),
            step: event.run().zip(step).map(|(run, step)| self.step(run, step)),
            attempt: lease.map(|lease| lease.attempt),
            worker: worker.map(|worker| self.worker(worker)),
            fence,
            by: actor(event),
        }
    }

    /// The message about an event, if it matters enough.
    fn words(&self, event: &Event) -> Option<(LogLevel, String)> {
        let words = self.words_of_cluster(event).or_else(|| words_of_run(event));
        let words = words.or_else(|| words_of_act(event)).or_else(|| self.words_of_lease(event));
        words.filter(|(level, _)| level.is_enabled())
    }

    fn words_of_cluster(&self, event: &Event) -> Option<(LogLevel, String)> {
        let name = |worker: &WorkerId| self.worker(*worker);
        Some(match event {
            Event::WorkerRegistered(event::WorkerRegistered { name, slots, .. }) => {
                (LogLevel::Info, format!("worker {name} joined (slots: {slots})"))
            }
            Event::WorkerLost(event::WorkerLost { worker }) => {
                let what = "is lost: no contact for its lease duration";
                (LogLevel::Warn, format!("worker {} {what}", name(worker)))
            }
            Event::WorkerReturned(event::WorkerReturned { worker }) => {
                (LogLevel::Info, format!("worker {} is back", name(worker)))
            }
            Event::WorkerDrained(event::WorkerDrained { worker }) => {
                (LogLevel::Info, format!("worker {} gets no new steps", name(worker)))
            }
            Event::WorkerEnded(event::WorkerEnded { worker, .. }) => {
                let what = "has ended; none of its steps is left";
                (LogLevel::Info, format!("worker {} {what}", name(worker)))
            }
            Event::Braked(event::Braked { late, of }) => {
                let what = "workers lost contact at once: they are given up gradually";
                (LogLevel::Warn, format!("{late} of {of} {what}"))
            }
            _ => return None,
        })
    }

    fn words_of_lease(&self, event: &Event) -> Option<(LogLevel, String)> {
        match event {
            Event::Granted(_) if !LogLevel::Debug.is_enabled() => None,
            Event::Granted(event::Granted {
                run, step, attempt, delivery, worker, fence, ..
            }) => {
                let (step, worker) = (self.step(*run, *step), self.worker(*worker));
                let what = format!("attempt {attempt}.{delivery}, lease {}", fence.0);
                Some((LogLevel::Debug, format!("run {run} {step} → {worker}, {what}")))
            }
            Event::LeaseEnded(event::LeaseEnded { run, step, fence, outcome, next, ended }) => {
                let lost = outcome.kind == OutcomeKind::Lost || !ended.is_reported();
                let level = match (lost, ended.is_late()) {
                    (true, _) => LogLevel::Warn,
                    (false, true) => LogLevel::Info,
                    (false, false) => LogLevel::Debug,
                };
                if !level.is_enabled() {
                    return None;
                }
                let follows = match next {
                    StepFollowUp::Done(_) => "",
                    StepFollowUp::Retry { .. } => "; another attempt follows",
                    StepFollowUp::Again { .. } => "; it is dispatched again",
                };
                let late =
                    if ended.is_late() { ", reported after the lease had ended" } else { "" };
                let (step, kind) = (self.step(*run, *step), outcome.kind);
                Some((level, format!("run {run} {step}, lease {}: {kind}{late}{follows}", fence.0)))
            }
            Event::LateOutcome(event::LateOutcome { run, step, fence, outcome }) => {
                let (step, kind) = (self.step(*run, *step), outcome.kind);
                let text = format!("run {run} {step}, lease {}: {kind} came too late", fence.0);
                Some((LogLevel::Warn, text))
            }
            _ => None,
        }
    }

    fn worker(&self, worker: WorkerId) -> String {
        self.views.with(|view| {
            let mut workers = view.engine.workers();
            let known = workers.find(|it| it.id == worker);
            known.map_or_else(|| worker.to_string(), |it| it.name.into_owned())
        })
    }

    fn pipeline(&self, run: RunId) -> Option<String> {
        self.views.with(|view| view.engine.run(run).map(|run| run.pipeline().to_owned()))
    }

    fn step(&self, run: RunId, step: StepIx) -> String {
        self.views.with(|view| {
            let known = view.engine.run(run).and_then(|run| run.steps(step).next());
            known.map_or_else(|| step.to_string(), |known| known.name.into_owned())
        })
    }
}

fn words_of_run(event: &Event) -> Option<(LogLevel, String)> {
    Some(match event {
        Event::RunSubmitted(event::RunSubmitted { run, plan, .. }) => {
            let steps = count(plan.step_count() as usize, "step", "steps");
            (LogLevel::Info, format!("run {run} of {}: {steps}", plan.pipeline()))
        }
        Event::RunCancelled(event::RunCancelled { run, reason, .. }) => match reason {
            CancelReason::Asked => (LogLevel::Info, format!("run {run} is cancelled")),
            CancelReason::Deadline => {
                (LogLevel::Info, format!("run {run} is cancelled: its deadline passed"))
            }
            CancelReason::Defect => {
                let what = "has ended: a defect of windlass made its next decision fail";
                (LogLevel::Error, format!("run {run} {what}"))
            }
            CancelReason::Condemned => {
                let what = "has failed: an operator condemned it with `windlass store condemn`";
                (LogLevel::Error, format!("run {run} {what}"))
            }
        },
        Event::RunInterrupted(event::RunInterrupted { run }) => {
            (LogLevel::Warn, format!("run {run} is interrupted: its process has ended"))
        }
        Event::RunResumed(event::RunResumed { run, .. }) => {
            (LogLevel::Info, format!("run {run} continues"))
        }
        Event::RunEnded(event::RunEnded { run, status }) => {
            (LogLevel::Info, format!("run {run} {status}"))
        }
        _ => return None,
    })
}

/// The message about an operator's action. If the action has its own message, this one is logged at debug level.
fn words_of_act(event: &Event) -> Option<(LogLevel, String)> {
    let Event::Acted(event::Acted { by, act, about }) = event else { return None };
    let (level, done) = match act {
        AuditAction::Submit => (LogLevel::Debug, "submitted"),
        AuditAction::Resume => (LogLevel::Debug, "resumed"),
        AuditAction::Cancel => (LogLevel::Info, "cancelled"),
        AuditAction::Join => (LogLevel::Debug, "admitted"),
        AuditAction::Drain => (LogLevel::Info, "drained"),
        AuditAction::RevokeWorker => (LogLevel::Warn, "revoked"),
        AuditAction::ForceRelease => (LogLevel::Warn, "released by force"),
        AuditAction::CreateToken => (LogLevel::Info, "made"),
        AuditAction::RevokeToken => (LogLevel::Info, "revoked"),
    };
    Some((level, format!("{about} was {done} by {by}")))
}

fn actor(event: &Event) -> Option<String> {
    let Event::Acted(event::Acted { by, .. }) = event else { return None };
    Some(by.to_string())
}

#[cfg(test)]
mod tests {
    use windlass_core::access::{AuditSubject, Principal};

    use super::*;

    #[test]
    fn operator_of_an_action_is_logged() {
        let about = AuditSubject::Lock { name: "port".into(), fence: Fence(17) };
        let event = Event::Acted(event::Acted {
            by: Principal::TokenFile,
            act: AuditAction::ForceRelease,
            about,
        });
        let text = "lock port of lease 17 was released by force by token file".to_owned();
        assert_eq!(words_of_act(&event), Some((LogLevel::Warn, text)));
        assert_eq!(actor(&event).as_deref(), Some("token file"));
    }
}
