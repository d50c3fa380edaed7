//! Rules on how leases and steps end, and what follows.

use windlass_core::engine::{
    StepFollowUp, StepSettlement, UNCONFIRMED_DELIVERIES_MAX, UnplaceablePolicy, event,
};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::{OutcomeKind, StepStatus};
use windlass_core::plan::ValueCondition;
use windlass_core::time::Time;

use super::state::{BrokenRule, SimWitness, WitnessStep, require};
use crate::sim::coverage_marks::CoverageMarks;

/// What decides whether the end of a lease counts as a loss of its step.
#[derive(Clone, Copy)]
struct LossCharge {
    /// True if its worker may have begun: it got the grant, or the engine has waited long enough for a report of it.
    due: bool,
    /// The number of losses that the step may have.
    most: u16,
}

impl SimWitness {
    pub(super) fn ended(
        &mut self,
        at: Time,
        event: &event::LeaseEnded,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let event::LeaseEnded { run, step, fence, outcome, next, ended } = event;
        let (run, step, fence, kind) = (*run, *step, *fence, outcome.kind);
        self.lease_mut(fence)?;
        require(self.runs[&run].step(step).lease == Some(fence), "I2 fence", || {
            format!("{fence} is not the newest")
        })?;
        if ended.is_reported() {
            let reported = self.reports.get(&fence).is_some_and(|kinds| kinds.contains(&kind));
            require(reported, "I2 fence", || {
                format!("{fence} ended as {kind}, which its holder never reported")
            })?;
        } else if kind == OutcomeKind::Lost {
            self.given_up(run, step, fence)?;
            marks.hit("lease expired");
        }
        if kind == OutcomeKind::Released {
            let started = self.started.contains(&fence);
            require(!started, "I4 one lease", || {
                format!("{fence} was returned as never started and had been started")
            })?;
            marks.hit("lease asked back and released");
        }
        self.live.remove(&fence);
        let lease = self.leases.get_mut(&fence).expect("looked at just now");
        lease.end = Some((*ended, kind));
        let state = self.step_mut(run, step)?;
        (state.lease, state.since) = (None, at);
        self.follows((fence, kind), *next, marks)?;
        if matches!(next, StepFollowUp::Done(_)) { self.node_ended(run, step, at) } else { Ok(()) }
    }

    /// Checks a lease that was given up and has an outcome after all. This is correct only while its step waits to be
    /// dispatched again, and has no newer lease.
    pub(super) fn ended_late(
        &mut self,
        at: Time,
        event: &event::LeaseEnded,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let event::LeaseEnded { run, step, fence, outcome, next, ended } = event;
        let (run, step, fence, kind) = (*run, *step, *fence, outcome.kind);
        let given_up = self.leases.get(&fence).is_some_and(|lease| {
            (lease.run, lease.step) == (run, step) && lease.end.is_some() && !lease.is_accepted()
        });
        require(given_up, "I1 single accept", || format!("{fence} was not given up"))?;
        let begins = self.runs[&run].lets_begin(self.spec(run, step).condition);
        let state = self.runs[&run].step(step);
        require(state.newest == Some(fence) && state.lease.is_none(), "I2 fence", || {
            format!("{fence} counts late, and {:?} was granted since", state.newest)
        })?;
        let waits = !state.status.is_terminal() && !state.backing_off && begins;
        require(waits, "I10 state machine", || format!("{fence} counts late: {}", state.status))?;
        let said = self.reports.get(&fence).is_some_and(|kinds| kinds.contains(&kind));
        let decides =
            matches!(kind, OutcomeKind::Succeeded | OutcomeKind::Failed | OutcomeKind::TimedOut);
        let follows = matches!(next, StepFollowUp::Done(_) | StepFollowUp::Retry { .. });
        require(said && decides && follows, "I2 fence", || {
            format!("{fence} ended late as {kind}, and {next:?} follows")
        })?;
        marks.hit("late outcome counted");
        let lease = self.leases.get_mut(&fence).expect("looked at just now");
        lease.end = Some((*ended, kind));
        self.step_mut(run, step)?.since = at;
        self.follows((fence, kind), *next, marks)?;
        if matches!(next, StepFollowUp::Done(_)) { self.node_ended(run, step, at) } else { Ok(()) }
    }

    /// Checks what follows for the step.
    fn follows(
        &mut self,
        (fence, kind): (Fence, OutcomeKind),
        next: StepFollowUp,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let charge = self.charge_of(fence);
        let (run, step) = (self.leases[&fence].run, self.leases[&fence].step);
        let state = self.step_mut(run, step)?;
        match next {
            StepFollowUp::Again { charged: true } => {
                marks.hit("delivery charged");
                state.charge(fence, charge)
            }
            StepFollowUp::Again { charged: false } => {
                marks.hit("delivery free of charge");
                state.redispatch(fence, kind, charge)
            }
            StepFollowUp::Retry { .. } => {
                marks.hit("attempt tried again");
                state.try_again();
                Ok(())
            }
            StepFollowUp::Done(status) => {
                state.done(fence, status)?;
                if kind == OutcomeKind::Lost && status == StepStatus::Failed {
                    marks.hit("deliveries exhausted");
                    state.lost_for_good(fence, charge)?;
                }
                Ok(())
            }
        }
    }

    /// Checks a lease that was given up: if its step must not outlive it, no process of it may be alive.
    fn given_up(&self, run: RunId, step: StepIx, fence: Fence) -> Result<(), BrokenRule> {
        let strict = self.spec(run, step).stops_on_lost_contact();
        let alive = self.alive.get(&fence).is_some_and(|worker| !self.frozen.contains(worker));
        require(!strict || !alive || self.disputed.contains(&fence), "I12 self-fence", || {
            format!("{fence} was given up while its process runs")
        })
    }

    fn charge_of(&self, fence: Fence) -> LossCharge {
        let lease = &self.leases[&fence];
        LossCharge {
            due: self.deliveries.contains(&fence) || lease.delivery > UNCONFIRMED_DELIVERIES_MAX,
            most: self.spec(lease.run, lease.step).retry.lost,
        }
    }

    pub(super) fn settled(
        &mut self,
        (run, step): (RunId, StepIx),
        settled: &StepSettlement,
        at: Time,
    ) -> Result<(), BrokenRule> {
        let state = self.run_mut(run)?.step(step);
        let free = !state.status.is_terminal() && state.lease.is_none();
        require(free, "I10 state machine", || {
            format!("run {run} {step} is {} and settled {settled:?}", state.status)
        })?;
        self.has_reason((run, step), settled, at)?;
        self.step_mut(run, step)?.status = settled.status();
        if matches!(settled, StepSettlement::Withheld { .. } | StepSettlement::SkippedUnplaceable) {
            self.run_mut(run)?.idle.insert(step);
        }
        self.node_ended(run, step, at)
    }

    /// Checks that the reason for which a step was settled is true.
    fn has_reason(
        &self,
        (run, step): (RunId, StepIx),
        settled: &StepSettlement,
        at: Time,
    ) -> Result<(), BrokenRule> {
        let book = &self.runs[&run];
        match settled {
            StepSettlement::Blocked { cause } => {
                require(book.need_failed(step) && book.fails(*cause), "I5 dependency", || {
                    format!("run {run} {step} is blocked by nothing")
                })?;
            }
            StepSettlement::Withheld { cause } => {
                let could_not = book.need_could_not_run(step) && book.could_not_run(*cause);
                require(could_not, "I5 dependency", || {
                    format!("run {run} {step} is withheld and its needs could run")
                })?;
            }
            StepSettlement::CancelledByFailure { .. } => {
                require(book.failed, "I5 dependency", || {
                    format!("run {run} {step}: nothing failed")
                })?;
            }
            StepSettlement::CancelledWithRun => {
                require(book.cancel.is_some(), "I15 cancel", || {
                    format!("run {run} {step}: nothing cancelled it")
                })?;
            }
            StepSettlement::SkippedByValues { .. } | StepSettlement::FailedCondition { .. } => {
                let asks =
                    book.plan.spec(step).is_some_and(|spec| spec.when != ValueCondition::Holds);
                require(asks, "I5 dependency", || format!("run {run} {step} asked for nothing"))?;
            }
            StepSettlement::FailedNoWorker
                if book.options.unplaceable == UnplaceablePolicy::Wait =>
            {
                self.has_waited_for_worker((run, step), at)?;
            }
            StepSettlement::SkippedByCondition
            | StepSettlement::FailedNoWorker
            | StepSettlement::Superseded { .. }
            | StepSettlement::SkippedUnplaceable
            | StepSettlement::FailedNoLock
            | StepSettlement::FailedTooLarge { .. }
            | StepSettlement::FailedKey { .. }
            | StepSettlement::FailedNoKey { .. } => {}
        }
        Ok(())
    }

    /// Checks that a step fails without a worker only after `wait_for_worker`, counted while a leader led.
    fn has_waited_for_worker(
        &self,
        (run, step): (RunId, StepIx),
        at: Time,
    ) -> Result<(), BrokenRule> {
        let led = self.led_time(self.runs[&run].step(step).since, at);
        let waited = led >= self.spec(run, step).wait_for_worker;
        require(waited, "L5 deadlines", || {
            format!("run {run} {step} failed after {led} under a leader without a worker")
        })
    }

    /// Records that dependents whose last open need has ended are ready since now.
    pub(super) fn node_ended(
        &mut self,
        run: RunId,
        node: StepIx,
        at: Time,
    ) -> Result<(), BrokenRule> {
        self.key_left((run, node));
        let book = self.run_mut(run)?;
        let failed = matches!(book.step(node).status, StepStatus::Failed | StepStatus::TimedOut);
        book.failed |= failed && book.fails(node);
        let plan = book.plan.clone();
        let mut ended = vec![node];
        while let Some(node) = ended.pop() {
            for dependent in plan.dependents(node).iter().map(|edge| edge.step()) {
                book.steps[dependent.0 as usize].since = at;
                if plan.is_join(dependent) && book.status(dependent).is_terminal() {
                    ended.push(dependent);
                }
            }
        }
        Ok(())
    }
}

impl WitnessStep {
    fn charge(&mut self, fence: Fence, charge: LossCharge) -> Result<(), BrokenRule> {
        require(charge.due, "I8 attempts", || {
            format!("{fence} is charged and never reached its worker")
        })?;
        self.charged += 1;
        self.status = StepStatus::Ready;
        let charged = self.charged;
        require(charged <= charge.most, "I8 attempts", || format!("{fence}: {charged} losses"))
    }

    fn redispatch(
        &mut self,
        fence: Fence,
        kind: OutcomeKind,
        charge: LossCharge,
    ) -> Result<(), BrokenRule> {
        self.status = StepStatus::Ready;
        let once_only = charge.most == 0 && kind != OutcomeKind::Released;
        require(!once_only, "I8 attempts", || {
            format!("{fence} may have started and is dispatched again")
        })
    }

    fn try_again(&mut self) {
        self.status = StepStatus::Waiting;
        self.backing_off = true;
        self.attempt += 1;
        self.charged = 0;
    }

    fn lost_for_good(&self, fence: Fence, charge: LossCharge) -> Result<(), BrokenRule> {
        let (charged, most) = (self.charged, charge.most);
        require(charged >= most, "I8 attempts", || {
            format!("{fence} is lost for good after {charged} of {most} losses")
        })
    }

    fn done(&mut self, fence: Fence, status: StepStatus) -> Result<(), BrokenRule> {
        self.accepted += 1;
        self.status = status;
        let accepted = self.accepted;
        require(accepted == 1, "I1 single accept", || {
            format!("{fence} makes {accepted} outcomes of its step")
        })
    }
}
