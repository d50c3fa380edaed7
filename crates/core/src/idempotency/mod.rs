//! What is done once under a key: who does it, who waits for that, and what came of it.
//!
//! ```text
//!             free ──KeyTaken──► pending ──Ended: succeeded──► completed ──KeyRecalled──► every later step of that key
//!              ▲                  │   ▲                                                    (its status: cached)
//!              └── any other end ─┘   └─KeyAwaited: a step that wants the key meanwhile stands in line
//! ```
//!
//! A key belongs to the cluster, not to a run: runs come and go, and what is on record outlives their sealing. The
//! [`IdempotencyLedger`] is part of the engine's state, so a restart, a standby and a snapshot know the same; it has bounds in
//! number, bytes and age, and what goes beyond them is forgotten, oldest first. What was forgotten is done again.

mod ledger;
mod record;

pub use ledger::{IdempotencyLedger, KEY_AGE, KEYS_BYTES_MAX, KEYS_MAX};
pub(crate) use ledger::{IdempotencyLookup, IdempotentStep};
pub use record::{IdempotencyKeyStatus, IdempotencyOrigin, IdempotencyRecord};
