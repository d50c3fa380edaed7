//! The signal that ends long-lived tasks.

use tokio::sync::watch;

/// Sends the shutdown signal to every listener. Dropping it sends the signal too, because nothing else could.
#[derive(Debug)]
pub struct ShutdownSender(watch::Sender<bool>);

/// Receives the shutdown signal.
#[derive(Clone, Debug)]
pub struct ShutdownReceiver(watch::Receiver<bool>);

impl ShutdownSender {
    /// Creates a signal with its first listener.
    pub fn new() -> (Self, ShutdownReceiver) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), ShutdownReceiver(receiver))
    }

    /// Sends the signal. Sending it again has no effect.
    pub fn shut_down(&self) {
        self.0.send_replace(true);
    }
}

impl ShutdownReceiver {
    /// Waits for the signal; returns at once if it was already sent.
    pub async fn wait(&mut self) {
        // An error means that the sender was dropped, which is the same signal.
        drop(self.0.wait_for(|ended| *ended).await);
    }

    /// Returns whether the signal was sent.
    pub fn is_due(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
