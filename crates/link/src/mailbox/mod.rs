//! Links through mailboxes: for leaders and workers that cannot reach each other but share a message broker.
//!
//! ```text
//!  worker ── request ──►  [leader's mailbox] ──► leader     through Redis, PostgreSQL, or anything
//!         ◄── response ── [its own mailbox]  ◄──            else that stores bytes for a reader
//! ```
//!
//! A broker implements [`Mailboxes`]; everything else is here, once for all brokers. The leader *binds* the place under a
//! [`BindingEpoch`] that never repeats, and renews the binding. A worker chooses a random number for its own mailbox, sends
//! requests, and repeats those that are not answered. The [envelope] of each message names the leader and the request, and
//! proves with the run's secret that its sender belongs to the run; a worker also signs its requests. A payload that is too
//! large for one message is split. Exchanges are not repeated here, because the session does that better. The leader's end
//! is `mailbox_server` in the controller crate.
//!
//! A leader that ends because its run is done leaves a *final status*, which later workers read instead of waiting. If a
//! place has lost its epoch, it has lost messages too, and no process continues with it.
//!
//! [envelope]: MessageEnvelope

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
