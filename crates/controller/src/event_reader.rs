//! Reads every event that becomes durable, from the view or, where it no longer has it, from the journal.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::engine::Event;
use windlass_core::time::Time;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal, Position};

use super::engine_view::{EventFollower, FollowedEvents};
use super::handle::NodeHandle;

/// Events read from the journal at once.
const PAGE: usize = 16_384;

/// The pause after the journal could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads events in order, each once. What has left the journal is left out.
#[derive(Debug)]
pub(super) struct DurableEventReader {
    journal: Arc<dyn Journal>,
    follower: EventFollower,
}

impl DurableEventReader {
    /// Reads behind a position what the node behind the handle makes or follows.
    pub(super) fn new(handle: &NodeHandle, journal: Arc<dyn Journal>, from: Position) -> Self {
        Self { journal, follower: handle.views().follow(from) }
    }

    /// How far it has come.
    #[cfg(feature = "http")]
    pub(super) const fn position(&self) -> Position {
        self.follower.position()
    }

    /// Waits for what comes next, and shows each event of it. May be dropped while it waits: nothing is lost then.
    pub(super) async fn next(&mut self, mut each: impl FnMut(Position, Time, &Event)) {
        let known = self.follower.position();
        match self.follower.next().await {
            FollowedEvents::Events(batches) => {
                let events = batches.iter().flat_map(|batch| batch.numbered());
                for (position, (at, event)) in events.filter(|(position, _)| *position > known) {
                    each(position, *at, event);
                }
            }
            // A journal that does not answer, or not yet with what the view has, is asked again.
            FollowedEvents::Behind(from) => {
                if !matches!(self.read_page(from, each).await, Ok(true)) {
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Reads from the journal; whether there was anything to read.
    async fn read_page(
        &mut self,
        from: Position,
        mut each: impl FnMut(Position, Time, &Event),
    ) -> Result<bool, StoreError> {
        let page = match self.journal.tail(from, PAGE).await {
            Err(StoreError::Pruned { upto }) => {
                self.follower.skip_to(upto);
                return Ok(true);
            }
            page => page?,
        };
        for batch in &page {
            let positions = (batch.after().0 + 1..).map(Position);
            for (position, it) in positions.zip(&batch.events).filter(|(at, _)| *at > from) {
                each(position, it.at, &it.event);
            }
            self.follower.skip_to(batch.position);
        }
        Ok(!page.is_empty())
    }
}
