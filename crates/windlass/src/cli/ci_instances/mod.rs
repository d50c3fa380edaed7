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
//! | `leader_instance` | what instance 0 does beside running the pipeline: it answers letters, and leaves an epitaph |
//! | `expected_workers` | whom instance 0 waits for, whom it still expects, and who is gone |
//! | `worker_instance` | every other instance: a worker that ends with the run |
//! | `link_reachability` | whether the link is reached, so that one that stays away is told from a leader that does |
//! | `partial_retry` | what is said when a CI service has repeated only a part of the instances |

mod args;
mod expected_workers;
mod leader_instance;
mod link_reachability;
mod partial_retry;
mod worker_instance;

pub(crate) use args::{InstanceArgs, InstanceRole};
pub(crate) use leader_instance::{
    InstanceMailboxEvent, InstanceMailboxServer, LeaderInstanceOptions,
};
pub(crate) use worker_instance::{InstanceJoinOptions, WorkerInstanceOptions, work};
