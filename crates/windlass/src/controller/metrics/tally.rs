//! Follows what is durable and counts it.

use std::sync::Arc;

use super::meters::Meters;
use crate::controller::handle::Handle;
use crate::controller::reader::Reader;
use crate::journal::Journal;
use crate::shutdown::Shutdown;

/// Counts what becomes durable, each event once, from when it is made on.
#[derive(Debug)]
pub struct Tally {
    meters: Arc<Meters>,
    reader: Reader,
}

impl Tally {
    /// The tally of the node behind the handle. What the node no longer has in mind when it is counted is read from the
    /// journal.
    pub fn new(handle: &Handle, journal: Arc<dyn Journal>) -> Self {
        let from = handle.views().look(|view| view.position);
        Self { meters: Arc::clone(handle.meters()), reader: Reader::new(handle, journal, from) }
    }

    /// Counts until it is told to end.
    pub async fn run(mut self, mut shutdown: Shutdown) {
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
