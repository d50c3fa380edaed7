//! The transition table of a step.

use crate::outcome::StepStatus;

/// A change of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepChange {
    /// The needs of the step are met, or its back-off is over.
    MadeReady,
    /// A worker got a lease on the step.
    Granted,
    /// The worker reported that it had started the step.
    Started,
    /// The lease ended, and the attempt is delivered again.
    HandedBack,
    /// The lease ended, and another attempt follows after a back-off.
    BackedOff,
    /// The lease ended, and the step with it.
    Ended(StepStatus),
    /// The outcome of a lease that had been given up counts: the step ends, or waits for its next attempt.
    EndedLate(StepStatus),
    /// The step ended without a lease.
    Settled(StepStatus),
    /// The outcome of the step was reused from an earlier run.
    Reused,
    /// The step had ended when its run was interrupted, and the run was resumed.
    Restored(StepStatus),
}

/// A change that is illegal in the step's status: the engine has a bug, or another engine wrote the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a step that is {status} cannot be changed by {change:?}")]
pub struct IllegalStepChange {
    /// The status of the step.
    pub status: StepStatus,
    /// The illegal change.
    pub change: StepChange,
}

/// Returns the status after a change. Each line lists a change, the statuses that allow it, and the result. No line
/// leads out of a terminal status.
pub fn next_status(
    status: StepStatus,
    change: StepChange,
) -> Result<StepStatus, IllegalStepChange> {
    use StepChange as C;
    use StepStatus as S;
    let (from, to): (&[S], S) = match change {
        C::MadeReady => (&[S::Waiting], S::Ready),
        C::Reused => (&[S::Waiting], S::Cached),
        C::Granted => (&[S::Ready], S::Leased),
        C::Started => (&[S::Leased], S::Running),
        C::HandedBack => (&[S::Leased, S::Running], S::Ready),
        C::BackedOff => (&[S::Leased, S::Running], S::Waiting),
        C::Ended(end @ (S::Succeeded | S::Failed | S::TimedOut | S::Cancelled)) => {
            (&[S::Leased, S::Running], end)
        }
        C::EndedLate(to @ (S::Succeeded | S::Failed | S::TimedOut | S::Waiting)) => {
            (&[S::Ready], to)
        }
        C::Settled(end @ (S::Skipped | S::Blocked | S::Cancelled | S::Failed)) => {
            (&[S::Waiting, S::Ready], end)
        }
        C::Restored(end) if end.is_terminal() => (&[S::Waiting], end),
        C::Ended(no_end) | C::EndedLate(no_end) | C::Settled(no_end) | C::Restored(no_end) => {
            (&[], no_end)
        }
    };
    if from.contains(&status) { Ok(to) } else { Err(IllegalStepChange { status, change }) }
}

impl StepChange {
    /// Returns every change that some status allows, for tables and tests.
    pub const ALL: [Self; 25] = [
        Self::MadeReady,
        Self::Granted,
        Self::Started,
        Self::HandedBack,
        Self::BackedOff,
        Self::Ended(StepStatus::Succeeded),
        Self::Ended(StepStatus::Failed),
        Self::Ended(StepStatus::TimedOut),
        Self::Ended(StepStatus::Cancelled),
        Self::EndedLate(StepStatus::Succeeded),
        Self::EndedLate(StepStatus::Failed),
        Self::EndedLate(StepStatus::TimedOut),
        Self::EndedLate(StepStatus::Waiting),
        Self::Settled(StepStatus::Skipped),
        Self::Settled(StepStatus::Blocked),
        Self::Settled(StepStatus::Cancelled),
        Self::Settled(StepStatus::Failed),
        Self::Reused,
        Self::Restored(StepStatus::Succeeded),
        Self::Restored(StepStatus::Failed),
        Self::Restored(StepStatus::TimedOut),
        Self::Restored(StepStatus::Cancelled),
        Self::Restored(StepStatus::Skipped),
        Self::Restored(StepStatus::Blocked),
        Self::Restored(StepStatus::Cached),
    ];

    /// Returns a short description of the change.
    pub const fn description(self) -> &'static str {
        match self {
            Self::MadeReady => "needs met, or back-off over",
            Self::Granted => "a worker got a lease",
            Self::Started => "the worker reported the start",
            Self::HandedBack => "lease ended: released, or lost with deliveries left",
            Self::BackedOff => "attempt failed, another follows after a back-off",
            Self::Ended(_) => "lease ended, and the step with it",
            Self::EndedLate(_) => "late outcome of a lost lease counts",
            Self::Settled(_) => "ended without a lease",
            Self::Reused => "outcome reused from an earlier run",
            Self::Restored(_) => "ended before its run was interrupted and resumed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_absorb_and_every_other_status_has_a_way_out() {
        for status in StepStatus::ALL {
            let ways = StepChange::ALL
                .iter()
                .filter(|change| next_status(status, **change).is_ok())
                .count();
            assert_eq!(ways == 0, status.is_terminal(), "{status}");
        }
    }

    #[test]
    fn a_running_step_cannot_be_settled_behind_its_workers_back() {
        let change = StepChange::Settled(StepStatus::Cancelled);
        let refused = next_status(StepStatus::Running, change).expect_err("a lease must end first");
        assert_eq!(refused, IllegalStepChange { status: StepStatus::Running, change });
    }
}
