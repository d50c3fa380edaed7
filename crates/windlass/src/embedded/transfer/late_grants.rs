//! The grants behind the end of a copied journal.
//!
//! A run continues while its store is copied. The copy must not have a log of a delivery that its journal does not know: the next
//! leader grants a delivery of the same number, whose output would be taken for the bytes that are there already.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::engine::{Event, event};
use windlass_core::id::{RunId, StepIx};
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs::LogId;

use super::transfer_store::TransferStore;

/// Events per read.
const EVENTS: usize = 16_384;

/// A step, an attempt number and a delivery number.
type DeliveryKey = (StepIx, u16, u16);

/// The deliveries that were granted after a position.
pub(super) struct LateGrants<'a> {
    source: &'a TransferStore,
    end: Position,
    /// The journal is read up to here.
    seen: Position,
    granted: BTreeMap<RunId, BTreeSet<DeliveryKey>>,
    /// Whether events after the position were pruned before they were read. Their runs are in the archive.
    was_pruned: bool,
}

impl<'a> LateGrants<'a> {
    pub(super) const fn after(end: Position, source: &'a TransferStore) -> Self {
        Self { source, end, seen: end, granted: BTreeMap::new(), was_pruned: false }
    }

    /// Returns those of a run's logs whose deliveries the copied journal knows. The logs must have been listed before the call:
    /// a delivery has no log before its grant is durable.
    pub(super) async fn without_late(
        &mut self,
        run: RunId,
        mut logs: Vec<(LogId, u64)>,
    ) -> Result<Vec<(LogId, u64)>, StoreError> {
        self.follow().await?;
        if self.was_pruned {
            self.read_archive(run).await?;
        }
        if let Some(late) = self.granted.get(&run) {
            logs.retain(|(log, _)| !late.contains(&(log.step, log.attempt, log.delivery)));
        }
        Ok(logs)
    }

    /// Reads the new events of the journal.
    async fn follow(&mut self) -> Result<(), StoreError> {
        loop {
            let page = match self.source.journal.tail(self.seen, EVENTS).await {
                Err(StoreError::Pruned { upto }) if upto > self.seen => {
                    (self.seen, self.was_pruned) = (upto, true);
                    continue;
                }
                page => page?,
            };
            let Some(last) = page.last() else { return Ok(()) };
            self.seen = last.position();
            self.learn(page.iter().flat_map(|batch| &batch.events));
        }
    }

    async fn read_archive(&mut self, run: RunId) -> Result<(), StoreError> {
        let mut after = self.end;
        loop {
            let page = self.source.archive.events(run, after, EVENTS).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.position;
            self.learn(page.iter());
        }
    }

    fn learn<'e>(&mut self, events: impl Iterator<Item = &'e Arc<RecordedEvent>>) {
        for recorded in events.filter(|it| it.position > self.end) {
            if let Event::Granted(event::Granted { run, step, attempt, delivery, .. }) =
                &recorded.event
            {
                self.granted.entry(*run).or_default().insert((*step, *attempt, *delivery));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::event_batch::{BatchId, EventBatch};
    use windlass_core::id::{Fence, Seq, WorkerId};
    use windlass_core::time::Time;
    use windlass_store::conformance::block_on;

    use super::*;
    use crate::embedded::StoreAddress;

    fn granted(delivery: u16) -> (Time, Event) {
        let event = event::Granted {
            run: RunId(7),
            step: StepIx(1),
            attempt: 1,
            delivery,
            worker: WorkerId(1),
            fence: Fence(u64::from(delivery)),
            seq: Seq(1),
            expires: None,
        };
        (Time::ZERO, Event::Granted(event))
    }

    #[test]
    fn log_of_a_delivery_that_was_granted_after_the_end_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let address = StoreAddress::Folder(folder.path().to_owned());
        let store = block_on(TransferStore::open(&address)).expect("it opens");
        let term = block_on(store.lead("test")).expect("it is free").term;
        for at in 0..3_u16 {
            let (id, after) = (BatchId(u64::from(at)), Position(u64::from(at)));
            let batch = EventBatch::new(term, id, after, [granted(at + 1)]);
            block_on(store.journal.append(Arc::new(batch))).expect("it leads");
        }
        let log = |run, delivery| (LogId::new(RunId(run), StepIx(1), 1, delivery), 9);
        let mut late = LateGrants::after(Position(2), &store);
        let listed = vec![log(7, 1), log(7, 2), log(7, 3)];
        let kept = block_on(late.without_late(RunId(7), listed.clone())).expect("it is read");
        assert_eq!(kept, listed[..2]);
        let other = vec![log(8, 3)];
        assert_eq!(block_on(late.without_late(RunId(8), other.clone())), Ok(other));
    }
}
