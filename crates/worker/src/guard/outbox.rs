//! What the worker is to be told, and by when.

use std::io;
use std::os::fd::BorrowedFd;

use windlass_core::time::Time;

use super::frame::FrameOutbox;
use super::guard_protocol::GuardEvent;

/// Unread news beyond which no more orders are read: the worker is stopped, or far behind.
const UNREAD_MAX: usize = 1 << 20;

/// Events that wait for others to go with them, or for the worker to take them.
#[derive(Debug, Default)]
pub(super) struct GuardOutbox {
    outbox: FrameOutbox,
    /// When they have to be written; nothing once that has been tried.
    write_at: Option<Time>,
}

impl GuardOutbox {
    /// Adds an event, which is written at this moment at the latest.
    pub(super) fn add(&mut self, event: &GuardEvent, write_at: Time) -> io::Result<()> {
        self.write_at = Some(self.write_at.map_or(write_at, |at| at.min(write_at)));
        self.outbox.push(event, None)
    }

    /// When they have to be written.
    pub(super) const fn due(&self) -> Option<Time> {
        self.write_at
    }

    /// Whether the worker did not take all that it was written: the rest is to be written when it does.
    pub(super) fn is_blocked(&self) -> bool {
        self.write_at.is_none() && !self.outbox.is_empty()
    }

    /// Whether the worker has so much to read that it is asked for nothing more.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() >= UNREAD_MAX
    }

    /// Writes those that are due, as far as the worker takes them.
    pub(super) fn write(&mut self, socket: BorrowedFd<'_>, now: Time) {
        if self.is_blocked() || self.write_at.is_some_and(|at| at <= now) {
            self.write_at = None;
            // That the worker is gone is seen by reading; what it did not take is written when it does.
            let _ = self.outbox.flush(socket);
        }
    }
}
