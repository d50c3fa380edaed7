//! The interface of a message broker: mailboxes in which processes leave messages for each other.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The most bytes of a message. A larger payload is split.
pub const MAILBOX_MESSAGE_MAX: usize = 1 << 20;

/// The most messages that one [`receive`](Mailboxes::receive) returns.
pub const RECEIVED_MAX: usize = 256;

/// The most messages in a mailbox; further ones are refused. A live reader has only a few waiting.
pub const MAILBOX_MESSAGES_MAX: usize = 4_096;

/// The most bytes in a mailbox; further messages are refused.
pub const MAILBOX_BYTES_MAX: usize = 64 << 20;

/// The number of a binding, from 1; 0 where none was ever made. It never repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingEpoch(pub u64);

impl fmt::Display for BindingEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.0)
    }
}

/// A mailbox: the leader's, or one with a random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxId(pub u64);

impl MailboxId {
    /// The leader's mailbox.
    pub const LEADER: Self = Self(0);
}

/// Bytes for a mailbox.
#[derive(Clone, PartialEq, Eq)]
pub struct MailboxMessage {
    /// The receiving mailbox.
    pub to: MailboxId,
    /// The content, at most [`MAILBOX_MESSAGE_MAX`] bytes. Brokers do not interpret it.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for MailboxMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MailboxMessage({} bytes to {:x})", self.bytes.len(), self.to.0)
    }
}

/// The state of a binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MailboxBinding {
    /// The newest epoch, whether its binding still holds or not.
    pub epoch: BindingEpoch,
    /// The bound leader; `None` if the binding was given up or has lapsed.
    pub by: Option<String>,
    /// The final status that a leader left when everything was done.
    pub final_status: Option<String>,
}

/// Why a call on mailboxes failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailboxError {
    /// Another leader is bound and alive.
    #[error("{by} is the leader already")]
    AlreadyLed {
        /// The name that it gave.
        by: String,
    },
    /// Another leader has been bound since.
    #[error("another leader has taken over ({now})")]
    Deposed {
        /// The newest epoch.
        now: BindingEpoch,
    },
    /// The work is finished: a final status was left.
    #[error("the leader has finished: {final_status}")]
    Finished {
        /// The final status.
        final_status: String,
    },
    /// The broker has lost its data, the binding included. The caller cannot continue.
    #[error("{place} has lost its data: {reason}")]
    StateLost {
        /// The address of the broker.
        place: String,
        /// The evidence, and how to fix it.
        reason: String,
    },
    /// There is no space. There may be later.
    #[error("{place} is full: {reason}")]
    Full {
        /// The address of the broker.
        place: String,
        /// What is full, and how to fix it.
        reason: String,
    },
    /// The message or payload exceeds the limit.
    #[error("{bytes} bytes exceed the size limit of messages")]
    TooLarge {
        /// The size.
        bytes: usize,
    },
    /// The broker was not reached. The call may have taken effect; it may be repeated.
    #[error("{place} cannot be reached: {reason}")]
    Unreachable {
        /// The address of the broker.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// The broker refuses the call, now and later: wrong password, or a setting that loses messages.
    #[error("{place} cannot be used: {reason}")]
    Refused {
        /// The address of the broker.
        place: String,
        /// Why, and how to fix it.
        reason: String,
    },
}

impl MailboxError {
    /// Whether the same call may succeed later.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Full { .. } | Self::Unreachable { .. } => true,
            Self::AlreadyLed { .. }
            | Self::Deposed { .. }
            | Self::Finished { .. }
            | Self::StateLost { .. }
            | Self::TooLarge { .. }
            | Self::Refused { .. } => false,
        }
    }
}

/// The future of a call.
pub type MailboxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, MailboxError>> + Send + 'a>>;

/// The mailboxes of one run or one cluster at a broker. A value is a handle; other processes have their own.
///
/// Messages may get lost, arrive twice, late, or in another order; the layers above expect that. In normal operation
/// none of it should happen, for each costs time. Every call ends within seconds: a broker that does not answer is
/// [`Unreachable`](MailboxError::Unreachable).
///
/// `windlass_testkit` checks every promise here, for any implementation.
pub trait Mailboxes: Send + Sync + fmt::Debug {
    /// The address, without passwords, for display.
    fn place(&self) -> String;

    /// Binds the mailboxes to a leader for a term. Of several concurrent callers one is bound; the others get
    /// [`AlreadyLed`](MailboxError::AlreadyLed) with its name. The epoch is larger than that of any earlier binding,
    /// also of one that was given up or has lapsed. Once a final status was left, no binding succeeds:
    /// [`Finished`](MailboxError::Finished).
    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch>;

    /// Renews a binding for another term, counted from now. A binding that is not renewed lapses with its term. If
    /// another leader has been bound since, the result is [`Deposed`](MailboxError::Deposed). Otherwise a lapsed
    /// binding may or may not be renewable. A broker that never had this epoch has lost its data:
    /// [`StateLost`](MailboxError::StateLost).
    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()>;

    /// Gives up a binding, and leaves a final status if everything is done: it stays for at least an hour. Has no
    /// effect if another leader has been bound.
    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()>;

    /// Returns the current binding.
    fn binding(&self) -> MailboxFuture<'_, MailboxBinding>;

    /// Leaves messages in one or several mailboxes. A mailbox without a reader accepts messages up to
    /// [`MAILBOX_MESSAGES_MAX`] and [`MAILBOX_BYTES_MAX`]: then it is [`Full`](MailboxError::Full). After an error
    /// some of the messages may have been left.
    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()>;

    /// Takes at most [`RECEIVED_MAX`] messages from a mailbox. If it is empty, waits until `within` has passed, and
    /// returns soon after a message has come. In normal operation no message is returned twice. A mailbox has one
    /// reader at a time.
    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>>;
}
