//! Rules for steps that run once under a key.

use std::collections::BTreeMap;

use windlass_core::engine::{Event, event};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::StepStatus;
use windlass_core::time::Time;

use super::state::{BrokenRule, SimWitness, require};
use crate::sim::coverage_marks::CoverageMarks;

/// A step of a run.
type WitnessStepRef = (RunId, StepIx);

/// What was observed of keys.
#[derive(Default)]
pub(super) struct WitnessKeys {
    /// The step that holds each key.
    holders: BTreeMap<Box<str>, WitnessStepRef>,
    /// The step that last completed the work of each key.
    done: BTreeMap<Box<str>, WitnessStepRef>,
    /// The key that a step took.
    taken: BTreeMap<WitnessStepRef, Box<str>>,
}

impl SimWitness {
    pub(super) fn asked_for_key(
        &mut self,
        at: Time,
        event: &Event,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        match event {
            Event::KeyTaken(event::KeyTaken { run, step, key }) => {
                self.key_taken(at, (*run, *step), key)
            }
            Event::KeyAwaited(event::KeyAwaited { run, step, .. }) => {
                marks.hit("waited for a key");
                self.open((*run, *step))
            }
            Event::KeyRecalled(event::KeyRecalled { run, step, key, origin, .. }) => {
                marks.hit("done once, taken over");
                let done = self.keys.done.get(key).copied();
                require(done == Some((origin.run, origin.step)), "I23 once", || {
                    format!("run {run} {step} takes {key} over from {origin:?}, not {done:?}")
                })?;
                self.open((*run, *step))?;
                self.step_mut(*run, *step)?.status = StepStatus::Cached;
                self.node_ended(*run, *step, at)
            }
            _ => Ok(()),
        }
    }

    fn key_taken(&mut self, at: Time, of: WitnessStepRef, key: &str) -> Result<(), BrokenRule> {
        self.open(of)?;
        let (run, step) = of;
        let again = self.spec(run, step).idempotency.as_ref().is_some_and(|it| it.again);
        let holder = self.keys.holders.get(key);
        require(holder.is_none(), "I23 once", || {
            format!("run {run} {step} takes {key}, and {holder:?} holds it")
        })?;
        let done = self.keys.done.get(key);
        require(again || done.is_none(), "I23 once", || {
            format!("run {run} {step} takes {key}, which {done:?} completed")
        })?;
        self.keys.holders.insert(key.into(), of);
        self.keys.taken.insert(of, key.into());
        let state = self.step_mut(run, step)?;
        (state.since, state.backing_off) = (at, false);
        Ok(())
    }

    fn open(&mut self, (run, step): WitnessStepRef) -> Result<(), BrokenRule> {
        let book = self.run_mut(run)?;
        let free = !book.step(step).status.is_terminal() && book.step(step).lease.is_none();
        require(free && book.needs_met(step), "I5 dependency", || {
            format!("run {run} {step} asks for its key and is {}", book.step(step).status)
        })
    }

    /// Records that a step has ended and holds its key no longer.
    pub(super) fn key_left(&mut self, of: WitnessStepRef) {
        let Some(key) = self.keys.taken.get(&of) else { return };
        if self.keys.holders.get(key) == Some(&of) {
            self.keys.holders.remove(key);
        }
        if self.runs[&of.0].step(of.1).status == StepStatus::Succeeded {
            self.keys.done.insert(key.clone(), of);
        }
    }

    /// Records that an interrupted run holds no key any longer.
    pub(super) fn keys_left(&mut self, run: RunId) {
        self.keys.holders.retain(|_, (of, _)| *of != run);
    }

    /// Returns whether its key allows a step to be dispatched.
    pub(super) fn is_at_key(&self, of: WitnessStepRef) -> bool {
        let once = self.spec(of.0, of.1).idempotency.is_some();
        !once || self.keys.taken.get(&of).and_then(|key| self.keys.holders.get(key)) == Some(&of)
    }

    /// Checks that no two steps run at a time under one key, even if a worker has lost contact.
    pub(super) fn alone_at_key(&self, fence: Fence) -> Result<(), BrokenRule> {
        let key = |fence: &Fence| {
            let lease = &self.leases[fence];
            self.keys.taken.get(&(lease.run, lease.step))
        };
        let Some(mine) = key(&fence) else { return Ok(()) };
        let awake = self.alive.iter().filter(|(_, worker)| !self.frozen.contains(worker));
        let mut others = awake.map(|(other, _)| other).filter(|other| **other != fence);
        let beside = others.find(|other| key(other) == Some(mine));
        require(beside.is_none(), "I23 once", || format!("{fence} runs {mine} beside {beside:?}"))
    }
}
