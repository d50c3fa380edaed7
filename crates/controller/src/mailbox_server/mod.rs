//! The leader's end of links over mailboxes.
//!
//! ```text
//!  mailboxes ──receive──► MailboxServer ──► responder (a task each, bounded) ──► NodeHandle, LogIngest
//!            ◄───send──── outbox (the next batch gathers while one is sent) ◄──┘
//!            ◄──renew──── binding, four times per duration
//! ```
//!
//! A [`MailboxServer`] binds its place before it answers. It ends at shutdown, when another leader is bound, when the
//! broker has lost its data, or when the binding was not renewed for nearly its whole duration: another leader may be
//! bound then. An exchange that waits for news costs a waiting task, like a connection over HTTP.

mod binding;
mod outbox;
mod responder;
mod seen_requests;
mod server;

pub use binding::{MailboxServerError, MailboxServerOptions};
pub use server::{LeaderFinalStatus, MailboxServer};
