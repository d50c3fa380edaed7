//! The leader's end of links through mailboxes.
//!
//! ```text
//!  mailboxes ──receive──► Desk ──► answering (a task each, bounded) ──► Handle, Intake
//!            ◄───send──── outbox (what gathers while one batch leaves) ◄──┘
//!            ◄───keep──── binding, four times a term
//! ```
//!
//! A [`Desk`] is bound to its place before it answers, and ends when it is told to, when another was bound, when the place
//! has lost what it held, or when it could not renew its binding for nearly a term: another leader may be bound then. An
//! exchange that the leader keeps costs a task that waits, as a connection does over HTTP.

mod binding;
mod outbox;
mod responder;
mod seen_requests;
mod server;

pub use binding::{MailboxServerError, MailboxServerOptions};
pub use server::{LeaderFinalStatus, MailboxServer};
