//! Instances of one run: processes that cannot reach each other and meet at a link.
//!
//! ```text
//!  instance 0:  Station (leads, works) ── Desk ──┐
//!  instance 1:  Worker ── PostLink ──────────────┤  the link
//!  instance 2:  Worker ── PostLink ──────────────┘
//! ```
//!
//! | file | what it does |
//! |---|---|
//! | `args` | what was said by flags and variables, and the part that follows from it |
//! | `leading` | what instance 0 does beside running the pipeline: it answers letters, and leaves an epitaph |
//! | `gathering` | whom instance 0 waits for, whom it still expects, and who is gone |
//! | `working` | every other instance: a worker that ends with the run |
//! | `contact` | whether the link is reached, so that one that stays away is told from a leader that does |
//! | `again` | what is said when a CI service has repeated only a part of the instances |

mod again;
mod args;
mod contact;
mod gathering;
mod leading;
mod working;

pub(crate) use args::{InstanceArgs, Part};
pub(crate) use leading::{Leading, Post, PostNews};
pub(crate) use working::{Meets, Working, work};
