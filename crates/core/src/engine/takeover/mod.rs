//! The assumptions of a new leader about the time and the history before its term.

pub(crate) mod clock_jump;
pub(crate) mod leader_absence;
pub(crate) mod store_history;
pub(crate) mod takeover_gap;
