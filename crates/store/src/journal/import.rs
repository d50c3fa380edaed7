//! Import of a journal into another store, unchanged.

use std::sync::Arc;

use windlass_core::id::Term;

use super::interface::Journal;
use super::{EventBatch, Position};
use crate::db::StoreFuture;

/// A journal that can import the batches of another one. The journal must be empty, led by this process, and not read
/// before the import is complete.
pub trait JournalImport: Journal {
    /// Writes batches where they were, under the terms that wrote them.
    fn import_batches(&self, batches: Vec<Arc<EventBatch>>) -> StoreFuture<'_, ()>;

    /// Completes the import: marks events up to `pruned` as pruned, makes the next term greater than `term`, and makes
    /// the generation at least `generation`.
    fn finish_import(&self, pruned: Position, term: Term, generation: u16) -> StoreFuture<'_, ()>;

    /// Records that the batches come from a backup, so events that were acknowledged after them are lost. The next leader finds
    /// [`StoreHistory::Lost`](windlass_core::engine::StoreHistory) and needs no permission. A journal whose leaders distrust
    /// every import by themselves has nothing to record.
    fn mark_restored(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
