//! Runs that an operator has condemned because the store cannot be folded with them.
//!
//! A condemned run is folded **hollow**: the engine lists it with its plan, but it has no queued steps, leases, locks
//! or timers. The list of condemned runs is an argument of the fold, read from the store before the first event
//! ([`Engine::with_condemned`]). The next leader ends each of them with events (`RunCancelled` for
//! [`CancelReason::Condemned`], then `RunEnded`), so it is reported, archived, sealed and pruned like any other run.
//!
//! *All nodes reach the same state.* A node may have folded the run before it was condemned, or may start from a
//! snapshot that contains the run. The list and the event `RunCancelled` empty the run in the same way. A hollow run
//! keeps what other runs can depend on: the fences that it was granted, the exchanges that its grants answered, its
//! keys with their records, its outputs, and how its steps ended.
//!
//! *Its grants may still run.* The engine has no lease of the run any more, so a worker that presents one is ordered to
//! kill the step. A silent worker itself ends the steps that must not outlive their lease. Therefore the takeover that
//! ends the run begins an embargo ([`store_history`](crate::engine::takeover::store_history)) for the longest possible
//! lease.

use std::collections::BTreeSet;

use crate::engine::apply::ApplyError;
use crate::engine::event::{self, CancelReason, Event, StepFollowUp};
use crate::engine::state::engine::{DeferredWork, Engine};
use crate::engine::state::run::{Run, RunEntry, RunForm, RunPresence};
use crate::id::{Fence, RunId, StepIx};
use crate::outcome::{RunStatus, StepOutput, StepStatus};
use crate::slab::RunIx;
use crate::time::Time;

impl Engine {
    /// Returns the same state with these runs condemned. It also applies to events of theirs that follow.
    #[must_use]
    pub fn with_condemned(mut self, runs: BTreeSet<RunId>) -> Self {
        let known: Vec<RunIx> =
            runs.iter().filter_map(|run| self.run_ids.get(run)).copied().collect();
        self.condemned = runs;
        for run_ix in known {
            self.empty_condemned_run(run_ix);
        }
        self
    }

    /// Returns the runs that were given as condemned.
    pub const fn condemned(&self) -> &BTreeSet<RunId> {
        &self.condemned
    }

    /// Returns whether an operator has condemned this run.
    pub fn is_condemned(&self, run: RunId) -> bool {
        let listed = self.run_ids.get(&run).is_some_and(|run| self.runs[*run].is_hollow());
        listed || self.condemned.contains(&run)
    }

    /// Returns the condemned runs that no leader has ended yet.
    pub(in crate::engine) fn condemned_runs(&self) -> Vec<RunId> {
        let runs = self.runs.iter().map(|(_, run)| run);
        let open = runs.filter(|run| {
            run.is_hollow() && !run.status.is_terminal() && !run.is_condemned_and_ended()
        });
        open.map(|run| run.id).collect()
    }

    /// Returns when the last grant of a condemned run ends, if a takeover now finds such runs. A worker in the leader's
    /// process does not begin a new incarnation before the former one has ended.
    pub(in crate::engine) fn condemned_embargo(&self) -> Option<Time> {
        let waits = self.met_others && !self.condemned_runs().is_empty();
        waits.then(|| self.embargo_from_now()).flatten()
    }

    /// Applies an event to a condemned run. Returns false if the event concerns other runs as well and is applied as
    /// usual.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "a condemned run has no leases, so most events change nothing"
    )]
    pub(in crate::engine) fn apply_condemned(&mut self, event: &Event) -> Result<bool, ApplyError> {
        let Some(run) = event.run().filter(|run| self.is_condemned(*run)) else {
            return Ok(false);
        };
        let Some(run_ix) = self.run_ids.get(&run).copied() else {
            return Ok(self.condemned_began(event));
        };
        match event {
            Event::RunCancelled(event::RunCancelled { level, reason, .. }) => {
                self.runs[run_ix].cancel = Some((*level, *reason));
                self.runs[run_ix].status = RunStatus::Cancelling;
                if *reason == CancelReason::Condemned {
                    self.cancel_condemned_run(run_ix);
                }
            }
            Event::RunInterrupted(_) => self.condemned_interrupted(run_ix),
            Event::RunResumed(event) => {
                self.remove_run(run_ix);
                self.condemned_resumed(event);
            }
            Event::RunEnded(event::RunEnded { status, .. }) => {
                self.runs[run_ix].status = *status;
                self.end_condemned_steps(run_ix);
            }
            Event::Granted(event::Granted { worker, fence, seq, .. }) => {
                let worker = self.worker_ix(*worker)?;
                self.fences = self.fences.max(fence.count());
                self.workers[worker].peer.note_grant_reply(*seq);
            }
            Event::LeaseEnded(event) => self.condemned_lease_ended(run_ix, event),
            Event::StepSettled(event::StepSettled { step, settled, .. }) => {
                self.condemned_step_ended(run_ix, *step, settled.status());
            }
            Event::KeyTaken(event::KeyTaken { step, key, .. }) => {
                self.ledger.acquire(key, (run_ix, *step), self.now);
            }
            Event::KeyAwaited(event::KeyAwaited { step, key, .. }) => {
                let again = self.ignores_key_record((run_ix, *step));
                self.ledger.enqueue(key, (run_ix, *step), again);
            }
            Event::KeyRecalled(event::KeyRecalled { step, output, .. }) => {
                self.keep_output(run_ix, *step, output);
                self.condemned_step_ended(run_ix, *step, StepStatus::Cached);
            }
            Event::RunSealed(_) | Event::Acted(_) => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    /// Lists a run that begins or continues. Returns false if the event is another one.
    fn condemned_began(&mut self, event: &Event) -> bool {
        if let Event::RunSubmitted(event) = event {
            self.condemned_submitted(event);
        } else if let Event::RunResumed(event) = event {
            self.condemned_resumed(event);
        } else {
            return false;
        }
        true
    }

    /// Lists a run without building it.
    fn condemned_submitted(&mut self, event: &event::RunSubmitted) {
        let event::RunSubmitted { run: id, plan, options, reused } = event;
        let run = Run::new((*id, self.runs_seen), plan.clone(), *options, self.now);
        let run_ix = self.list_condemned_run(run);
        for reuse in reused {
            self.keep_output(run_ix, reuse.step, &reuse.output);
            self.condemned_step_ended(run_ix, reuse.step, StepStatus::Cached);
        }
        self.normalize_condemned_run(run_ix);
    }

    fn condemned_interrupted(&mut self, run_ix: RunIx) {
        self.runs[run_ix].status = RunStatus::Interrupted;
        self.runs[run_ix].interrupted_at = self.now;
        self.withdraw_keys(run_ix);
    }

    /// Lists an interrupted run that continues, without building it.
    fn condemned_resumed(&mut self, event: &event::RunResumed) {
        let event::RunResumed { run: id, plan, options, progress } = event;
        self.take_interrupted_run(*id);
        let run = Run::new((*id, self.runs_seen), plan.clone(), *options, self.now);
        let (origin, submitted_at) = (RunEntry::Resumed, progress.submitted_at);
        let run_ix = self.list_condemned_run(Run { submitted_at, origin, ..run });
        for step in &progress.steps {
            self.fences = self.fences.max(step.fence.count());
            self.keep_output(run_ix, step.step, &step.output);
            if step.status.is_terminal() {
                self.condemned_step_ended(run_ix, step.step, step.status);
            }
        }
        self.normalize_condemned_run(run_ix);
    }

    fn list_condemned_run(&mut self, run: Run) -> RunIx {
        self.nodes += run.steps.len();
        self.plan_bytes += run.plan.bytes();
        self.runs_seen += 1;
        let id = run.id;
        let run_ix = self.runs.insert(Run { form: RunForm::Hollow, ..run });
        self.run_ids.insert(id, run_ix);
        run_ix
    }

    /// Empties a run that was built, so that the same is left as [`fold_hollow`](Self::fold_hollow) makes of its
    /// events.
    fn empty_condemned_run(&mut self, run_ix: RunIx) {
        if self.runs[run_ix].is_hollow() {
            return;
        }
        for lease in self.runs[run_ix].leases.clone() {
            self.remove_lease(lease);
        }
        self.purge_queued_steps(run_ix);
        self.leave_queues(run_ix);
        self.forget_run(run_ix);
        self.no_more_workers.remove(&self.runs[run_ix].id);
        self.runs[run_ix].form = RunForm::Hollow;
        self.normalize_condemned_run(run_ix);
    }

    /// Brings a hollow run into the form that it has on every node.
    fn normalize_condemned_run(&mut self, run_ix: RunIx) {
        let run = &mut self.runs[run_ix];
        run.presence = RunPresence::Away;
        let ended = run.status.is_terminal();
        let plan = run.plan.clone();
        for (node, state) in plan.nodes().zip(&mut run.steps) {
            // The end of a join is not an event. It follows from the cells, which a hollow run does not follow.
            let open = plan.is_join(node) || !state.status.is_terminal();
            if open {
                state.status = if ended { StepStatus::Cancelled } else { StepStatus::Waiting };
            }
            (state.settling, state.lease, state.blocker) = (false, None, None);
            (state.attempt, state.delivery, state.losses) = (1, 0, 0);
            state.remaining = 0;
            (state.since, state.fence) = (run.submitted_at, Fence::default());
        }
        let open = run.steps.iter().filter(|state| !state.status.is_terminal()).count();
        run.open = u32::try_from(open).expect("nodes are counted in 32 bits");
        (run.failed, run.withheld, run.superseded) = (None, 0, false);
        run.stop_cursor = None;
        run.spent.clear();
        run.avoid.clear();
    }

    fn keep_output(&mut self, run_ix: RunIx, step: StepIx, output: &StepOutput) {
        if *output != StepOutput::NONE && self.runs[run_ix].plan.has_step(step) {
            self.runs[run_ix].outputs.insert(step, output.clone());
        }
    }

    fn condemned_lease_ended(&mut self, run_ix: RunIx, event: &event::LeaseEnded) {
        let StepFollowUp::Done(status) = event.next else { return };
        if let Some(output) = event.outcome.passed_on() {
            self.keep_output(run_ix, event.step, &output);
        }
        self.condemned_step_ended(run_ix, event.step, status);
    }

    /// Records how a step ended, and the result for its key.
    fn condemned_step_ended(&mut self, run_ix: RunIx, step: StepIx, status: StepStatus) {
        let run = &mut self.runs[run_ix];
        if !run.plan.has_step(step) || run.step(step).status.is_terminal() {
            return;
        }
        (run.step_mut(step).status, run.step_mut(step).settling) = (status, false);
        run.open -= 1;
        self.release_key(run_ix, step);
    }

    /// Ends the steps of a condemned run. The decision that follows ends the run itself.
    pub(in crate::engine) fn cancel_condemned_run(&mut self, run_ix: RunIx) {
        self.empty_condemned_run(run_ix);
        self.end_condemned_steps(run_ix);
        if !self.runs[run_ix].status.is_terminal() {
            self.todo.push_back(DeferredWork::Finish(run_ix));
        }
    }

    fn end_condemned_steps(&mut self, run_ix: RunIx) {
        let plan = self.runs[run_ix].plan.clone();
        for node in plan.nodes() {
            if plan.has_step(node) {
                self.condemned_step_ended(run_ix, node, StepStatus::Cancelled);
            } else if !self.runs[run_ix].step(node).status.is_terminal() {
                self.runs[run_ix].step_mut(node).status = StepStatus::Cancelled;
                self.runs[run_ix].open -= 1;
            }
        }
        // The end of a step wakes the steps that wait for its key, and these may be steps of the same run.
        self.todo.retain(|todo| todo.run() != run_ix);
    }
}
