//! Steps that are done once under a key: whose it is to do, who waits for that, and who takes over what is on record.
//!
//! The key is made when the step's needs have ended and its condition held, since it may read their outputs. A step that
//! waits for a key waits for a step that waits for nothing but workers and locks, so such waits never run in a circle.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::decide::DecisionDraft;
use super::event::{Event, StepSettlement};
use super::run::Run;
use super::state::Engine;
use super::timer::EngineTimer;
use super::transition::{IllegalStepChange, StepChange};
use super::utc_time::UtcTime;
use super::why::WhyReport;
use crate::display_text::{NAME_MAX, is_displayable, quoted};
use crate::expr::{ExprScope, Template};
use crate::id::{RunId, StepIx};
use crate::idempotency::{
    IdempotencyKeyStatus, IdempotencyLookup, IdempotencyOrigin, IdempotencyRecord, IdempotentStep,
};
use crate::outcome::{StepOutput, StepStatus};
use crate::planted_bugs::PlantedBug;
use crate::time::Time;

/// A key and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyKeyReport<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// Where it stands.
    pub status: IdempotencyKeyStatus,
    /// The run that is at it, or that did it last.
    pub run: RunId,
    /// Which step of it.
    pub step: StepIx,
    /// That step's name.
    pub name: Cow<'a, str>,
    /// Since when the step is at it, or when it ended.
    pub at: Time,
    /// How many steps wait for it.
    pub waiting: usize,
}

impl IdempotencyKeyReport<'_> {
    /// As an object, for those who list keys.
    pub fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "status": self.status.word(),
            "run": self.run.to_string(),
            "step": self.step.0,
            "name": self.name,
            "at": UtcTime(self.at).to_string(),
            "waiting": self.waiting,
        })
    }
}

impl Run {
    /// The key of a step, or why there is none; nothing if it has no key.
    fn evaluate_key(&self, step: StepIx) -> Option<Result<String, Box<str>>> {
        let written = &self.spec(step).when.idempotency()?.key;
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
    /// A step's needs have ended and its condition held: it is ready, unless it is done once and its key says otherwise.
    pub(super) fn begin_step(&mut self, out: &mut DecisionDraft, run_ix: u32, step: StepIx) {
        let id = self.runs[run_ix].id;
        match self.runs[run_ix].evaluate_key(step) {
            None => self.emit(out, Event::ConditionHeld { run: id, step }),
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

    /// What follows for a step that asks for its key; nothing if it stands in line already.
    fn key_event(&self, run_ix: u32, step: StepIx, key: Box<str>) -> Option<Event> {
        let run = self.runs[run_ix].id;
        let place = (run_ix, step);
        match self.ledger.look_up(
            &key,
            (place, self.ignores_key_record(place)),
            self.trusted_time(self.now),
        ) {
            IdempotencyLookup::Recorded(IdempotencyRecord { origin, output, .. }) => {
                let (origin, output) = (origin.clone(), output.clone());
                Some(Event::KeyRecalled { run, step, key, origin, output })
            }
            IdempotencyLookup::Awaited(before)
                if !self.config.bugs.on(PlantedBug::KeyTakenTwice) =>
            {
                let known = self.ledger.awaited_key(place).is_some();
                let by = self.runs[before.0].id;
                (!known).then_some(Event::KeyAwaited { run, step, key, by })
            }
            IdempotencyLookup::Free | IdempotencyLookup::Awaited(_) => {
                Some(Event::KeyTaken { run, step, key })
            }
        }
    }

    pub(super) fn ignores_key_record(&self, (run, step): IdempotentStep) -> bool {
        self.runs[run].spec(step).when.idempotency().is_some_and(|once| once.again)
    }

    /// What the answer to a step that asked for its key does.
    pub(super) fn apply_key_event(
        &mut self,
        run_ix: u32,
        event: &Event,
    ) -> Result<(), IllegalStepChange> {
        if let Event::KeyTaken { step, key, .. } = event {
            self.ledger.acquire(key, (run_ix, *step), self.now);
            self.make_ready(run_ix, *step)?;
        } else if let Event::KeyAwaited { step, key, .. } = event {
            self.key_awaited(run_ix, *step, key);
        } else if let Event::KeyRecalled { step, output, .. } = event {
            self.key_recalled(run_ix, *step, output)?;
        }
        Ok(())
    }

    fn key_awaited(&mut self, run_ix: u32, step: StepIx, key: &str) {
        let again = self.ignores_key_record((run_ix, step));
        self.ledger.enqueue(key, (run_ix, step), again);
        let (now, patience) = (self.now, self.runs[run_ix].spec(step).wait_for_lock);
        let state = self.runs[run_ix].step_mut(step);
        (state.since, state.settling) = (now, false);
        self.timers.set(now + patience, EngineTimer::Key(run_ix, step));
    }

    fn key_recalled(
        &mut self,
        run_ix: u32,
        step: StepIx,
        output: &StepOutput,
    ) -> Result<(), IllegalStepChange> {
        let run = &mut self.runs[run_ix];
        if *output != StepOutput::None {
            run.outputs.insert(step, output.clone());
        }
        let state = run.step_mut(step);
        state.settling = false;
        state.change(StepChange::Reused)?;
        self.release_key(run_ix, step);
        self.node_ended(run_ix, step)
    }

    /// A step has ended, and with it its hold on a key or its place in line: who can go on by that asks again.
    pub(super) fn release_key(&mut self, run_ix: u32, step: StepIx) {
        let run = &self.runs[run_ix];
        let status = run.step(step).status;
        let kept =
            self.config.bugs.on(PlantedBug::KeyKeptOnCancel) && status == StepStatus::Cancelled;
        if kept || run.spec(step).when.idempotency().is_none() {
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

    /// A step has waited for its key as long as it may.
    pub(super) fn key_wait_timed_out(
        &mut self,
        out: &mut DecisionDraft,
        run_ix: u32,
        step: StepIx,
    ) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.plan.has_step(step)) else { return };
        let Some((_, by)) = self.ledger.awaited_key((run_ix, step)) else { return };
        let ends = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        if ends > self.now {
            return self.timers.set(ends, EngineTimer::Key(run_ix, step));
        }
        let by = by.map_or(run.id, |(by, _)| self.runs[by].id);
        self.emit_settled(out, run_ix, step, StepSettlement::FailedNoKey { by });
    }

    /// Why a step waits that stands in line for a key.
    pub(super) fn why_key(&self, run_ix: u32, step: StepIx) -> Option<WhyReport> {
        let (key, by) = self.ledger.awaited_key((run_ix, step))?;
        let by = by.unwrap_or((run_ix, step));
        let run = &self.runs[run_ix];
        let fails_at = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        let (run, name) = (&self.runs[by.0], self.runs[by.0].plan.name(by.1));
        Some(WhyReport::Key { key: (&**key).into(), run: run.id, name: name.into(), fails_at })
    }

    /// Every key that a step is at or that something is on record for, sorted; all of them, or those behind one.
    pub fn key_reports(
        &self,
        behind: Option<&str>,
    ) -> impl Iterator<Item = IdempotencyKeyReport<'_>> {
        self.ledger.entries(behind).filter_map(|entry| {
            let (status, run, step, name, at) = match (entry.holder, entry.record) {
                (Some(((run, step), since)), _) => {
                    let run = &self.runs[run];
                    (IdempotencyKeyStatus::Pending, run.id, step, run.plan.name(step), since)
                }
                (None, Some(record)) => {
                    let done = record.is_success();
                    let status = if done {
                        IdempotencyKeyStatus::Completed
                    } else {
                        IdempotencyKeyStatus::Failed
                    };
                    let IdempotencyOrigin { run, step, name, at } = &record.origin;
                    (status, *run, *step, &**name, *at)
                }
                (None, None) => return None,
            };
            let (key, name) = (Cow::Borrowed(&**entry.key), Cow::Borrowed(name));
            Some(IdempotencyKeyReport { key, status, run, step, name, at, waiting: entry.waiting })
        })
    }
}
