//! Ends without a lease: skipped, blocked, cancelled, superseded, and runs whose last step has ended.

use super::decide::Out;
use super::event::{CancelReason, Event, Settled, Unplaceable};
use super::run::NONE;
use super::state::{Engine, Todo};
use crate::id::{RunId, StepIx};
use crate::outcome::StepStatus;
use crate::plan::Condition;
use crate::session::StopReason;

impl Engine {
    /// Decides what follows from events so far, until the decision is full. What is left is taken up by the next.
    pub(super) fn work_off(&mut self, out: &mut Out) {
        self.take_back_at_once(out);
        while !self.is_full(out) {
            let Some(todo) = self.todo.pop_front() else {
                return;
            };
            match todo {
                Todo::Settle(run, step) => self.settle(out, run, step),
                Todo::Stop(run) => self.stop_chunk(out, run),
                Todo::Finish(run) => self.finish(out, run),
                Todo::Supersede(run, step) => self.supersede(out, run, step),
            }
        }
    }

    fn settle(&mut self, out: &mut Out, run_ix: u32, step: StepIx) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        let Some(state) = run.steps.get(step.0 as usize) else {
            return;
        };
        if !state.settling {
            return;
        }
        self.runs[run_ix].step_mut(step).settling = false;
        match self.settled(run_ix, step) {
            Some(settled) => self.emit_settled(out, run_ix, step, settled),
            // What made it end has passed: somebody who can run it has come.
            None if self.runs[run_ix].step(step).status == StepStatus::Ready => {
                self.enqueue(run_ix, step);
            }
            None => {}
        }
    }

    /// How a step has to end, if it has to.
    fn settled(&self, run_ix: u32, step: StepIx) -> Option<Settled> {
        let run = &self.runs[run_ix];
        let (state, condition) = (run.step(step), run.spec(step).condition);
        if !matches!(state.status, StepStatus::Waiting | StepStatus::Ready) {
            return None;
        }
        let backing_off = state.attempt > 1 || state.delivery > 0;
        if let (Some(cause), Condition::Success, false) = (state.cause(), condition, backing_off) {
            return Some(Settled::Blocked { cause });
        }
        if run.stops(condition) {
            return Some(match (run.cancel, run.failed) {
                (None, Some(cause)) => Settled::CancelledByFailure { cause },
                (None, None) | (Some((_, CancelReason::Asked | CancelReason::Deadline)), _) => {
                    Settled::CancelledWithRun
                }
            });
        }
        if condition == Condition::Failure && state.remaining == 0 && state.cause == NONE {
            return Some(Settled::SkippedByCondition);
        }
        self.unplaceable(run_ix, step)
    }

    fn unplaceable(&self, run_ix: u32, step: StepIx) -> Option<Settled> {
        let run = &self.runs[run_ix];
        let spec = run.plan.spec_index(step)?;
        let class = self.board.lanes[*run.lanes.get(spec as usize)?].key.class;
        if run.step(step).status != StepStatus::Ready || self.board.classes[class].workers > 0 {
            return None;
        }
        match run.options.unplaceable {
            Unplaceable::Wait => None,
            Unplaceable::Skip => Some(Settled::SkippedUnplaceable),
            Unplaceable::Fail => Some(Settled::FailedNoWorker),
        }
    }

    pub(super) fn emit_settled(
        &mut self,
        out: &mut Out,
        run_ix: u32,
        step: StepIx,
        settled: Settled,
    ) {
        let run = self.runs[run_ix].id;
        self.emit(out, Event::StepSettled { run, step, settled });
    }

    /// Ends steps of a stopped run in the order of the plan, as many as the decision has room for.
    fn stop_chunk(&mut self, out: &mut Out, run_ix: u32) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        let mut cursor = run.stop_cursor;
        let end = u32::try_from(run.steps.len()).expect("nodes are counted in 32 bits");
        while cursor < end && !self.is_full(out) {
            let step = StepIx(cursor);
            cursor += 1;
            let run = &self.runs[run_ix];
            let Some(spec) = run.plan.spec(step) else {
                continue;
            };
            let open = matches!(run.step(step).status, StepStatus::Waiting | StepStatus::Ready);
            if open && run.stops(spec.condition) {
                let settled =
                    self.settled(run_ix, step).expect("a stopped step that is open has an end");
                self.emit_settled(out, run_ix, step, settled);
            }
        }
        self.runs[run_ix].stop_cursor = cursor;
        if cursor < end {
            self.todo.push_back(Todo::Stop(run_ix));
        }
    }

    fn finish(&mut self, out: &mut Out, run_ix: u32) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        if run.open == 0 && !run.status.is_terminal() {
            let (run, status) = (run.id, run.verdict());
            self.emit(out, Event::RunEnded { run, status });
        }
    }

    /// A step stands at a lock where the newest run ends the older ones: those that wait are settled, those that run
    /// are told to stop.
    fn supersede(&mut self, out: &mut Out, run_ix: u32, step: StepIx) {
        let Some(run) = self.runs.get(run_ix) else {
            return;
        };
        if run.status.is_terminal() || run.step(step).status != StepStatus::Ready {
            return;
        }
        let (by, order) = (run.id, run.order);
        let names: Vec<Box<str>> =
            run.spec(step).locks.iter().map(|lock| lock.name.clone()).collect();
        for name in names {
            self.supersede_at(out, &name, by, order);
        }
    }

    fn supersede_at(&mut self, out: &mut Out, lock: &str, by: RunId, order: u64) {
        let Some(lock) = self.board.lock_ids.get(lock).copied() else {
            return;
        };
        let lanes = self.board.locks[lock].lanes.iter().map(|lane| &self.board.lanes[*lane]);
        let waiting = lanes.filter(|lane| lane.cancels_older()).flat_map(super::lane::Lane::iter);
        let older: Vec<(u32, StepIx)> = waiting
            .filter(|(place, _)| place.rank.order < order)
            .map(|(place, queued)| (place.run, queued.step))
            .collect();
        for (run, step) in older {
            self.emit_settled(out, run, step, Settled::Superseded { by });
        }
        for lease in self.leases.indices() {
            self.supersede_holder(out, lease, lock, order);
        }
    }

    fn supersede_holder(&mut self, out: &mut Out, lease: u32, lock: u32, order: u64) {
        let it = &self.leases[lease];
        let run = &self.runs[it.run];
        let holds = it.locks.as_deref().is_some_and(|locks| locks.contains(&lock));
        let name = &self.board.locks[lock].name;
        let yields = run
            .spec(it.step)
            .locks
            .iter()
            .any(|l| l.name == *name && l.order == crate::plan::LockOrder::CancelOlder);
        if holds && yields && run.order < order && it.stop.is_none() {
            let event = Event::StopOrdered {
                run: run.id,
                step: it.step,
                fence: it.fence,
                why: StopReason::Superseded,
            };
            self.emit(out, event);
        }
    }
}
