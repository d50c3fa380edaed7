//! The part of a journal that is copied.

use windlass_core::id::Term;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, JournalLeadership, JournalSnapshot, Position};

/// A journal up to a position. Its events do not change, so reads at different times agree; only pruning can remove some, which
/// the reader notices.
#[derive(Debug)]
pub(super) struct JournalPrefix {
    /// The position of the last event.
    pub(super) end: Position,
    /// The newest snapshot at or before the position.
    pub(super) snapshot: Option<JournalSnapshot>,
    /// The leadership, if the copying process leads the journal, so that it cannot grow.
    pub(super) led: Option<JournalLeadership>,
}

impl JournalPrefix {
    /// Takes all that a journal has now.
    pub(super) async fn of(
        journal: &dyn Journal,
        led: Option<JournalLeadership>,
    ) -> Result<Self, StoreError> {
        // The snapshot first, so that it is not ahead of the position.
        let snapshot = journal.snapshot().await?;
        Ok(Self { end: journal.head().await?, snapshot, led })
    }

    /// Returns the term and the generation after which the copy continues, if the last batch was written under this term.
    pub(super) fn continued(&self, last: Term) -> (Term, u16) {
        self.led.map_or((last, 0), |led| (led.term, led.generation))
    }
}
