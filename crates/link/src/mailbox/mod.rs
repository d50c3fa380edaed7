//! Links through mailboxes: for leaders and workers that cannot reach each other, and both reach something else.
//!
//! ```text
//!  worker ── Ask ──► [leader's mailbox] ──► leader      by way of Redis, PostgreSQL, a folder, anything
//!         ◄── Answer ── [its own mailbox] ◄──            that keeps bytes for somebody
//! ```
//!
//! [`Mailboxes`] is all that such a link has to be; the rest is here, once for all of them. Who leads *binds* the place,
//! under an [`BindingEpoch`] that never repeats, and keeps the binding alive. A worker draws the number of its own mailbox by
//! chance, asks, and repeats what is not answered; the [envelope] of each letter says who leads, which question it is, and
//! proves by the run's secret that its writer may say so; a question is also signed by the worker that asks it. What one letter
//! cannot hold comes in several. Exchanges are not repeated here: the session does that, and
//! better. The leader's end is in [`controller::post`](windlass_controller::post).
//!
//! A leader that ends because everything is done leaves an *epitaph*; who comes later reads it and need not wait. Where
//! the place has forgotten which epoch it had, it has lost its letters too, and nobody goes on with it.
//!
//! [envelope]: Envelope

#[cfg(feature = "conformance")]
mod check_difference;
mod death_notice;
mod envelope;
mod mailbox_reader;
mod mailboxes;
mod memory;
mod pending_requests;
mod protocol;
mod registry;
mod signed_request;
mod worker_link;

pub use death_notice::{MailboxKeyText, MailboxNoticeConfig, send_death_notice};
pub use envelope::{MailboxKey, MessageEnvelope, UnreadableMessage};
pub use mailbox_reader::MailboxReader;
pub use mailboxes::{
    BindingEpoch, MAILBOX_BYTES_MAX, MAILBOX_MESSAGE_MAX, MAILBOX_MESSAGES_MAX, MailboxBinding,
    MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes, RECEIVED_MAX,
};
pub use memory::MemoryMailboxes;
pub use protocol::{MailboxReply, MailboxRequest};
pub use registry::{MailboxAddress, MailboxRegistry};
pub use signed_request::SignedMailboxRequest;
pub use worker_link::{LeaderHello, MailboxReceiveLoop, MailboxWorkerLink};
