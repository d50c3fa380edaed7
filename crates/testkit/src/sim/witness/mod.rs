//! The witness: keeps its own books and believes nothing but committed records and what processes really did.
//!
//! `records` checks each event as it is committed (`grants` and `endings` those of leases, `once` those of keys), `truth` what happens at
//! workers and clients, `last` what must be true when everything is over. None of it shares code with the engine: where
//! both must agree, two people would have to make the same mistake.

mod books;
mod endings;
mod grants;
mod last;
mod once;
mod records;
mod rollback;
mod truth;

pub(crate) use books::{Broken, Witness};
pub(crate) use records::Committed;
