//! Links: what carries session messages between the leader and its workers.
//!
//! A link may lose, duplicate, delay and reorder messages; the session at both ends repairs that. [`WorkerLink`] is
//! the worker's end of a link. The leader's ends are in the controller crate: the in-process link, the HTTP API and
//! the mailbox server. Where worker and leader share only a message broker, [`mailbox`] builds a link on it; a new
//! broker implements [`Mailboxes`](mailbox::Mailboxes). Step output travels through [`output`] on every link.

mod death_notice_config;
#[cfg(feature = "http")]
pub mod http;
pub mod mailbox;
pub mod output;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
mod worker_link;

pub use death_notice_config::DeathNoticeConfig;
pub use worker_link::{LinkError, LinkFuture, WorkerLink};
