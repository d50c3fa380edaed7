//! A run that others do, on the same screen as one that is done here.
//!
//! | file | what it does |
//! |---|---|
//! | `watch_loop` | the loop: events and output to the screen, wishes of whoever watches |
//! | `event_feed` | what happens to the run, whether its controller is there or comes back |
//! | `log_followers` | what its steps print |

mod event_feed;
mod log_followers;
mod watch_loop;

pub(crate) use watch_loop::{RemoteWatch, WatchOutput};
