//! Instances of one run: processes that cannot reach each other and exchange messages through a link.
//!
//! ```text
//! instance 0:  EmbeddedNode (leads, works) ── MailboxServer ──┐
//! instance 1:  Worker ── MailboxWorkerLink ───────────────────┤  the link
//! instance 2:  Worker ── MailboxWorkerLink ───────────────────┘
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `args` | flags and variables, and the role that follows from them |
//! | `leader_instance` | instance 0 besides running the pipeline: answers messages and leaves a final status |
//! | `expected_workers` | the instances that instance 0 waits for, still expects, or has lost |
//! | `worker_instance` | every other instance: a worker that ends with the run |
//! | `link_reachability` | distinguishes a link that is unreachable from a leader that is gone |
//! | `partial_retry` | the explanation when a CI service repeated only some of the instances |

mod args;
mod expected_workers;
mod instance_join;
mod instance_settings;
mod leader_instance;
mod link_reachability;
mod partial_retry;
mod worker_instance;

pub(crate) use args::{InstanceArgs, InstanceRole};
pub(crate) use instance_join::InstanceJoinOptions;
pub(crate) use leader_instance::{
    InstanceMailboxEvent, InstanceMailboxServer, LeaderInstanceOptions,
};
pub(crate) use worker_instance::{WorkerInstanceOptions, work};
