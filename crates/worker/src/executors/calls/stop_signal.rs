//! The order by which a function is asked to stop.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// An order to stop, which remains set.
#[derive(Debug, Default)]
pub struct CallStopSignal {
    is_set: AtomicBool,
    wakes: Notify,
}

impl CallStopSignal {
    /// Gives the order.
    pub fn send(&self) {
        self.is_set.store(true, Ordering::Release);
        self.wakes.notify_waiters();
    }

    /// Returns whether the order was given.
    pub fn is_sent(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Waits until the order is given.
    pub async fn wait(&self) {
        loop {
            // Registers before the check, or an order between the two would be missed.
            let notified = self.wakes.notified();
            if self.is_sent() {
                return;
            }
            notified.await;
        }
    }
}
