//! Long-running processes: a controller, a worker, and both at once for trials.
//!
//! `serve` leads a store and answers its API; `worker_daemon` joins a cluster; `dev` is a controller with worker
//! processes of its own. `node_setup` opens the stores and the node. `own_worker` is the worker of a controller with a
//! shared store; `cluster_worker` assembles it and that of `worker_daemon`. `join` connects a worker to its leader, and `mailbox_service` accepts workers through mailboxes.
//! `event_log` and `worker_logging` write log lines, `unsent_output` reports output that a worker could not send, and
//! `shutdown_signals` receives signals.

mod cluster_worker;
mod dev;
#[cfg(feature = "postgres")]
mod discovered_objects;
#[cfg(feature = "postgres")]
mod discovery;
mod event_log;
mod guard_setup;
mod join;
mod listener;
mod mailbox_service;
mod node_setup;
mod own_worker;
mod serve;
mod shutdown_signals;
mod token_file;
mod unsent_output;
mod wait_for_store;
mod worker_daemon;
mod worker_join_failure;
mod worker_link_logging;
mod worker_logging;

pub(crate) use dev::{DevClusterOptions, dev, token_for_workers};
pub(crate) use join::JoinTarget;
pub(crate) use listener::TlsPaths;
pub(crate) use mailbox_service::MailboxEndpoint;
pub(crate) use serve::{ServeOptions, serve};
pub(crate) use token_file::read as read_token;
pub(crate) use worker_daemon::{WorkerDaemon, WorkerDaemonOptions, work};
pub(crate) use worker_join_failure::WorkerJoinFailure;
