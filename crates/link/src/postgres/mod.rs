//! Mailboxes in PostgreSQL: for workers that reach the cluster's database but none of its controllers.
//!
//! ```text
//!  windlass_mail_places   the bindings, one row per place
//!  windlass_mail          messages: unlogged, since a crash of the server may lose them
//! ```
//!
//! A reader polls for messages, at growing intervals. A notification only makes it poll sooner, so a notification that is
//! lost, or that a pooler does not forward, costs a little time.

mod mailbox_listener;
mod mailboxes;
mod owned_parameter;
mod statements;

pub use mailboxes::{PostgresMailboxes, open};
