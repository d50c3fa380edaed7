//! Counts durable events.

use std::sync::Arc;

use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::journal::Journal;

use super::registry::MetricsRegistry;
use crate::event_follower::EventFollower;
use crate::handle::NodeHandle;

/// Counts every durable event once, from its creation on.
#[derive(Debug)]
pub struct EventCounter {
    meters: Arc<MetricsRegistry>,
    follower: EventFollower,
}

impl EventCounter {
    /// Returns the counter of the node behind the handle.
    pub fn new(handle: &NodeHandle, journal: &Arc<dyn Journal>) -> Self {
        let from = handle.views().with(|view| view.position);
        Self { meters: Arc::clone(handle.meters()), follower: handle.views().follow(journal, from) }
    }

    /// Counts until shutdown.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) {
        let Self { meters, follower } = &mut self;
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                followed = follower.next_retrying() => {
                    followed.iter().for_each(|recorded| meters.counts().add(&recorded.event));
                }
            }
        }
    }
}
