//! How a function is told to end.

use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// An order to end, which stays given.
#[derive(Debug, Default)]
pub struct CallStopSignal {
    told: AtomicBool,
    wakes: Notify,
}

impl CallStopSignal {
    /// Gives the order.
    pub fn send(&self) {
        self.told.store(true, Ordering::Release);
        self.wakes.notify_waiters();
    }

    /// Whether it was given.
    pub fn is_sent(&self) -> bool {
        self.told.load(Ordering::Acquire)
    }

    /// Waits until it is given.
    pub async fn wait(&self) {
        loop {
            // Before looking: an order that comes between the two would be missed.
            let told = self.wakes.notified();
            if self.is_sent() {
                return;
            }
            told.await;
        }
    }
}
