//! A process that the guard has adopted.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::process::{Pid, kill_process};
use windlass_core::id::Fence;
use windlass_core::time::Time;

use super::supervised_step::{StepSignal, signal};
use crate::platform;

/// A living orphan.
#[derive(Debug)]
pub(super) struct OrphanProcess {
    pub(super) pid: Pid,
    pub(super) owner: Option<Fence>,
    /// The serial number of the newest step when the orphan was first seen, and that time.
    pub(super) seen: u64,
    pub(super) seen_at: Time,
    /// The orphan is dying, or becoming another program, and its step is unknown.
    pub(super) unclear: bool,
    /// Readable when the orphan has ended.
    pub(super) watch: Option<Arc<OwnedFd>>,
    pub(super) signal_sent: StepSignal,
}

impl OrphanProcess {
    pub(super) fn signal(&mut self, what: StepSignal) {
        if self.signal_sent < what {
            self.signal_sent = what;
            signal(what, |signal| {
                // The guard alone reaps it, so its number is still its own. It fails for a process that may not be
                // signalled.
                let _ = kill_process(self.pid, signal);
            });
        }
        if self.signal_sent > StepSignal::None {
            self.watch_exit();
        }
    }

    pub(super) fn watch_exit(&mut self) {
        if self.watch.is_none() {
            self.watch = platform::exit_descriptor(self.pid).map(Arc::new);
        }
    }
}
