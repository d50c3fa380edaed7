//! Idempotent steps: which step runs under a key, which steps wait for it, and which reuse the recorded output.
//!
//! The key is evaluated when the step's needs have ended and its condition held, because it may read their outputs. The
//! step that holds a key waits only for workers and locks, so these waits never form a cycle.

use super::decide::DecisionDraft;
use crate::display_text::{NAME_MAX, is_displayable, quoted};
use crate::engine::apply::ApplyError;
use crate::engine::event::{self, Event, StepSettlement};
use crate::engine::state::engine::Engine;
use crate::engine::state::run::Run;
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::transition::StepChange;
use crate::expr::{ExprScope, Template};
use crate::id::StepIx;
use crate::idempotency::{IdempotencyLookup, IdempotencyOrigin, IdempotencyRecord, IdempotentStep};
use crate::outcome::{StepOutput, StepStatus};
use crate::planted_bugs::PlantedBug;
use crate::slab::RunIx;

impl Run {
    /// Returns the key of a step, or why it could not be evaluated; `None` if the step has no key.
    fn evaluate_key(&self, step: StepIx) -> Option<Result<String, Box<str>>> {
        let written = &self.spec(step).idempotency.as_ref()?.key;
        let scope = ExprScope::default().with("steps", self.values_for(step)["steps"].take());
        let rendered = Template::parse(written).map_err(|error| error.to_string());
        let rendered = rendered.and_then(|template| {
            self.can_read(&template.paths())?;
            template.render(&scope).map_err(|error| error.to_string())
        });
        Some(match rendered {
            Ok(key) if is_displayable(&key) => Ok(key),
            Ok(key) => Err(format!(
                "{} is no key: it has 1 to {NAME_MAX} bytes, and no line breaks or other control characters",
                quoted(&key)
            )
            .into()),
            Err(error) => Err(format!("`{written}`: {error}").into()),
        })
    }
}

impl Engine {
    /// Continues with a step after its needs have ended and its condition held. It becomes ready, unless its
    /// idempotency key decides otherwise.
    pub(in crate::engine) fn begin_step(
        &mut self,
        out: &mut DecisionDraft,
        run_ix: RunIx,
        step: StepIx,
    ) {
        let id = self.runs[run_ix].id;
        match self.runs[run_ix].evaluate_key(step) {
            None => self.emit(out, event::ConditionHeld { run: id, step }),
            Some(Err(why)) => {
                self.emit_settled(out, run_ix, step, StepSettlement::FailedKey { why });
            }
            Some(Ok(key)) => {
                if let Some(event) = self.key_event(run_ix, step, key.into()) {
                    self.emit(out, event);
                }
            }
        }
    }

    /// Returns the event for a step that requests its key; `None` if the step already waits for it.
    fn key_event(&self, run_ix: RunIx, step: StepIx, key: Box<str>) -> Option<Event> {
        let run = self.runs[run_ix].id;
        let place = (run_ix, step);
        match self.ledger.look_up(
            &key,
            (place, self.ignores_key_record(place)),
            self.trusted_time(self.now),
        ) {
            IdempotencyLookup::Recorded(IdempotencyRecord { origin, output, .. }) => {
                let (origin, output) = (origin.clone(), output.clone());
                Some(event::KeyRecalled { run, step, key, origin, output }.into())
            }
            IdempotencyLookup::Awaited(before)
                if !self.config.bugs.on(PlantedBug::KeyTakenTwice) =>
            {
                let known = self.ledger.awaited_key(place).is_some();
                if let Some(settled) = self.ancestor_key(run_ix, before, &key) {
                    return Some(event::StepSettled { run, step, settled }.into());
                }
                let by = self.runs[before.0].id;
                (!known).then(|| event::KeyAwaited { run, step, key, by }.into())
            }
            IdempotencyLookup::Free | IdempotencyLookup::Awaited(_) => {
                Some(event::KeyTaken { run, step, key }.into())
            }
        }
    }

    pub(in crate::engine) fn ignores_key_record(&self, (run, step): IdempotentStep) -> bool {
        self.runs[run].spec(step).idempotency.as_ref().is_some_and(|it| it.again)
    }

    pub(in crate::engine) fn apply_key_taken(
        &mut self,
        event: &event::KeyTaken,
    ) -> Result<(), ApplyError> {
        let run_ix = self.step_of(event.run, event.step)?;
        self.ledger.acquire(&event.key, (run_ix, event.step), self.now);
        self.make_ready(run_ix, event.step)?;
        self.recheck_nested_runs((run_ix, event.step));
        Ok(())
    }

    pub(in crate::engine) fn apply_key_awaited(
        &mut self,
        event: &event::KeyAwaited,
    ) -> Result<(), ApplyError> {
        let (run_ix, step) = (self.step_of(event.run, event.step)?, event.step);
        let again = self.ignores_key_record((run_ix, step));
        self.ledger.enqueue(&event.key, (run_ix, step), again);
        let (now, patience) = (self.now, self.runs[run_ix].spec(step).wait_for_lock);
        let state = self.runs[run_ix].step_mut(step);
        (state.since, state.settling) = (now, false);
        self.timers.set(now + patience, EngineTimer::Key(run_ix, step));
        Ok(())
    }

    pub(in crate::engine) fn apply_key_recalled(
        &mut self,
        event: &event::KeyRecalled,
    ) -> Result<(), ApplyError> {
        let (run_ix, step) = (self.step_of(event.run, event.step)?, event.step);
        let run = &mut self.runs[run_ix];
        if event.output != StepOutput::NONE {
            run.outputs.insert(step, event.output.clone());
        }
        let state = run.step_mut(step);
        state.settling = false;
        state.change(StepChange::Reused)?;
        self.release_key(run_ix, step);
        self.node_ended(run_ix, step)?;
        Ok(())
    }

    /// Releases the key of a step that ended, or its position among the waiting steps. Steps that can continue request
    /// the key again.
    pub(in crate::engine) fn release_key(&mut self, run_ix: RunIx, step: StepIx) {
        let run = &self.runs[run_ix];
        let status = run.step(step).status;
        let kept =
            self.config.bugs.on(PlantedBug::KeyKeptOnCancel) && status == StepStatus::Cancelled;
        if kept || run.spec(step).idempotency.is_none() {
            return;
        }
        let (now, believed) = (self.now, self.trusted_time(self.now));
        let record = || IdempotencyRecord {
            origin: IdempotencyOrigin {
                run: run.id,
                step,
                name: run.plan.name(step).into(),
                at: now,
            },
            status,
            output: run.outputs.get(&step).cloned().unwrap_or_default(),
        };
        let Some(key) = self.ledger.release((run_ix, step), believed, record) else { return };
        for (run, step) in self.ledger.unblocked(&key, believed) {
            self.settle_later(run, step);
        }
    }

    /// Ends a step that has waited for its key for as long as it may.
    pub(in crate::engine) fn key_wait_timed_out(
        &mut self,
        out: &mut DecisionDraft,
        run_ix: RunIx,
        step: StepIx,
    ) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.plan.has_step(step)) else { return };
        if !run.is_queued() {
            return;
        }
        let Some((_, by)) = self.ledger.awaited_key((run_ix, step)) else { return };
        let ends = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        if ends > self.now {
            return self.timers.set(ends, EngineTimer::Key(run_ix, step));
        }
        let by = by.map_or(run.id, |(by, _)| self.runs[by].id);
        self.emit_settled(out, run_ix, step, StepSettlement::FailedNoKey { by });
    }
}
