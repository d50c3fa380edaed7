//! The witness: keeps its own books and believes nothing but committed records and what processes really did.
//!
//! `records` checks each event as it is committed (`grants` and `endings` those of leases, `idempotency` those of keys), `observations` what happens at
//! workers and clients, `final_checks` what must be true when everything is over. None of it shares code with the engine: where
//! both must agree, two people would have to make the same mistake.

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
