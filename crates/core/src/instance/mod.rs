//! Runs that several processes share without a controller: which of them leads, which work, and what they leave behind.
//!
//! CI services start N processes that know their number and cannot reach each other. Number 0 leads and works, the others
//! work; they meet at a link, under a name that they all know without asking. What follows from what a process was told is
//! decided here, from values alone.

mod epitaph;
mod meeting;
mod role;

pub use epitaph::Epitaph;
pub use meeting::{Ci, Meeting};
pub use role::{Misplaced, Role, Shared, TOTAL_MAX, Told};
