//! Rules on how leases end, and what follows for their steps.

use windlass_core::engine::{StepFollowUp, UNCONFIRMED_DELIVERIES_MAX, event};
use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::outcome::{OutcomeKind, StepStatus};
use windlass_core::time::Time;

use super::run_state::WitnessStep;
use super::state::{BrokenRule, SimWitness, require};
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
