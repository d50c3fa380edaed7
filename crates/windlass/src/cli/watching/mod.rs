//! A run that others do, on the same screen as one that is done here.
//!
//! | file | what it does |
//! |---|---|
//! | `attached` | the loop: events and output to the screen, wishes of whoever watches |
//! | `feed` | what happens to the run, whether its controller is there or comes back |
//! | `ears` | what its steps print |

mod attached;
mod ears;
mod feed;

pub(crate) use attached::{Attached, Prints};
