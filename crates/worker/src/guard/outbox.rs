//! The events for the worker, and when they must be written.

use std::io;
use std::os::fd::BorrowedFd;

use windlass_core::time::Time;

use super::frame::FrameOutbox;
use super::guard_protocol::GuardEvent;

/// The number of unread bytes beyond which no more orders are read: the worker is stopped, or far behind.
const UNREAD_MAX: usize = 1 << 20;

/// Events that wait for others to go with them, or for the worker to read.
#[derive(Debug, Default)]
pub(super) struct GuardOutbox {
    outbox: FrameOutbox,
    /// When they must be written; `None` once that has been tried.
    write_at: Option<Time>,
}

impl GuardOutbox {
    /// Adds an event, which is written at this time at the latest.
    pub(super) fn add(&mut self, event: &GuardEvent, write_at: Time) -> io::Result<()> {
        self.write_at = Some(self.write_at.map_or(write_at, |at| at.min(write_at)));
        self.outbox.push(event, None)
    }

    /// Returns when they must be written.
    pub(super) const fn due(&self) -> Option<Time> {
        self.write_at
    }

    /// Returns whether the socket did not take all bytes. The rest is written when it does.
    pub(super) fn is_blocked(&self) -> bool {
        self.write_at.is_none() && !self.outbox.is_empty()
    }

    /// Returns whether the worker has so much to read that the guard reads no more orders.
    pub(super) fn is_full(&self) -> bool {
        self.outbox.len() >= UNREAD_MAX
    }

    /// Writes the events that are due, as far as the socket takes them.
    pub(super) fn write(&mut self, socket: BorrowedFd<'_>, now: Time) {
        if self.is_blocked() || self.write_at.is_some_and(|at| at <= now) {
            self.write_at = None;
            // A read notices that the worker is gone. Bytes that the socket did not take are written later.
            let _ = self.outbox.flush(socket);
        }
    }
}
