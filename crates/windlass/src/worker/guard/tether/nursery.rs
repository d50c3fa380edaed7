//! Starts tethers on a thread of its own, so that the guard's watch does not wait for it.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use super::tethered_step::Tether;
use crate::worker::guard::entry::start_tether;

/// Tethers that are ordered and not taken. More are ordered when these have come.
const ORDERED_MAX: usize = 64;

/// A thread that starts tethers when they are ordered.
#[derive(Debug)]
pub(super) struct TetherNursery {
    orders: Option<SyncSender<()>>,
    started: Receiver<io::Result<Tether>>,
    /// Readable when one has started.
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
    ordered: usize,
}

impl TetherNursery {
    /// One that marks what its tethers start.
    pub(super) fn new(mark: String) -> io::Result<Self> {
        let (orders, ordered) = sync_channel::<()>(ORDERED_MAX);
        let (starts, started) = sync_channel(ORDERED_MAX);
        let (wake, mut wakes) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let work = move || {
            for () in ordered {
                let tether = start_tether(&mark).map(|(child, socket)| Tether::new(&child, socket));
                // They fail if the guard ends; then the tether sees that its socket is closed.
                let _ = starts.send(tether);
                let _ = wakes.write_all(&[0]);
            }
        };
        let thread = Some(thread::Builder::new().spawn(work)?);
        Ok(Self { orders: Some(orders), started, wake, thread, ordered: 0 })
    }

    /// What becomes readable when a tether has started.
    pub(super) const fn wake(&self) -> &UnixStream {
        &self.wake
    }

    /// How many are being started.
    pub(super) const fn ordered(&self) -> usize {
        self.ordered
    }

    /// Orders one, unless many are on their way.
    pub(super) fn order(&mut self) {
        let room = self.ordered < ORDERED_MAX;
        let orders = self.orders.as_ref().filter(|_| room);
        if orders.is_some_and(|orders| orders.try_send(()).is_ok()) {
            self.ordered += 1;
        }
    }

    /// One that has started, or why it could not.
    pub(super) fn take(&mut self) -> Option<io::Result<Tether>> {
        // It fails if nothing is there.
        let _ = self.wake.read(&mut [0; 64]);
        let tether = self.started.try_recv().ok()?;
        self.ordered -= 1;
        Some(tether)
    }

    /// Starts no more, and returns those that were not taken.
    pub(super) fn close(&mut self) -> Vec<Tether> {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It never panics.
            drop(thread.join());
        }
        std::iter::from_fn(|| self.take()).filter_map(Result::ok).collect()
    }
}
