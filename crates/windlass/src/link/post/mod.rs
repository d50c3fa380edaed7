//! Links through mailboxes: for leaders and workers that cannot reach each other, and both reach something else.
//!
//! ```text
//!  worker ── Ask ──► [leader's mailbox] ──► leader      by way of Redis, PostgreSQL, a folder, anything
//!         ◄── Answer ── [its own mailbox] ◄──            that keeps bytes for somebody
//! ```
//!
//! [`Mailboxes`] is all that such a link has to be; the rest is here, once for all of them. Who leads *binds* the place,
//! under an [`Epoch`] that never repeats, and keeps the binding alive. A worker draws the number of its own mailbox by
//! chance, asks, and repeats what is not answered; the [envelope] of each letter says who leads, which question it is, and
//! proves by the run's secret that its writer may say so; a question is also signed by the worker that asks it. What one letter
//! cannot hold comes in several. Exchanges are not repeated here: the session does that, and
//! better. The leader's end is in [`controller::post`](crate::controller::post).
//!
//! A leader that ends because everything is done leaves an *epitaph*; who comes later reads it and need not wait. Where
//! the place has forgotten which epoch it had, it has lost its letters too, and nobody goes on with it.
//!
//! [envelope]: Envelope

mod envelope;
mod links;
mod mailboxes;
mod memory;
mod message;
mod reading;
mod signed;
mod testament;
mod waiting;
mod worker_link;

pub use envelope::{Envelope, Key, Unread};
pub use links::{Links, Site};
pub use mailboxes::{
    Epoch, LETTER_MAX, Letter, MailError, Mailbox, Mailboxes, Mailed, RECEIVED_MAX, Standing,
    WAITING_BYTES_MAX, WAITING_MAX,
};
pub use memory::MemoryMailboxes;
pub use message::{Answer, Ask};
pub use reading::Reader;
pub use signed::SignedAsk;
pub use testament::{MailKey, MailWill, report_ended};
pub use worker_link::{Led, PostLink, Postman};
