//! Links: what carries session messages between the leader and its workers.
//!
//! A link is a dumb pipe. It may lose, duplicate, delay and reorder what it carries; the session at both ends repairs
//! that. [`Link`] is a worker's end of one; the leader's end of the in-process link is in
//! [`controller`](crate::controller), that of HTTP in its API. Where both can only leave letters for each other, [`post`]
//! makes a link of that: whoever writes one of their own implements [`Mailboxes`](post::Mailboxes). What steps print goes
//! by [`output`] on all of them.

#[cfg(feature = "http")]
pub mod http;
mod identity;
pub mod output;
pub mod post;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
pub mod redis;
mod seam;
mod token;
mod will;

pub use identity::{BadSecret, WorkerSecret, is_signed, number_of};
pub use seam::{Carried, Link, LinkError};
pub use token::TokenSecret;
pub use will::Will;
