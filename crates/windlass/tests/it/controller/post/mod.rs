//! Leaders and workers that leave letters for each other, in virtual time.

mod crew;
mod proofs;
mod stories;
mod storms;
