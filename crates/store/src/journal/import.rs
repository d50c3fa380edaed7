//! Moving a journal into another store, as it is.

use std::sync::Arc;

use windlass_core::id::Term;

use super::interface::Journal;
use super::{EventBatch, Position};
use crate::db::StoreFuture;

/// A journal that can take over what another one has. Only for one that is empty, that this process leads, and that nobody
/// reads until it is done.
pub trait JournalImport: Journal {
    /// Writes batches where they were, under the terms that wrote them.
    fn import_batches(&self, batches: Vec<Arc<EventBatch>>) -> StoreFuture<'_, ()>;

    /// Ends it: events up to `pruned` have left, the next term is behind `term`, and the generation is this one or a later
    /// one.
    fn finish_import(&self, pruned: Position, term: Term, generation: u16) -> StoreFuture<'_, ()>;
}
