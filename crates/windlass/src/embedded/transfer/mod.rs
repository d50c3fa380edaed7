//! Copies everything from one store to another: events, ended runs, idempotency keys, and the output of steps.
//!
//! ```text
//!  lead both ──► mark the target ──► logs, keys, runs, journal ──► terms continue after the source's ──► unmark
//! ```
//!
//! The copying process leads both stores, so no other process can. A marked target is refused by every command except
//! another copy, which empties it and starts again. The source is not changed.

mod error;
mod store_copy;
mod transfer_store;

pub use error::TransferError;
pub use store_copy::{TransferTotals, transfer};
pub(super) use transfer_store::{refuse_unfinished, refuse_unfinished_folder};
