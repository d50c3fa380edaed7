//! Errors of stores, worded for operators.

use windlass_core::id::Term;

use super::format::STORE_FORMAT;
use crate::journal::Position;

/// An error of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The term has passed: the caller no longer leads.
    #[error("{term} has passed; the journal is led under {current}")]
    Stale {
        /// The term of the caller.
        term: Term,
        /// The newest term.
        current: Term,
    },
    /// The batch does not follow the head: the caller's state is not the journal's.
    #[error("a batch after position {after} does not follow the head, which is {head}")]
    Gap {
        /// The position that it names as its predecessor.
        after: Position,
        /// The head of the journal.
        head: Position,
    },
    /// The requested events have been pruned.
    #[error("events up to position {upto} were pruned from the journal: begin with its snapshot")]
    Pruned {
        /// The last pruned position.
        upto: Position,
    },
    /// Nothing was written because the disk is full. Writing works again when there is space.
    #[error(
        "no space left for the store {place}: free some; no data is lost, and writing resumes by itself"
    )]
    Full {
        /// The address of the store.
        place: String,
    },
    /// The store did not answer, or answered with an error. Whether the call took effect is not known.
    #[error("the store {place} does not answer: {reason}")]
    Unavailable {
        /// The address of the store.
        place: String,
        /// The error.
        reason: String,
    },
    /// The stored bytes cannot be read.
    #[error(
        "the store {place} is damaged: {reason}; restore it from a backup, or move it away to start with an empty store"
    )]
    Damaged {
        /// The address of the store.
        place: String,
        /// The damage.
        reason: String,
    },
    /// The journal has fewer events than were acknowledged, or was replaced by one of another history.
    #[error(
        "the store {place} has lost acknowledged events: it ends at position {found} and had reached \
         {recorded}, at {written}. Put the missing files back (journal.db and journal.db-wal belong together), or \
         accept the loss: start it with --accept-lost-history"
    )]
    LostHistory {
        /// The address of the store.
        place: String,
        /// The end of the journal.
        found: Position,
        /// The recorded end.
        recorded: Position,
        /// The time of the record.
        written: String,
    },
    /// The journal is missing, or ends before the data of other files beside it.
    #[error(
        "the store {place} has lost acknowledged events: the journal has no events for {trace} beside \
         it. Put the missing files back (journal.db, journal.db-wal and head belong together), or accept \
         the loss: start it with --accept-lost-history"
    )]
    MissingHistory {
        /// The address of the store.
        place: String,
        /// The file that shows it.
        trace: String,
    },
    /// A newer windlass wrote it.
    #[error(
        "the store {place} was written by a newer windlass ({content} has version {found}, this one reads versions up to \
         {known}): use that windlass, or a newer one"
    )]
    Newer {
        /// The address of the store.
        place: String,
        /// The part that has a newer version.
        content: &'static str,
        /// Its version.
        found: u32,
        /// The newest version that this windlass reads.
        known: u32,
    },
    /// The store is written in another format than this windlass reads.
    #[error(
        "the store {place} has the format {found}, and this windlass reads {STORE_FORMAT}: open it with the windlass \
         that wrote it, or name another store with --store"
    )]
    OtherFormat {
        /// The address of the store.
        place: String,
        /// The name of its format.
        found: String,
    },
    /// The store cannot be opened: permissions, a missing folder, not a journal.
    #[error("the store {place} cannot be opened: {reason}")]
    Unusable {
        /// The address of the store.
        place: String,
        /// The reason.
        reason: String,
    },
}

impl StoreError {
    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Full { .. } | Self::Unavailable { .. } => true,
            Self::Stale { .. }
            | Self::Gap { .. }
            | Self::Pruned { .. }
            | Self::Damaged { .. }
            | Self::LostHistory { .. }
            | Self::MissingHistory { .. }
            | Self::Newer { .. }
            | Self::OtherFormat { .. }
            | Self::Unusable { .. } => false,
        }
    }

    /// Whether the call may have taken effect.
    pub const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}
