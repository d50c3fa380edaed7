//! Runs: those that are not sealed are read from the node's view and histories, sealed ones from the archive.
//!
//! | file | what it answers |
//! |---|---|
//! | `submit` | a pipeline becomes a run |
//! | `rerun` | a run becomes another, of the same plan |
//! | `list`, `show` | runs, the newest first; one with its steps, and its end |
//! | `steps` | steps, and all about one |
//! | `events` | what happened, as it happens |
//! | `why` | why a step stands where it stands |
//! | `logs`, `range`, `search` | what steps print, as they print it; parts of it; lines with a text |
//! | `summaries` | what steps wrote for people |
//! | `pages` | the way from one page of a list to the next |
//! | `lookup` | which run is meant, and where its events are |

mod events;
mod list;
mod logs;
pub(super) mod lookup;
mod pages;
mod range;
mod rerun;
mod search;
mod show;
mod steps;
mod submit;
mod summaries;
mod why;

pub(super) use events::events;
pub(super) use list::list;
pub(super) use logs::{log, logs};
pub(super) use rerun::rerun;
pub(super) use search::search;
pub(super) use show::{cancel, show};
pub(super) use steps::{step, steps};
pub(super) use submit::submit;
pub(super) use summaries::summaries;
pub(super) use why::why;
