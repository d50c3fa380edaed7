//! Processes that stay: a controller, a worker that joins one, and both at once for trying things out.
//!
//! `serve` leads a store and answers its API; `worker_daemon` joins a cluster; `dev` is a controller with worker processes of its
//! own. `node_setup` has its stores and its node, `own_worker` is the worker of a controller that shares its store; `join` is how a
//! worker comes to its leader, `mailbox_service` how a controller is reached by letters. `event_log` and `worker_logging` say what goes on,
//! `unsent_output` what a worker could not send, and `shutdown_signals` hears when it is to end.

mod dev;
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
mod worker_logging;

pub(crate) use dev::{DevClusterOptions, dev, token_for_workers};
pub(crate) use join::JoinTarget;
pub(crate) use listener::TlsPaths;
pub(crate) use mailbox_service::MailboxEndpoint;
pub(crate) use serve::{OwnWorkerScope, ServeOptions, serve};
pub(crate) use token_file::read as read_token;
pub(crate) use worker_daemon::{WorkerDaemon, WorkerDaemonOptions, WorkerJoinFailure, work};
