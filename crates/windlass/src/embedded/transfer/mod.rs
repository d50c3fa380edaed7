//! Copies everything from one store to another: events, ended runs, idempotency keys, the output of steps, and objects.
//!
//! ```text
//!  lead the target ──► mark it ──► journal up to its end, objects, runs, keys, logs ──► continue terms and generations ──► unmark
//! ```
//!
//! The copying process leads the target, so no other process can. A marked target is refused by every command except
//! another copy, which empties it and starts again. The source is not changed.
//!
//! `store copy` leads the source too, so that it stands still. A backup reads a source in use: it takes the end of the journal
//! first, and leaves out what came later. A restore copies a backup.
//!
//! | file | content |
//! |---|---|
//! | `store_copy` | a copy from its beginning to its end |
//! | `transfer_store` | one of the two stores: open, led, marked, emptied |
//! | `transfer_pair` | the parts of a copy |
//! | `journal_prefix`, `late_grants` | the journal up to its end; what was granted later |
//! | `store_check` | reads everything that a copy would read |
//! | `store_size` | the space that a copy takes |
//! | `object_copy` | objects, which a sweep may want to remove meanwhile |

mod error;
mod journal_prefix;
mod late_grants;
mod object_copy;
mod store_check;
mod store_copy;
mod store_size;
mod transfer_pair;
mod transfer_store;

pub use error::TransferError;
pub use store_check::{StoreCheck, check_store};
pub(in crate::embedded) use store_copy::{TransferCommand, transfer_now};
pub use store_copy::{TransferTotals, transfer};
pub(in crate::embedded) use store_size::StoreSize;
pub(super) use transfer_store::{refuse_unfinished, refuse_unfinished_folder};
