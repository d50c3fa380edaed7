//! Keeps the SQL views up to date: about once per second it writes what has changed.
//!
//! ```text
//!  view ──looks of a millisecond──► WrittenViewRows ──► SqlViewsDiff (bounded) ──► SqlViews ──► pause, four times as long
//! ```
//!
//! A look holds the lock of the view, for which the leader waits. The steps of large runs are therefore looked at in
//! slices; a look in one slice is a snapshot. The leader does not need the SQL views and never notices their failures:
//! rows that could not be written are written later, or all of them anew.

mod contacts;
mod diff;
#[cfg(all(test, feature = "sqlite"))]
mod tests;
mod updater;

pub use updater::SqlViewUpdater;
