//! A run of another process, on the same screen as a local run.
//!
//! | file | contents |
//! |---|---|
//! | `watch_loop` | the loop: events and output to the screen, requests of the user |
//! | `event_feed` | the events of the run, across outages of its controller |
//! | `log_followers` | the output of its steps |

mod event_feed;
mod log_followers;
mod watch_loop;

pub(crate) use watch_loop::{RemoteWatch, WatchOutput};
