//! A short wait, for loops that look at what does not tell by itself.

use rustix::event::{Timespec, poll};

/// Rests for a moment, between two looks.
pub(crate) fn poll_pause() {
    let moment = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
    // An error is a signal, which changes nothing.
    let _ = poll(&mut [], Some(&moment));
}
