//! Keeps the tables: about once a second, what changed since the last look.
//!
//! ```text
//!  Views ──looks of a millisecond──► Shadow: what the tables hold ──► Diff (bounded) ──► Tables ──► rest, four times as long
//! ```
//!
//! A look holds the view's lock, for which the leader waits; so the steps of large runs are looked at in slices, and a
//! look that is done in one slice is a snapshot. Nothing here is needed by the leader, and nothing that goes wrong here
//! reaches it: what could not be written is written later, or all of it anew.

mod contacts;
mod diff;
#[cfg(all(test, feature = "sqlite"))]
mod tests;
mod updater;

pub use updater::SqlViewUpdater;
