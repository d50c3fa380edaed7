//! Stubs for systems without a guard.

use std::io;

/// Does nothing: no process of this system is ever started as a guard.
pub const fn main_if_asked() {}

/// Does nothing.
pub const fn main_if_asked_with(_: &windlass_link::mailbox::MailboxRegistry) {}

/// Does nothing.
pub const fn begin_pipeline() {}

/// The guard that this system does not have.
#[derive(Debug)]
pub enum GuardHandle {}

impl GuardHandle {
    /// Fails: steps cannot be executed on this system yet.
    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
    pub async fn start() -> io::Result<Self> {
        let text = "executing steps is not supported on this system yet";
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }

    /// Fails, like [`Self::start`].
    pub async fn start_holding(_lock: crate::GuardLock) -> io::Result<Self> {
        Self::start().await
    }
}
