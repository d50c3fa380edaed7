//! The witness: keeps its own books and believes nothing but committed records and what processes really did.
//!
//! `records` checks each event as it is committed (`grants` and `endings` those of leases, `idempotency` those of
//! keys). `observations` checks events at workers and clients, and `final_checks` the end of a schedule. None of it
//! shares code with the engine: where both agree and are wrong, two people have made the same mistake.

mod endings;
mod final_checks;
mod grants;
mod idempotency;
mod observations;
mod records;
mod rollback;
mod state;

pub(crate) use records::CommittedEvent;
pub(crate) use state::{BrokenRule, SimWitness};
