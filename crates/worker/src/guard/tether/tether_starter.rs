//! Starts tethers on a thread of its own, so that the guard's watch does not wait for it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::tether_handle::TetherHandle;
use crate::guard::entry::start_tether;

/// The maximum number of tethers that are ordered and not taken. More are ordered when these have started.
const ORDERED_MAX: usize = 64;

/// A thread that starts tethers when they are ordered.
#[derive(Debug)]
pub(super) struct TetherStarter {
    orders: Option<SyncSender<()>>,
    /// True if no more tethers are started, including those that were ordered before.
    is_closed: Arc<AtomicBool>,
    started: Receiver<io::Result<TetherHandle>>,
    /// Readable when a tether has started.
    wake: UnixStream,
    thread: JoinHandle<()>,
    ordered: usize,
}

impl TetherStarter {
    /// Creates a starter whose tethers mark what they start.
    pub(super) fn new(mark: String) -> io::Result<Self> {
        Self::starting(move || {
            start_tether(&mark).map(|(child, socket)| TetherHandle::new(&child, socket))
        })
    }

    /// Creates a starter with this way to start a tether.
    fn starting(start: impl Fn() -> io::Result<TetherHandle> + Send + 'static) -> io::Result<Self> {
        let (orders, ordered) = sync_channel::<()>(ORDERED_MAX);
        let (starts, started) = sync_channel(ORDERED_MAX);
        let (wake, mut wakes) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let work = move || {
            for () in ordered {
                if closed.load(Ordering::Acquire) {
                    return;
                }
                // Both fail if the guard ends; the tether then sees that its socket is closed.
                let _ = starts.send(start());
                let _ = wakes.write_all(&[0]);
            }
        };
        let thread = thread::Builder::new().spawn(work)?;
        Ok(Self { orders: Some(orders), is_closed, started, wake, thread, ordered: 0 })
    }

    /// Returns a socket that becomes readable when a tether has started.
    pub(super) const fn wake(&self) -> &UnixStream {
        &self.wake
    }

    /// Returns how many are being started.
    pub(super) const fn ordered(&self) -> usize {
        self.ordered
    }

    /// Orders a tether, unless many are on their way.
    pub(super) fn order(&mut self) {
        let room = self.ordered < ORDERED_MAX;
        let orders = self.orders.as_ref().filter(|_| room);
        if orders.is_some_and(|orders| orders.try_send(()).is_ok()) {
            self.ordered += 1;
        }
    }

    /// Takes a tether that has started, or the error of its start.
    pub(super) fn take(&mut self) -> Option<io::Result<TetherHandle>> {
        // It fails if there is nothing to read.
        let _ = self.wake.read(&mut [0; 64]);
        let tether = self.started.try_recv().ok()?;
        self.ordered -= 1;
        Some(tether)
    }

    /// Starts no more tethers. A start that is under way may still finish: see [`Self::is_over`].
    pub(super) fn close(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        self.orders = None;
    }

    /// Returns whether no tether is being started any more, and none will be.
    pub(super) fn is_over(&self) -> bool {
        self.thread.is_finished()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::Mutex;

    use super::*;

    /// Returns a tether with an idle process in its place.
    fn sleeper() -> io::Result<TetherHandle> {
        let child = Command::new("sleep").arg("600").spawn()?;
        Ok(TetherHandle::new(&child, UnixStream::pair()?.0))
    }

    #[test]
    fn closed_starter_starts_no_ordered_tether_and_does_not_wait() {
        let (goes_on, waits) = sync_channel::<()>(1);
        let (begins, begun) = sync_channel::<()>(1);
        let (waits, begins) = (Mutex::new(waits), Mutex::new(begins));
        // As if the start of the program did not return.
        let mut nursery = TetherStarter::starting(move || {
            begins.lock().unwrap().send(()).unwrap();
            waits.lock().unwrap().recv().unwrap();
            sleeper()
        })
        .unwrap();
        (0..ORDERED_MAX).for_each(|_| nursery.order());
        begun.recv().unwrap();
        nursery.close();
        assert!(!nursery.is_over() && nursery.take().is_none());
        goes_on.send(()).unwrap();
        while !nursery.is_over() {
            thread::yield_now();
        }
        let started: Vec<TetherHandle> = std::iter::from_fn(|| nursery.take()).flatten().collect();
        assert_eq!(started.len(), 1, "the one whose start was under way");
        started.iter().for_each(TetherHandle::kill);
        while !started[0].reap() {
            thread::yield_now();
        }
    }
}
