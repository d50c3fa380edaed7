//! A run whose events the journal has to keep.

use crate::time::Time;

/// A run whose events the journal has to keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnsealedRun {
    /// The position of its submission, or of its resumption if it was sealed before.
    pub(super) first: u64,
    /// The position of its last event.
    pub(super) last: u64,
    pub(super) steps: u32,
    pub(super) origin: HistoryOrigin,
    pub(super) ended: Option<RunEnd>,
    /// The position up to which the archive has its events.
    pub(super) archived: u64,
    pub(super) seal: SealState,
}

/// Whether the run was resumed since its submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryOrigin {
    Submission,
    Resumption,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RunEnd {
    pub(super) at: Time,
    /// The position at which it could be sealed first: of its interruption, if it ended after one.
    pub(super) position: u64,
}

/// The progress of sealing a run in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SealState {
    Open,
    /// The leader has answered that it is sealed; the event has not been learnt yet.
    Answered,
    /// The event has been learnt, and the archive may lack events that came before it.
    Sealed,
}

impl UnsealedRun {
    /// A run whose first event in the journal is at this position.
    pub(super) const fn begin(position: u64, steps: u32) -> Self {
        let (first, last) = (position, position);
        let (origin, seal) = (HistoryOrigin::Submission, SealState::Open);
        Self { first, last, steps, origin, ended: None, archived: 0, seal }
    }

    pub(super) const fn is_archived(&self) -> bool {
        self.archived >= self.last
    }

    /// Whether the leader that sealed it may have archived it before its last event. The request to seal a run may be older
    /// than its resumption, and take effect at its next interruption.
    pub(super) fn may_lack_events(&self) -> bool {
        let known = match self.origin {
            HistoryOrigin::Submission => self.ended.map_or(0, |end| end.position),
            HistoryOrigin::Resumption => 0,
        };
        known.max(self.archived) < self.last
    }
}
