//! Applies events to a summary.

use super::delivery_summary::DeliveryRecord;
use super::run_summary::RunSummary;
use super::step_summary::NONE;
use crate::engine::{
    CancelLevel, CancelReason, Event, ReusedOutcome, RunOptions, StepFollowUp, StepProgress,
    StepSettlement, event,
};
use crate::id::{StepIx, Term, WorkerId};
use crate::outcome::{OutcomeKind, RunStatus, StepOutput, StepStatus};
use crate::session::StopReason;
use crate::time::Time;

impl RunSummary {
    /// Applies the next event. Events of other runs are ignored; cluster events report workers and leader changes.
    pub fn apply_event(&mut self, at: Time, event: &Event) {
        if event.run().is_some_and(|run| run != self.run) || !self.has_step(event.references().0) {
            return;
        }
        match event {
            Event::Led(led) => self.apply_led(at, led.term, led.own),
            Event::WorkerRegistered(it) => {
                self.add_worker(it.worker, &it.name, Some(&it.labels));
                self.set_worker_slots(it.worker, it.slots, at);
            }
            Event::RunCancelled(it) => self.apply_cancelled(at, it.level, it.reason),
            Event::RunEnded(it) => (self.status, self.ended_at) = (it.status, Some(at)),
            Event::RunInterrupted(_) => self.apply_interrupted(at),
            Event::RunResumed(it) => self.apply_resumed(at, it.options),
            Event::Granted(event) => {
                self.leaderless_since = None;
                self.apply_granted(at, event);
            }
            Event::Started(it) => self.apply_started(at, it.step),
            Event::StopOrdered(it) => self.apply_stop(it.step, it.why),
            Event::LeaseEnded(event) => {
                let still_open = !event.ended.is_reported();
                self.leaderless_since = self.leaderless_since.filter(|_| still_open);
                self.apply_ended(at, event);
            }
            Event::BackoffEnded(it) => self.set_status(it.step, StepStatus::Ready),
            Event::StepSettled(it) => self.apply_settled(at, it.step, &it.settled),
            Event::KeyTaken(it) => self.apply_key(it.step, &it.key, StepStatus::Ready),
            Event::KeyAwaited(it) => self.apply_key(it.step, &it.key, StepStatus::Waiting),
            Event::KeyRecalled(event) => self.apply_recalled(at, event),
            Event::WorkerLost(_)
            | Event::WorkerReturned(_)
            | Event::WorkerDrained(_)
            | Event::WorkerEnded(_)
            | Event::WorkerForgotten(_)
            | Event::Braked(_)
            | Event::RunSubmitted(_)
            | Event::RunSealed(_)
            | Event::Confirmed(_)
            | Event::ConditionHeld(_)
            | Event::LateOutcome(_)
            | Event::LockForced(_)
            | Event::WorkerEnrolled(_)
            | Event::WorkerRevoked(_)
            | Event::TokenCreated(_)
            | Event::TokenRevoked(_)
            | Event::Acted(_) => {}
        }
        self.last_event_at = self.last_event_at.max(at);
    }

    fn apply_interrupted(&mut self, at: Time) {
        self.status = RunStatus::Interrupted;
        // If its process led, it ended before the takeover.
        self.interrupted_at = Some(self.leaderless_since.take().unwrap_or(at));
    }

    /// A foreign journal must not cause a panic.
    fn has_step(&self, step: Option<StepIx>) -> bool {
        step.is_none_or(|step| self.plan.has_step(step))
    }

    fn apply_led(&mut self, at: Time, term: Term, own: Option<WorkerId>) {
        let known = self.led.is_some_and(|(known, _)| term <= known);
        let goes_on = self.ended_at.is_none() && self.interrupted_at.is_none();
        if !known && goes_on && self.options.owner.is_some() {
            // Its own process goes on, unless that was the one that led.
            self.leaderless_since.get_or_insert(self.last_event_at);
        } else if !known && goes_on {
            self.gaps.push((self.last_event_at, at));
        }
        self.led = Some((term, own));
    }

    fn apply_resumed(&mut self, at: Time, options: RunOptions) {
        self.gaps.extend(self.interrupted_at.take().map(|since| (since, at)));
        self.status = RunStatus::Running;
        // A rerun has the whole timeout, and not the rest of it.
        self.options = RunOptions { timeout: self.options.timeout, ..options };
    }

    fn apply_cancelled(&mut self, at: Time, level: CancelLevel, reason: CancelReason) {
        if reason == CancelReason::Condemned {
            self.apply_condemned(at);
        }
        // The first reason stays: a later kill only raises the level.
        let first = self.cancel.filter(|_| reason != CancelReason::Condemned);
        self.cancel = Some((level, first.map_or(reason, |(_, first)| first)));
        self.status = RunStatus::Cancelling;
    }

    /// The steps of a condemned run end with it, without separate events.
    fn apply_condemned(&mut self, at: Time) {
        let plan = self.plan.clone();
        for step in plan.nodes().filter(|node| plan.has_step(*node)) {
            if !self.nodes[step.0 as usize].status.is_terminal() {
                self.end_step(at, step, StepStatus::Cancelled);
            }
        }
    }

    fn apply_recalled(&mut self, at: Time, event: &event::KeyRecalled) {
        self.keys.insert(event.step, (event.key.clone(), Some(event.origin.clone())));
        self.keep_output(event.step, &event.output);
        self.end_step(at, event.step, StepStatus::Cached);
    }

    fn apply_granted(&mut self, at: Time, event: &event::Granted) {
        let event::Granted { step, attempt, delivery, worker, fence, .. } = event;
        let worker = self.worker_index(*worker);
        self.workers_met.insert(worker);
        let newest = u32::try_from(self.records.len()).unwrap_or(NONE);
        let previous = std::mem::replace(&mut self.nodes[step.0 as usize].last, newest);
        self.records.push(DeliveryRecord {
            previous,
            worker,
            attempt: *attempt,
            delivery: *delivery,
            fence: *fence,
            granted_at: at,
            started_at: Time::ZERO,
            ended_at: Time::ZERO,
            exit_code: None,
            outcome: None,
            stop: None,
        });
        self.set_status(*step, StepStatus::Leased);
    }

    fn apply_started(&mut self, at: Time, step: StepIx) {
        if let Some(record) = self.last_record(step) {
            record.started_at = at;
        }
        self.set_status(step, StepStatus::Running);
    }

    fn apply_stop(&mut self, step: StepIx, why: StopReason) {
        if let Some(record) = self.last_record(step) {
            record.stop = Some(why);
        }
    }

    fn apply_ended(&mut self, at: Time, event: &event::LeaseEnded) {
        let event::LeaseEnded { step, outcome, next, ended, .. } = event;
        let step = *step;
        // Stopping a whole run creates no event for each step.
        let by_run =
            if self.cancel.is_some() { StopReason::RunCancelled } else { StopReason::FailFast };
        if let Some(record) = self.last_record(step) {
            record.ended_at = at;
            if let Some(ran) = ended.ran() {
                // The duration measured by the worker is more precise than the times of the reports.
                let reported = record.started_at;
                let began = if reported == Time::ZERO { at - ran } else { reported.min(at - ran) };
                record.started_at = began.max(record.granted_at);
                record.ended_at = (record.started_at + ran).min(at);
            }
            record.exit_code = outcome.exit_code;
            record.outcome = Some(outcome.kind);
            if outcome.kind == OutcomeKind::Cancelled {
                record.stop.get_or_insert(by_run);
            }
        }
        match next {
            StepFollowUp::Done(status) => {
                self.keep_output(step, &outcome.output);
                self.end_step(at, step, *status);
            }
            StepFollowUp::Retry { .. } => self.set_status(step, StepStatus::Waiting),
            StepFollowUp::Again { .. } => self.set_status(step, StepStatus::Ready),
        }
    }

    fn apply_settled(&mut self, at: Time, step: StepIx, settled: &StepSettlement) {
        let place = u32::try_from(self.settled.len()).unwrap_or(NONE);
        self.nodes[step.0 as usize].settled = place;
        self.settled.push(settled.clone());
        self.end_step(at, step, settled.status());
    }

    fn apply_key(&mut self, step: StepIx, key: &str, status: StepStatus) {
        self.keys.insert(step, (key.into(), None));
        self.set_status(step, status);
    }

    /// Applies an outcome reused from an earlier run.
    pub(super) fn apply_reused(&mut self, at: Time, taken: &ReusedOutcome) {
        if !self.plan.has_step(taken.step) {
            return;
        }
        self.keep_output(taken.step, &taken.output);
        self.reused.insert(taken.step, taken.from);
        self.end_step(at, taken.step, StepStatus::Cached);
    }

    /// Applies the end of a step before its run was interrupted, if the events before the resumption are unknown.
    pub(super) fn apply_restored(&mut self, at: Time, progress: &StepProgress) {
        if progress.status.is_terminal() && self.plan.has_step(progress.step) {
            self.keep_output(progress.step, &progress.output);
            self.end_step(at, progress.step, progress.status);
        }
    }

    fn keep_output(&mut self, step: StepIx, output: &StepOutput) {
        if !output.is_empty() {
            self.outputs.insert(step, output.clone());
        }
    }

    /// Ends a step. Joins end with their last cell; steps whose last need has ended become ready.
    fn end_step(&mut self, at: Time, step: StepIx, status: StepStatus) {
        self.set_status(step, status);
        let plan = std::sync::Arc::clone(&self.plan);
        let mut ended = vec![step];
        while let Some(node) = ended.pop() {
            self.nodes[node.0 as usize].ended_at = at;
            for dependent in plan.dependents(node).iter().map(|edge| edge.step()) {
                let state = &mut self.nodes[dependent.0 as usize];
                state.remaining = state.remaining.saturating_sub(1);
                if state.remaining > 0 {
                    continue;
                }
                if plan.is_join(dependent) {
                    ended.push(dependent);
                } else if state.status == StepStatus::Waiting {
                    self.set_status(dependent, StepStatus::Ready);
                }
            }
        }
    }

    fn last_record(&mut self, step: StepIx) -> Option<&mut DeliveryRecord> {
        let last = self.nodes[step.0 as usize].last;
        self.records.get_mut(last as usize)
    }
}
