//! Several controllers on one PostgreSQL, as real processes: one leads, the others take over.

pub(crate) mod arrange;
mod away;
pub(crate) mod cable;
mod expiring;
mod faults;
mod flapping;
mod former_workers;
mod guarded;
mod handing_over;
mod leading;
mod modes;
mod observing;
mod restored;
