//! The lifeline, by which a worker learns that its guard and all tethers of that guard have ended, in whatever way.
//!
//! The standard output of a guard is its end of the lifeline, and every tether inherits it there. Neither prints
//! anything, and no step inherits it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use windlass_core::time::Span;
use windlass_net::clock;

use crate::{GuardLock, platform};

/// How long the tethers of a dead guard may take to end. They need milliseconds.
const TETHERS_END_WITHIN: Span = Span::secs(10);

/// The worker's end of the lifeline.
#[derive(Debug)]
pub(super) enum GuardLifeline {
    /// A pipe to which nothing is written.
    Pipe(OwnedFd),
    /// The lock file of this incarnation, opened a second time. The lock is free when guard and tethers have ended.
    Lock(File),
}

impl GuardLifeline {
    /// Creates the worker's end, and the standard output of the guard.
    pub(super) fn new(lock: Option<GuardLock>) -> io::Result<(Self, Stdio)> {
        if let Some(lock) = lock {
            let (held, other) = lock.into_files();
            return Ok((Self::Lock(other), Stdio::from(held)));
        }
        let (own, held) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok((Self::Pipe(own), Stdio::from(held)))
    }

    /// Waits until the last tether of a dead guard has ended. A tether that exceeds the limit waits for a process that
    /// cannot be killed: nothing more can be done.
    pub(super) fn await_end(&self) {
        match self {
            Self::Pipe(pipe) => {
                // The pipe becomes readable when its last writer ends.
                let mut fds = [PollFd::new(pipe, PollFlags::IN)];
                let seconds = TETHERS_END_WITHIN.as_millis().cast_signed() / 1000;
                let limit = Timespec { tv_sec: seconds, tv_nsec: 0 };
                // An error is a signal: then the wait is shorter.
                let _ = poll(&mut fds, Some(&limit));
            }
            Self::Lock(file) => {
                let by = clock::time_since_boot() + TETHERS_END_WITHIN;
                while file.try_lock().is_err() && clock::time_since_boot() < by {
                    platform::poll_pause();
                }
            }
        }
    }
}

/// Closes the end of a guard or a tether: nothing that it supervised is left.
pub(super) fn release() -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdout(File::open("/dev/null")?)?)
}
