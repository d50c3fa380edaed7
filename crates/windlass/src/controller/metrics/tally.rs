//! Follows what is durable and counts it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::engine::Event;

use super::meters::Meters;
use crate::controller::handle::Handle;
use crate::controller::view::{Followed, Follower};
use crate::journal::{Journal, Position};
use crate::shutdown::Shutdown;
use crate::store::StoreError;

/// Events read from the journal at once.
const PAGE: usize = 16_384;

/// The pause after the journal could not be read.
const PAUSE: Duration = Duration::from_secs(1);

/// Counts what becomes durable, each event once, from when it is made on.
#[derive(Debug)]
pub struct Tally {
    meters: Arc<Meters>,
    journal: Arc<dyn Journal>,
    follower: Follower,
}

impl Tally {
    /// The tally of the node behind the handle. What the node no longer has in mind when it is counted is read from the
    /// journal.
    pub fn new(handle: &Handle, journal: Arc<dyn Journal>) -> Self {
        let views = handle.views();
        let follower = views.follow(views.look(|view| view.position));
        Self { meters: Arc::clone(handle.meters()), journal, follower }
    }

    /// Counts until it is told to end.
    pub async fn run(mut self, mut shutdown: Shutdown) {
        loop {
            tokio::select! {
                () = shutdown.wait() => return,
                () = self.count() => {}
            }
        }
    }

    async fn count(&mut self) {
        let known = self.follower.position();
        match self.follower.next().await {
            Followed::Events(batches) => {
                let events = batches.iter().flat_map(|batch| batch.numbered());
                self.add(events.filter(|(at, _)| *at > known).map(|(_, (_, event))| event));
            }
            // A journal that does not answer is asked again: the follower stays where it is.
            Followed::Behind(from) => {
                if self.read_page(from).await.is_err() {
                    sleep(PAUSE).await;
                }
            }
        }
    }

    /// Counts what the journal has next. What has left it was counted by others, and is not counted here.
    async fn read_page(&mut self, from: Position) -> Result<(), StoreError> {
        let page = match self.journal.tail(from, PAGE).await {
            Err(StoreError::Pruned { upto }) => {
                self.follower.skip_to(upto);
                return Ok(());
            }
            page => page?,
        };
        if page.is_empty() {
            // The view is ahead of what the journal shows, for a moment.
            sleep(PAUSE).await;
        }
        for batch in page {
            let positions = (batch.after().0 + 1..).map(Position);
            let behind = positions.zip(&batch.events).filter(|(at, _)| *at > from);
            self.add(behind.map(|(_, recorded)| &recorded.event));
            self.follower.skip_to(batch.position);
        }
        Ok(())
    }

    fn add<'a>(&self, events: impl Iterator<Item = &'a Event>) {
        let mut counts = self.meters.counts();
        events.for_each(|event| counts.add(event));
    }
}
