//! A single wait for everything that may wake the guard.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use windlass_core::id::Fence;
use windlass_core::time::Span;

/// The descriptors to wait for. It shares ownership of each, because the state of the guard may change meanwhile.
#[derive(Debug)]
pub(super) struct GuardWait {
    pub(super) socket: Arc<UnixStream>,
    pub(super) socket_for: PollFlags,
    pub(super) alarm: Option<Arc<OwnedFd>>,
    /// Readable when a process has ended: the main process of a step, or an orphan.
    pub(super) watches: Vec<(Option<Fence>, Arc<OwnedFd>)>,
    /// The longest wait.
    pub(super) limit: Option<Span>,
}

/// The events that ended a wait. Empty if the time limit ended it.
#[derive(Debug, Default)]
pub(super) struct GuardWakeups(Vec<WakeupCause>);

/// A reason to wake the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WakeupCause {
    /// The socket can be read.
    Worker,
    /// The main process of a step has ended.
    Step(Fence),
    /// An orphan has ended.
    Orphan,
    /// Time, a signal, or a socket that can be written.
    Other,
}

impl GuardWakeups {
    /// Returns whether there was no event.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the worker has sent something.
    pub(super) fn has_input(&self) -> bool {
        self.0.contains(&WakeupCause::Worker)
    }

    /// Returns the steps whose main process has ended.
    pub(super) fn exited_steps(&self) -> impl Iterator<Item = Fence> {
        self.0.iter().filter_map(|waker| match waker {
            WakeupCause::Step(fence) => Some(*fence),
            WakeupCause::Worker | WakeupCause::Orphan | WakeupCause::Other => None,
        })
    }

    /// Returns whether a process has ended.
    pub(super) fn has_exit(&self) -> bool {
        self.0.iter().any(|waker| matches!(waker, WakeupCause::Step(_) | WakeupCause::Orphan))
    }
}

impl GuardWait {
    /// Waits for an event.
    pub(super) fn wait(&self) -> io::Result<GuardWakeups> {
        let mut fds = vec![PollFd::new(&*self.socket, self.socket_for)];
        let others = self.watches.iter().map(|(_, watch)| watch).chain(&self.alarm);
        fds.extend(others.map(|fd| PollFd::new(&**fd, PollFlags::IN)));
        match poll(&mut fds, self.limit.map(timespec).as_ref()) {
            Err(Errno::INTR) => return Ok(GuardWakeups(vec![WakeupCause::Other])),
            count => count?,
        };
        let fired = fds.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty());
        Ok(GuardWakeups(fired.map(|(place, fd)| self.waker(place, fd.revents())).collect()))
    }

    fn waker(&self, place: usize, came: PollFlags) -> WakeupCause {
        if place == 0 {
            let readable = came.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
            return if readable { WakeupCause::Worker } else { WakeupCause::Other };
        }
        match self.watches.get(place - 1) {
            Some((Some(fence), _)) => WakeupCause::Step(*fence),
            Some((None, _)) => WakeupCause::Orphan,
            None => WakeupCause::Other,
        }
    }
}

/// Returns whether the other end of a socket is closed, however much of what it sent is unread.
pub(super) fn is_closed(socket: &UnixStream) -> bool {
    let mut fds = [PollFd::new(socket, PollFlags::empty())];
    // If it cannot be known now, the watch finds out.
    let polled = poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
    polled.is_ok() && fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

fn timespec(limit: Span) -> Timespec {
    let millis = limit.as_millis().cast_signed();
    Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 }
}
