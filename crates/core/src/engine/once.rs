//! Steps that are done once under a key: whose it is to do, who waits for that, and who takes over what is on record.
//!
//! The key is made when the step's needs have ended and its condition held, since it may read their outputs. A step that
//! waits for a key waits for a step that waits for nothing but workers and locks, so such waits never run in a circle.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::decide::Out;
use super::event::{Event, Settled};
use super::run::Run;
use super::state::Engine;
use super::timer::Timer;
use super::transition::{Change, IllegalChange};
use super::utc::Utc;
use super::why::Why;
use crate::expr::{Scope, Template};
use crate::id::{RunId, StepIx};
use crate::once::{KeyStatus, Origin, Place, Record, Standing};
use crate::outcome::{Output, StepStatus};
use crate::planted::Bug;
use crate::shown::{NAME_MAX, is_plain, quoted};
use crate::time::Time;

/// A key and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyReport<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// Where it stands.
    pub status: KeyStatus,
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

impl KeyReport<'_> {
    /// As an object, for those who list keys.
    pub fn to_json(&self) -> Value {
        json!({
            "key": self.key,
            "status": self.status.word(),
            "run": self.run.to_string(),
            "step": self.step.0,
            "name": self.name,
            "at": Utc(self.at).to_string(),
            "waiting": self.waiting,
        })
    }
}

impl Run {
    /// The key of a step, or why there is none; nothing if it has no key.
    fn key(&self, step: StepIx) -> Option<Result<String, Box<str>>> {
        let written = &self.spec(step).when.once()?.key;
        let scope = Scope::default().with("steps", self.values_for(step)["steps"].take());
        let rendered = Template::parse(written).map_err(|error| error.to_string());
        let rendered = rendered.and_then(|template| {
            self.can_read(&template.paths())?;
            template.render(&scope).map_err(|error| error.to_string())
        });
        Some(match rendered {
            Ok(key) if is_plain(&key) => Ok(key),
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
    pub(super) fn begin(&mut self, out: &mut Out, run_ix: u32, step: StepIx) {
        let id = self.runs[run_ix].id;
        match self.runs[run_ix].key(step) {
            None => self.emit(out, Event::ConditionHeld { run: id, step }),
            Some(Err(why)) => self.emit_settled(out, run_ix, step, Settled::FailedKey { why }),
            Some(Ok(key)) => {
                if let Some(event) = self.asked_for_key(run_ix, step, key.into()) {
                    self.emit(out, event);
                }
            }
        }
    }

    /// What follows for a step that asks for its key; nothing if it stands in line already.
    fn asked_for_key(&self, run_ix: u32, step: StepIx, key: Box<str>) -> Option<Event> {
        let run = self.runs[run_ix].id;
        let place = (run_ix, step);
        match self.ledger.ask(&key, (place, self.wants_again(place)), self.believed_time(self.now))
        {
            Standing::Recorded(Record { origin, output, .. }) => {
                let (origin, output) = (origin.clone(), output.clone());
                Some(Event::KeyRecalled { run, step, key, origin, output })
            }
            Standing::Awaited(before) if !self.config.bugs.on(Bug::KeyTakenTwice) => {
                let known = self.ledger.awaited(place).is_some();
                let by = self.runs[before.0].id;
                (!known).then_some(Event::KeyAwaited { run, step, key, by })
            }
            Standing::Free | Standing::Awaited(_) => Some(Event::KeyTaken { run, step, key }),
        }
    }

    pub(super) fn wants_again(&self, (run, step): Place) -> bool {
        self.runs[run].spec(step).when.once().is_some_and(|once| once.again)
    }

    /// What the answer to a step that asked for its key does.
    pub(super) fn key_asked(&mut self, run_ix: u32, event: &Event) -> Result<(), IllegalChange> {
        if let Event::KeyTaken { step, key, .. } = event {
            self.ledger.take(key, (run_ix, *step), self.now);
            self.make_ready(run_ix, *step)?;
        } else if let Event::KeyAwaited { step, key, .. } = event {
            self.key_awaited(run_ix, *step, key);
        } else if let Event::KeyRecalled { step, output, .. } = event {
            self.key_recalled(run_ix, *step, output)?;
        }
        Ok(())
    }

    fn key_awaited(&mut self, run_ix: u32, step: StepIx, key: &str) {
        let again = self.wants_again((run_ix, step));
        self.ledger.wait(key, (run_ix, step), again);
        let (now, patience) = (self.now, self.runs[run_ix].spec(step).wait_for_lock);
        let state = self.runs[run_ix].step_mut(step);
        (state.since, state.settling) = (now, false);
        self.timers.set(now + patience, Timer::Key(run_ix, step));
    }

    fn key_recalled(
        &mut self,
        run_ix: u32,
        step: StepIx,
        output: &Output,
    ) -> Result<(), IllegalChange> {
        let run = &mut self.runs[run_ix];
        if *output != Output::None {
            run.outputs.insert(step, output.clone());
        }
        let state = run.step_mut(step);
        state.settling = false;
        state.change(Change::Reused)?;
        self.key_left(run_ix, step);
        self.node_ended(run_ix, step)
    }

    /// A step has ended, and with it its hold on a key or its place in line: who can go on by that asks again.
    pub(super) fn key_left(&mut self, run_ix: u32, step: StepIx) {
        let run = &self.runs[run_ix];
        let status = run.step(step).status;
        let kept = self.config.bugs.on(Bug::KeyKeptOnCancel) && status == StepStatus::Cancelled;
        if kept || run.spec(step).when.once().is_none() {
            return;
        }
        let (now, believed) = (self.now, self.believed_time(self.now));
        let record = || Record {
            origin: Origin { run: run.id, step, name: run.plan.name(step).into(), at: now },
            status,
            output: run.outputs.get(&step).cloned().unwrap_or_default(),
        };
        let Some(key) = self.ledger.end((run_ix, step), believed, record) else { return };
        for (run, step) in self.ledger.woken(&key, believed) {
            self.settle_later(run, step);
        }
    }

    /// A step has waited for its key as long as it may.
    pub(super) fn key_waited(&mut self, out: &mut Out, run_ix: u32, step: StepIx) {
        let Some(run) = self.runs.get(run_ix).filter(|run| run.plan.has_step(step)) else { return };
        let Some((_, by)) = self.ledger.awaited((run_ix, step)) else { return };
        let ends = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        if ends > self.now {
            return self.timers.set(ends, Timer::Key(run_ix, step));
        }
        let by = by.map_or(run.id, |(by, _)| self.runs[by].id);
        self.emit_settled(out, run_ix, step, Settled::FailedNoKey { by });
    }

    /// Why a step waits that stands in line for a key.
    pub(super) fn why_key(&self, run_ix: u32, step: StepIx) -> Option<Why> {
        let (key, by) = self.ledger.awaited((run_ix, step))?;
        let by = by.unwrap_or((run_ix, step));
        let run = &self.runs[run_ix];
        let fails_at = self.wait_ends(run.step(step).since, run.spec(step).wait_for_lock);
        let (run, name) = (&self.runs[by.0], self.runs[by.0].plan.name(by.1));
        Some(Why::Key { key: (&**key).into(), run: run.id, name: name.into(), fails_at })
    }

    /// Every key that a step is at or that something is on record for, sorted; all of them, or those behind one.
    pub fn key_reports(&self, behind: Option<&str>) -> impl Iterator<Item = KeyReport<'_>> {
        self.ledger.entries(behind).filter_map(|entry| {
            let (status, run, step, name, at) = match (entry.holder, entry.record) {
                (Some(((run, step), since)), _) => {
                    let run = &self.runs[run];
                    (KeyStatus::Pending, run.id, step, run.plan.name(step), since)
                }
                (None, Some(record)) => {
                    let done = record.is_success();
                    let status = if done { KeyStatus::Completed } else { KeyStatus::Failed };
                    let Origin { run, step, name, at } = &record.origin;
                    (status, *run, *step, &**name, *at)
                }
                (None, None) => return None,
            };
            let (key, name) = (Cow::Borrowed(&**entry.key), Cow::Borrowed(name));
            Some(KeyReport { key, status, run, step, name, at, waiting: entry.waiting })
        })
    }
}
