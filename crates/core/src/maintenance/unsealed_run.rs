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
    pub(super) ended: Option<RunEnd>,
    /// The position up to which the archive has its events.
    pub(super) archived: u64,
    pub(super) seal: SealState,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RunEnd {
    pub(super) at: Time,
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
        Self { first, last, steps, ended: None, archived: 0, seal: SealState::Open }
    }

    pub(super) const fn is_archived(&self) -> bool {
        self.archived >= self.last
    }

    /// Whether the leader that sealed it may have archived it before its last event.
    pub(super) fn may_lack_events(&self) -> bool {
        let archived = self.ended.map_or(0, |end| end.position).max(self.archived);
        archived < self.last
    }
}
