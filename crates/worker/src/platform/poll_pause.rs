//! A short wait, for loops that poll.

use rustix::event::{Timespec, poll};

/// Waits for a moment between two polls.
pub(crate) fn poll_pause() {
    let moment = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    // An error is a signal, which changes nothing.
    let _ = poll(&mut [], Some(&moment));
}
