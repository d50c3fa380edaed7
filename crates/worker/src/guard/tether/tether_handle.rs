//! The guard's end of a tether.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::guard::frame::{FrameInbox, SocketRead};
use crate::guard::guard_protocol::GuardEvent;
use crate::platform;

/// A tether as the guard sees it: a child, and a socket.
#[derive(Debug)]
pub(super) struct TetherHandle {
    pid: Pid,
    /// Readable when the process has ended.
    watch: Option<OwnedFd>,
    socket: UnixStream,
    inbox: FrameInbox,
}

impl TetherHandle {
    /// Creates the handle of a tether that was started with the other end of this socket.
    pub(super) fn new(child: &Child, socket: UnixStream) -> Self {
        let pid = Pid::from_child(child);
        Self { pid, watch: platform::exit_descriptor(pid), socket, inbox: FrameInbox::default() }
    }

    /// Returns the socket, which is readable when the tether has sent something.
    pub(super) const fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Returns the descriptor that is readable when the tether has ended.
    pub(super) const fn watch(&self) -> Option<&OwnedFd> {
        self.watch.as_ref()
    }

    /// Reads the bytes that have arrived. False once the tether has closed its end.
    pub(super) fn read(&mut self) -> bool {
        loop {
            match self.inbox.read(self.socket.as_fd()) {
                Ok(SocketRead::Some) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Ok(SocketRead::End) | Err(_) => return false,
            }
        }
    }

    /// Returns the next event of the tether.
    pub(super) fn next(&mut self) -> Option<GuardEvent> {
        // An unreadable message does not come from a tether; the end of the process follows.
        self.inbox.next().ok().flatten()
    }

    /// Orders the tether to end, together with its step.
    pub(super) fn shut_down(&self) {
        // It fails if the tether has ended.
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    /// Kills it at once. It is not reaped yet, so that its number is its own.
    pub(super) fn kill(&self) {
        // It fails if the tether has ended.
        let _ = kill_process(self.pid, Signal::KILL);
    }

    /// Reaps it. True if nothing of it is left, including its threads. Its children then belong to the guard.
    pub(super) fn reap(&self) -> bool {
        !matches!(waitpid(Some(self.pid), WaitOptions::NOHANG), Ok(None))
    }
}
