//! Unix without the extensions of Linux: process groups, polled from time to time.
//!
//! A process that leaves its group is not found here, and nothing is found by its environment.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, test_kill_process_group};
use windlass_core::time::{Span, Time};

/// The flags for writes to the guard's socket: they never wait.
pub(crate) const SEND: SendFlags = SendFlags::DONTWAIT;

/// The flags for reads from the guard's socket: they never wait.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::DONTWAIT;

/// How often the guard polls running processes, because nothing wakes it. A shorter interval costs more than steps
/// would gain.
pub(crate) const POLL_INTERVAL: Span = Span::millis(20);

/// Does nothing: orphans go to the system.
#[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
pub(crate) const fn become_guard(_name: &std::ffi::CStr) -> io::Result<()> {
    Ok(())
}

/// Does nothing: memory cannot be hidden here.
pub const fn hide_memory() {}

/// Returns the file of the running program.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Returns `None`: no descriptor signals the end of a child here.
pub(crate) const fn exit_descriptor(_child: Pid) -> Option<OwnedFd> {
    None
}

/// Returns whether the group of a child has living members.
pub(crate) fn group_left(leader: Pid) -> bool {
    test_kill_process_group(leader).is_ok()
}

/// Keeps children from inheriting a received descriptor.
pub(crate) fn set_close_on_exec(received: &OwnedFd) {
    // It fails only for a descriptor that is not open.
    let _ = rustix::io::fcntl_setfd(received, rustix::io::FdFlags::CLOEXEC);
}

/// The time at which to wake.
#[derive(Debug)]
pub(crate) struct DeadlineTimer(Option<Time>);

impl DeadlineTimer {
    /// Creates a timer that is not set.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
    pub(crate) const fn new() -> io::Result<Self> {
        Ok(Self(None))
    }

    /// Sets it.
    #[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
    pub(crate) const fn set(&mut self, at: Option<Time>) -> io::Result<()> {
        self.0 = at;
        Ok(())
    }

    /// Returns `None`: there is no descriptor to wait for.
    #[expect(clippy::unused_self, reason = "Linux has one")]
    pub(crate) const fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// Returns the longest wait.
    pub(crate) fn wait(&self, now: Time) -> Option<Span> {
        self.0.map(|at| at.since(now))
    }
}

/// The list of adopted orphans, which is always empty here.
#[derive(Debug)]
pub(crate) struct ThreadChildren;

impl ThreadChildren {
    /// Returns an empty list.
    pub(crate) const fn of_first_thread() -> Self {
        Self
    }

    /// Returns an empty list.
    pub(crate) const fn of_this_thread() -> Self {
        Self
    }

    /// Returns false: the children of different threads cannot be distinguished here.
    #[expect(clippy::unused_self, reason = "as on Linux")]
    pub(crate) const fn tells_threads_apart(&self) -> bool {
        false
    }

    /// Lists none.
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Linux")]
    pub(crate) const fn list(&mut self, _into: &mut Vec<Pid>) -> io::Result<()> {
        Ok(())
    }
}

/// Lists none.
#[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
pub(crate) const fn all_children(_into: &mut Vec<Pid>) -> io::Result<()> {
    Ok(())
}

/// Lists none, and kills none.
pub(crate) const fn kill_own_children() {}

/// Returns false: the environment of another process cannot be read here.
pub(crate) fn environment_has(_process: Pid, _entry: impl Fn(&[u8]) -> bool) -> bool {
    false
}

/// Returns false: no orphan is known here.
pub(crate) const fn in_transition(_process: Pid) -> bool {
    false
}

/// A process that was found by its environment.
#[derive(Debug)]
pub(crate) struct StrayProcess;

impl StrayProcess {
    /// Does nothing: no such process is found here.
    pub(crate) const fn kill(&self) {}
}

/// Returns none: no process is found by its environment here.
#[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
pub(crate) fn strays(_entry: impl Fn(&[u8]) -> bool) -> io::Result<Vec<StrayProcess>> {
    Ok(Vec::new())
}
