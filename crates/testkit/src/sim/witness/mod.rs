//! The witness: keeps its own books and believes nothing but committed records and what processes really did.
//!
//! `records` checks each event as it is committed (`grants`, `fairness`, `endings` and `settlements` those of steps,
//! `idempotency` those of keys, `interruptions` those of runs that belong to a process). `observations` checks events at
//! workers and clients, and `final_checks` the end of a schedule. None of it shares code with the engine: where both agree and are wrong, two people have made the same mistake.

mod endings;
mod fairness;
mod final_checks;
mod grants;
mod idempotency;
mod interruptions;
mod observations;
mod records;
mod rollback;
mod run_state;
mod settlements;
mod state;

pub(crate) use records::CommittedEvent;
pub(crate) use state::{BrokenRule, SimWitness};
