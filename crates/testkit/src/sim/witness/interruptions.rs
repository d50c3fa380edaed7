//! Rules for runs that belong to a process: their interruption and resumption, and runs inside steps.

use windlass_core::engine::{AncestorStep, ParentStep, RunOwner, StepProgress, event};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::time::{Span, Time};

use super::state::{BrokenRule, SimWitness, require};

/// Runs inside each other are few.
const DEPTH_MAX: usize = 8;

impl SimWitness {
    pub(crate) fn run_status(&self, run: RunId) -> Option<RunStatus> {
        self.runs.get(&run).map(|book| book.status)
    }

    pub(crate) fn owner_of(&self, run: RunId) -> Option<RunOwner> {
        self.runs.get(&run)?.options.owner
    }

    /// Returns whether a process of the step runs now.
    pub(crate) fn is_running(&self, of: (RunId, StepIx)) -> bool {
        let is_of = |fence: &&Fence| {
            self.leases.get(*fence).is_some_and(|lease| (lease.run, lease.step) == of)
        };
        self.alive.keys().any(|fence| is_of(&fence) && self.live.contains(fence))
    }

    pub(crate) fn has_ended(&self, (run, step): (RunId, StepIx)) -> bool {
        self.runs.get(&run).is_some_and(|book| book.status(step).is_terminal())
    }

    /// Returns whether the incarnation to which a run belongs is the newest of its worker and has not ended.
    pub(super) fn owner_lives(&self, owner: RunOwner) -> bool {
        let newest = self.workers.get(&owner.worker).map(|worker| worker.incarnation);
        let ended = self.ended_incarnations.contains(&(owner.worker, owner.incarnation));
        newest == Some(owner.incarnation) && !ended
    }

    /// Checks that nothing is granted to a run that is interrupted, or whose owner has ended.
    pub(super) fn may_be_served(&self, run: RunId, fence: Fence) -> Result<(), BrokenRule> {
        let book = &self.runs[&run];
        require(book.status != RunStatus::Interrupted, "I26 interruption", || {
            format!("{fence} for run {run}, which is interrupted")
        })?;
        let is_alive = book.options.owner.is_none_or(|owner| self.owner_lives(owner));
        require(is_alive, "I25 owners", || {
            format!("{fence} for run {run}, and {:?} has ended", book.options.owner)
        })
    }

    /// Checks that the owner of the run has ended, and that nothing of the run is left that holds anything.
    pub(super) fn interrupted(&mut self, run: RunId, at: Time) -> Result<(), BrokenRule> {
        let book = self.run_mut(run)?;
        require(book.status == RunStatus::Running, "I26 interruption", || {
            format!("run {run} is {} and is interrupted", book.status)
        })?;
        let (since, owner) = (book.active_since, book.options.owner);
        let gone = owner.is_some_and(|owner| !self.owner_lives(owner));
        require(gone, "I25 owners", || format!("run {run} is interrupted, and {owner:?} lives"))?;
        let of_run = |fence: &&Fence| self.leases.get(*fence).is_some_and(|it| it.run == run);
        let open = self.live.iter().find(of_run);
        require(open.is_none(), "I26 interruption", || {
            format!("run {run} is interrupted with {open:?} open")
        })?;
        let holds = |fence: &&Fence| {
            let lease = &self.leases[*fence];
            let awake = !self.frozen.contains(&self.alive[*fence]);
            awake
                && !self.disputed.contains(*fence)
                && self.spec(lease.run, lease.step).stops_on_lost_contact()
        };
        let alive = self.alive.keys().filter(of_run).find(holds);
        require(alive.is_none(), "I26 interruption", || {
            format!("run {run} is interrupted while the process of {alive:?} runs")
        })?;
        let led = self.led_time(since, at);
        let book = self.run_mut(run)?;
        book.status = RunStatus::Interrupted;
        book.active = book.active + led;
        self.keys_left(run);
        Ok(())
    }

    /// Checks that the run continues as it was interrupted.
    pub(super) fn resumed(
        &mut self,
        at: Time,
        event: &event::RunResumed,
    ) -> Result<(), BrokenRule> {
        let order = self.runs.values().map(|book| book.order).max().unwrap_or_default() + 1;
        let book = self.run_mut(event.run)?;
        require(book.status == RunStatus::Interrupted, "I26 interruption", || {
            format!("run {} is {} and is resumed", event.run, book.status)
        })?;
        let fresh = |step| StepProgress::fresh(step);
        // Back-offs that were over when the run was interrupted, and had not been ended yet.
        let mut over = Vec::new();
        for step in book.plan.nodes().filter(|node| book.plan.has_step(*node)) {
            let known = event.progress.steps.iter().find(|it| it.step == step).cloned();
            let (recorded, state) = (known.unwrap_or_else(|| fresh(step)), book.step(step));
            let open = !state.status.is_terminal() && recorded.status == StepStatus::Waiting;
            if open && state.backing_off && recorded.backoff == Span::ZERO {
                over.push(step);
            }
            let same = open || recorded.status == state.status;
            let attempt = state.status.is_terminal() || recorded.attempt == state.attempt;
            require(same && attempt, "I27 resumption", || {
                format!(
                    "run {} {step} is {} in attempt {}, and is resumed as {recorded:?}",
                    event.run, state.status, state.attempt
                )
            })?;
        }
        (book.status, book.active_since, book.order) = (RunStatus::Running, at, order);
        book.options = event.options;
        for step in book.steps.iter_mut().filter(|step| !step.status.is_terminal()) {
            (step.since, step.passed) = (at, 0);
        }
        for step in over {
            book.steps[step.0 as usize].backing_off = false;
        }
        self.sealed.remove(&event.run);
        Ok(())
    }

    /// Checks that every holder of the lock is a step that waits for the run.
    pub(super) fn only_ancestors_hold(
        &self,
        run: RunId,
        lock: &str,
        named: Option<&AncestorStep>,
    ) -> bool {
        let ancestors = self.ancestors(run);
        let mut holders = self.live.iter().filter(|fence| self.holds(**fence, lock)).peekable();
        let known = named.is_none_or(|it| ancestors.contains(&(it.run, it.step)));
        known
            && holders.peek().is_some()
            && holders.all(|fence| {
                let lease = &self.leases[fence];
                ancestors.contains(&(lease.run, lease.step))
            })
    }

    fn ancestors(&self, run: RunId) -> Vec<(RunId, StepIx)> {
        let mut found = Vec::new();
        let parent_of = |run: RunId| self.runs.get(&run).and_then(|book| book.options.parent);
        let mut parent = parent_of(run);
        while let Some(ParentStep { run, step }) = parent.filter(|_| found.len() < DEPTH_MAX) {
            found.push((run, step));
            parent = parent_of(run);
        }
        found
    }
}
