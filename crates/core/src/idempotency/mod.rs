//! Idempotency keys: which step holds a key, which steps wait for it, and the recorded result.
//!
//! ```text
//!             free ──KeyTaken──► pending ──Ended: succeeded──► completed ──KeyRecalled──► every later step of that key
//!              ▲                  │   ▲                                                    (its status: cached)
//!              └── any other end ─┘   └─KeyAwaited: a step that requests the key meanwhile waits
//! ```
//!
//! A key belongs to the cluster, not to a run: its record outlives the sealing of the run. The [`IdempotencyLedger`] is
//! part of the engine's state, so a restart, a standby and a snapshot have the same records. It is bounded by number,
//! bytes and age. Records beyond the bounds are forgotten, oldest first, and their steps run again.

mod idempotency_slot;
mod ledger;
mod record;

pub use ledger::{IdempotencyLedger, KEY_AGE, KEYS_BYTES_MAX, KEYS_MAX};
pub(crate) use ledger::{IdempotencyLookup, IdempotentStep};
pub use record::{IdempotencyKeyStatus, IdempotencyOrigin, IdempotencyRecord};
