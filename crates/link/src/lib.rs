//! Links: what carries session messages between the leader and its workers.
//!
//! A link is a dumb pipe. It may lose, duplicate, delay and reorder what it carries; the session at both ends repairs
//! that. [`Link`] is a worker's end of one; the leader's end of the in-process link is in
//! [`controller`](windlass_controller), that of HTTP in its API. Where both can only leave letters for each other, [`mailbox`]
//! makes a link of that: whoever writes one of their own implements [`Mailboxes`](post::Mailboxes). What steps print goes
//! by [`output`] on all of them.

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
