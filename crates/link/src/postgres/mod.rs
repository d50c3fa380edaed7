//! Mailboxes in PostgreSQL: for workers of a cluster that reach its database, and none of its controllers.
//!
//! ```text
//!  windlass_mail_places   who is bound, a row for each place
//!  windlass_mail          letters: unlogged, as a crash of the server may lose them
//! ```
//!
//! A letter is there when it is found: whoever waits looks again and again, ever less often. A notification only has it
//! look sooner. One that is lost, or that a pooler between does not pass on, costs a little time.

mod mailbox_listener;
mod mailboxes;
mod statements;

pub use mailboxes::{PostgresMailboxes, open};
