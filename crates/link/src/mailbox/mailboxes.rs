//! The seam for pipes that cannot answer: places where messages can be left for others.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The most bytes of a letter. A message that is larger comes in several.
pub const MAILBOX_MESSAGE_MAX: usize = 1 << 20;

/// The most letters that [`receive`](Mailboxes::receive) hands over at once.
pub const RECEIVED_MAX: usize = 256;

/// Letters that a mailbox holds which nobody reads; more are refused. Whoever is alive has a few on their way.
pub const MAILBOX_MESSAGES_MAX: usize = 4_096;

/// Bytes that a mailbox holds which nobody reads; more are refused.
pub const MAILBOX_BYTES_MAX: usize = 64 << 20;

/// The how-manieth binding of a place, from 1; 0 where nobody was ever bound. It never repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BindingEpoch(pub u64);

impl fmt::Display for BindingEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}", self.0)
    }
}

/// A mailbox: the leader's, or one whose number somebody drew by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxId(pub u64);

impl MailboxId {
    /// Where whoever leads receives.
    pub const LEADER: Self = Self(0);
}

/// Bytes for somebody.
#[derive(Clone, PartialEq, Eq)]
pub struct MailboxMessage {
    /// For whom.
    pub to: MailboxId,
    /// What, at most [`LETTER_MAX`]. The link does not look inside.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for MailboxMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Letter({} bytes to {:x})", self.bytes.len(), self.to.0)
    }
}

/// How a place stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MailboxBinding {
    /// The newest binding, whether it still holds or not.
    pub epoch: BindingEpoch,
    /// Who is bound; nobody if the binding was given up or has lapsed.
    pub by: Option<String>,
    /// What was left when everything was over.
    pub final_status: Option<String>,
}

/// What went wrong with a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailboxError {
    /// Somebody else is bound, and alive.
    #[error("{by} leads here already")]
    AlreadyLed {
        /// Who, as it said itself.
        by: String,
    },
    /// Somebody else was bound since.
    #[error("the binding has passed to another ({now})")]
    Deposed {
        /// The newest.
        now: BindingEpoch,
    },
    /// It is over here: a final status was left.
    #[error("it is over: {final_status}")]
    Finished {
        /// The final status.
        final_status: String,
    },
    /// The place has forgotten what it held, the binding included. It cannot be gone on with.
    #[error("{place} has lost what it held: {reason}")]
    StateLost {
        /// Where.
        place: String,
        /// How one knows, and what to do.
        reason: String,
    },
    /// There is no room. There may be later.
    #[error("{place} is full: {reason}")]
    Full {
        /// Where.
        place: String,
        /// What is full, and what to do.
        reason: String,
    },
    /// The letter is larger than any may be, or the message than letters may carry.
    #[error("{bytes} bytes are more than letters may carry")]
    TooLarge {
        /// How large.
        bytes: usize,
    },
    /// It was not reached. Whether the call took effect is not known; it may be repeated.
    #[error("{place} cannot be reached: {reason}")]
    Unreachable {
        /// Where.
        place: String,
        /// What went wrong.
        reason: String,
    },
    /// It does not want to be used, now or later: a wrong password, a setting that loses messages.
    #[error("{place} cannot be used: {reason}")]
    Refused {
        /// Where.
        place: String,
        /// Why, and what to do.
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

/// What comes of a call, in time.
pub type MailboxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, MailboxError>> + Send + 'a>>;

/// One place with mailboxes: that of one run, or of one cluster. A value is a handle on it; others, in other processes,
/// have theirs.
///
/// Letters may get lost, come twice, late, or in another order: what is built on it expects that. In good weather they
/// should do none of it, for each costs time. Every call ends by itself, within seconds: a place that does not answer is
/// [`Unreachable`](MailError::Unreachable).
///
/// [`conformance`](crate::conformance) has the proof of every promise here, for any implementation.
pub trait Mailboxes: Send + Sync + fmt::Debug {
    /// Where it is, for people: without passwords.
    fn place(&self) -> String;

    /// Binds the place to one who leads, for a term. Of several who try at once one is bound; the others are told by whom
    /// it is held, [`AlreadyLed`](MailError::AlreadyLed). The epoch is larger than that of any binding before, also of one
    /// that was given up or has lapsed. Where an epitaph was left nobody is bound any more: [`Over`](MailError::Over).
    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch>;

    /// Keeps a binding for another term, counted from now. A binding that is not kept lapses with its term. If somebody
    /// else was bound since, [`Deposed`](MailError::Deposed); if nobody was, one that has lapsed may be taken up again or
    /// not. A place that never had this epoch has lost what it held: [`Gone`](MailError::Gone).
    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()>;

    /// Gives a binding up, and leaves an epitaph if everything is over: it is there for at least an hour. Without effect
    /// if the binding has passed to another.
    fn unbind(&self, epoch: BindingEpoch, epitaph: Option<String>) -> MailboxFuture<'_, ()>;

    /// How the place stands now.
    fn binding(&self) -> MailboxFuture<'_, MailboxBinding>;

    /// Leaves letters, to one mailbox or several. A mailbox that nobody has read takes letters too, up to
    /// [`WAITING_MAX`] and [`WAITING_BYTES_MAX`]: then it is [`Full`](MailError::Full). After an error some of them may
    /// have been left.
    fn send(&self, letters: Vec<MailboxMessage>) -> MailboxFuture<'_, ()>;

    /// Takes what is in a mailbox, at most [`RECEIVED_MAX`] letters; if there is nothing, waits for it until `within` has
    /// passed, and returns soon after a letter has come. What was taken is not handed over again, in good weather. One
    /// reads a mailbox at a time.
    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>>;
}
