//! Runs: those that are not sealed are read from the node's view and histories, sealed ones from the archive.
//!
//! | file | what it answers |
//! |---|---|
//! | `submit` | a pipeline becomes a run |
//! | `list`, `show` | runs, the newest first; one with its steps, and its end |
//! | `events` | what happened, as it happens |
//! | `why` | why a step stands where it stands |
//! | `logs` | what steps print, as they print it |
//! | `lookup` | which run is meant, and where its events are |

mod events;
mod list;
mod logs;
pub(super) mod lookup;
mod show;
mod submit;
mod why;

pub(super) use events::events;
pub(super) use list::list;
pub(super) use logs::{log, logs};
pub(super) use show::{cancel, show};
pub(super) use submit::submit;
pub(super) use why::why;
