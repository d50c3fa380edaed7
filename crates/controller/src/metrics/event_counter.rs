//! Follows what is durable and counts it.

use std::sync::Arc;

use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::journal::Journal;

use super::registry::MetricsRegistry;
use crate::event_reader::DurableEventReader;
use crate::handle::NodeHandle;

/// Counts what becomes durable, each event once, from when it is made on.
#[derive(Debug)]
pub struct EventCounter {
    meters: Arc<MetricsRegistry>,
    reader: DurableEventReader,
}

impl EventCounter {
    /// The tally of the node behind the handle. What the node no longer has in mind when it is counted is read from the
    /// journal.
    pub fn new(handle: &NodeHandle, journal: Arc<dyn Journal>) -> Self {
        let from = handle.views().look(|view| view.position);
        Self {
            meters: Arc::clone(handle.meters()),
            reader: DurableEventReader::new(handle, journal, from),
        }
    }

    /// Counts until it is told to end.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) {
        let Self { meters, reader } = &mut self;
        loop {
            let count = |_, _, event: &_| meters.counts().add(event);
            tokio::select! {
                () = shutdown.wait() => return,
                () = reader.next(count) => {}
            }
        }
    }
}
