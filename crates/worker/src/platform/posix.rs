//! Unix without what Linux adds: process groups, looked at from time to time.
//!
//! A process that leaves its group is not found here, and nothing is found by its environment.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, test_kill_process_group};
use windlass_core::time::{Span, Time};

/// How the guard's socket is written: it never waits.
pub(crate) const SEND: SendFlags = SendFlags::DONTWAIT;

/// How the guard's socket is read: it never waits.
pub(crate) const RECEIVE: RecvFlags = RecvFlags::DONTWAIT;

/// How often the guard looks at what runs: nothing wakes it. Shorter costs more than steps would gain.
pub(crate) const POLL_INTERVAL: Span = Span::millis(20);

/// Nothing to become: orphans go to the system.
#[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
pub(crate) const fn become_guard(_name: &std::ffi::CStr) -> io::Result<()> {
    Ok(())
}

/// Nothing is hidden here.
pub const fn hide_memory() {}

/// The file of the running program.
pub(crate) fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// No descriptor tells of the end of a child here.
pub(crate) const fn exit_descriptor(_child: Pid) -> Option<OwnedFd> {
    None
}

/// Whether the group of a child has living members.
pub(crate) fn group_left(leader: Pid) -> bool {
    test_kill_process_group(leader).is_ok()
}

/// Keeps children from inheriting a received descriptor.
pub(crate) fn set_close_on_exec(received: &OwnedFd) {
    // It fails for a descriptor that is not open only.
    let _ = rustix::io::fcntl_setfd(received, rustix::io::FdFlags::CLOEXEC);
}

/// When to wake.
#[derive(Debug)]
pub(crate) struct DeadlineTimer(Option<Time>);

impl DeadlineTimer {
    /// One that is not set.
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

    /// There is none to wait for.
    #[expect(clippy::unused_self, reason = "Linux has one")]
    pub(crate) const fn descriptor(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// How long to wait at most.
    pub(crate) fn wait(&self, now: Time) -> Option<Span> {
        self.0.map(|at| at.since(now))
    }
}

/// Stands for the list of adopted orphans: there are none here.
#[derive(Debug)]
pub(crate) struct ThreadChildren;

impl ThreadChildren {
    /// None.
    pub(crate) const fn of_first_thread() -> Self {
        Self
    }

    /// None.
    pub(crate) const fn of_this_thread() -> Self {
        Self
    }

    /// Nobody wakes who waits for everything here: nothing is started beside it.
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

/// The environment of another process cannot be read here.
pub(crate) fn environment_has(_process: Pid, _entry: impl Fn(&[u8]) -> bool) -> bool {
    false
}

/// No orphan is known here.
pub(crate) const fn in_transition(_process: Pid) -> bool {
    false
}

/// A process that was found by its environment.
#[derive(Debug)]
pub(crate) struct StrayProcess;

impl StrayProcess {
    /// Ends it by force.
    pub(crate) const fn kill(&self) {}
}

/// Finds nothing here.
#[expect(clippy::unnecessary_wraps, reason = "on Linux it may fail")]
pub(crate) fn strays(_entry: impl Fn(&[u8]) -> bool) -> io::Result<Vec<StrayProcess>> {
    Ok(Vec::new())
}
