//! Copies everything from one store to another: what the engine decided, runs that ended, keys, and what steps printed.
//!
//! ```text
//!  lead both ──► mark the target ──► logs, keys, runs, journal as it is ──► terms behind the source's ──► unmark
//! ```
//!
//! Whoever copies leads both meanwhile, so nobody else does. A target that is marked is nobody's store: it is refused by
//! everybody but another copy, which empties it and begins anew. The source is left as it was.

mod error;
mod store_copy;
mod transfer_store;

pub use error::TransferError;
pub use store_copy::{TransferTotals, transfer};
pub(super) use transfer_store::{refuse_unfinished, refuse_unfinished_folder};
