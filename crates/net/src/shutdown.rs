//! How long-lived things are told to end.

use tokio::sync::watch;

/// Tells everything that listens to end. Dropping it tells them too: nobody is left who could.
#[derive(Debug)]
pub struct ShutdownSender(watch::Sender<bool>);

/// Hears when it is time to end.
#[derive(Clone, Debug)]
pub struct ShutdownReceiver(watch::Receiver<bool>);

impl ShutdownSender {
    /// A signal and its first listener.
    pub fn new() -> (Self, ShutdownReceiver) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), ShutdownReceiver(receiver))
    }

    /// Says that it is time to end. Saying it again changes nothing.
    pub fn shut_down(&self) {
        self.0.send_replace(true);
    }
}

impl ShutdownReceiver {
    /// Waits until it is time to end; at once if it has been said already.
    pub async fn wait(&mut self) {
        // An error means that the sender is gone, which says the same.
        drop(self.0.wait_for(|ended| *ended).await);
    }

    /// Whether it is time to end.
    pub fn is_due(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
