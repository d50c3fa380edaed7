//! Moving a journal into another store, as it is.

use windlass_core::id::Term;

use super::seam::{Journal, Position, Stored};
use crate::store::Promise;

/// A journal that can take over what another one has. Only for one that is empty, that this process leads, and that nobody
/// reads until it is done.
pub trait Transplant: Journal {
    /// Writes batches where they were, under the terms that wrote them.
    fn plant(&self, batches: Vec<Stored>) -> Promise<'_, ()>;

    /// Ends it: events up to `pruned` have left, the next term is behind `term`, and the generation is this one or a later
    /// one.
    fn root(&self, pruned: Position, term: Term, generation: u16) -> Promise<'_, ()>;
}
