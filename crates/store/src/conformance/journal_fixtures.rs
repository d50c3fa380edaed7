//! Helpers for checks of journals: leaders, batches and the content of a journal.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use windlass_core::engine::{Engine, EngineConfig, Event, event};
use windlass_core::id::{Fence, RunId, Seq, StepIx, Term, WorkerId};
use windlass_core::time::Time;

use super::harness::JournalHandle;
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use crate::db::StoreError;
use crate::journal::{
    BatchId, CampaignOutcome, EventBatch, JournalLeadership, LeaderCandidate, Position,
    RecordedEvent,
};

/// Waits for a future on this thread: the checks need no runtime, and a backend that does has its own.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct UnparkWaker(Thread);
    impl Wake for UnparkWaker {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(UnparkWaker(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A leader that tracks its head, as a controller does.
#[derive(Debug)]
pub struct JournalTestLeader {
    /// The leader's handle.
    pub journal: JournalHandle,
    /// The result of the won campaign.
    pub leadership: JournalLeadership,
    /// The position that its next batch follows.
    pub head: Position,
    batches: u64,
}

impl JournalTestLeader {
    /// Wins a campaign that no other node contests.
    pub fn win(journal: &JournalHandle, node: &str) -> Result<Self, CheckDifference> {
        match campaign(journal, node)? {
            CampaignOutcome::Won(leadership) => {
                let (journal, head) = (Arc::clone(journal), leadership.head);
                Ok(Self { journal, leadership, head, batches: 0 })
            }
            CampaignOutcome::LedBy { node, .. } => {
                Err(CheckDifference(format!("no node leads, but a campaign lost to `{node}`")))
            }
        }
    }

    /// Returns the term of the leader.
    pub fn term(&self) -> Term {
        self.leadership.term
    }

    /// Returns its next batch of this many events, after its head.
    pub fn batch(&mut self, events: usize) -> Arc<EventBatch> {
        let first = self.head.0;
        let events = (1..=events as u64).map(|event| filler(first + event));
        self.batch_of(RecordedEvent::sequence(self.head, events).collect())
    }

    /// Returns its next batch with these events.
    pub fn batch_of(&mut self, events: Vec<Arc<RecordedEvent>>) -> Arc<EventBatch> {
        self.batches += 1;
        let id = BatchId((self.term().0 << 32) | self.batches);
        Arc::new(EventBatch { term: self.term(), id, after: self.head, events })
    }

    /// Appends a batch that must be accepted, and returns it as it must be stored.
    pub fn append_accepted(
        &mut self,
        batch: Arc<EventBatch>,
    ) -> Result<Arc<EventBatch>, CheckDifference> {
        let position = block_on(self.journal.append(Arc::clone(&batch)))?;
        expect_same("the position of an append", &position, &batch.position())?;
        self.head = position;
        Ok(batch)
    }

    /// Appends a batch of this many events, which must be accepted.
    pub fn write(&mut self, events: usize) -> Result<Arc<EventBatch>, CheckDifference> {
        let append = self.batch(events);
        self.append_accepted(append)
    }

    /// Resigns the term.
    pub fn resign(&self) -> CheckResult {
        Ok(block_on(self.journal.resign(self.term()))?)
    }
}

/// Returns the same batch under another term and after another position.
pub(super) fn moved(batch: &EventBatch, term: Term, after: Position) -> Arc<EventBatch> {
    let events = batch.events.iter().map(|recorded| (recorded.at, recorded.event.clone()));
    Arc::new(EventBatch::new(term, batch.id, after, events))
}

/// Returns an event that contains its intended position.
pub(super) fn filler(position: u64) -> (Time, Event) {
    let event = Event::Granted(event::Granted {
        run: RunId(1),
        step: StepIx(u32::try_from(position).unwrap_or(u32::MAX)),
        attempt: 1,
        delivery: 1,
        worker: WorkerId(1),
        fence: Fence::new(0, position),
        seq: Seq(position),
        expires: None,
    });
    (Time::from_millis(1_790_000_000_000 + position), event)
}

pub(super) fn candidate(node: &str) -> LeaderCandidate {
    LeaderCandidate { node: node.to_owned(), address: Some(format!("{node}.example:7000")) }
}

pub(super) fn campaign(journal: &JournalHandle, node: &str) -> Result<CampaignOutcome, StoreError> {
    block_on(journal.campaign(candidate(node)))
}

pub(super) fn append(
    journal: &JournalHandle,
    batch: Arc<EventBatch>,
) -> Result<Position, StoreError> {
    block_on(journal.append(batch))
}

pub(super) fn tail(
    journal: &JournalHandle,
    after: u64,
    most: usize,
) -> Result<Vec<Arc<EventBatch>>, CheckDifference> {
    Ok(block_on(journal.tail(Position(after), most))?)
}

/// Checks that the append is refused because of its term.
pub(super) fn expect_stale(what: &str, answer: &Result<Position, StoreError>) -> CheckResult {
    let stale = matches!(answer, Err(StoreError::Stale { .. }));
    expect_true(&format!("{what}: found {answer:?}, promised Stale"), stale)
}

/// Returns all batches of the journal, and checks that there are no gaps.
pub fn read_all_batches(journal: &JournalHandle) -> Result<Vec<Arc<EventBatch>>, CheckDifference> {
    let mut all: Vec<Arc<EventBatch>> = Vec::new();
    let mut at = Position(0);
    loop {
        let page = block_on(journal.tail(at, 1000))?;
        if page.is_empty() {
            break;
        }
        for batch in page {
            expect_true("a batch without events was read", !batch.events.is_empty())?;
            expect_same("the position that a batch follows", &batch.after, &at)?;
            at = batch.position();
            all.push(batch);
        }
    }
    expect_same("the head, beside the last batch", &block_on(journal.head())?, &at)?;
    Ok(all)
}

/// Checks that the journal has exactly these batches.
pub(super) fn expect_batches(journal: &JournalHandle, batches: &[Arc<EventBatch>]) -> CheckResult {
    expect_same_list("the journal", &read_all_batches(journal)?, batches)
}

/// Returns the engine that has folded these batches.
pub fn fold_events<'a>(
    batches: impl IntoIterator<Item = &'a [Arc<RecordedEvent>]>,
) -> Result<Engine, CheckDifference> {
    let mut engine = Engine::new(EngineConfig::default());
    for recorded in batches.into_iter().flatten() {
        let applied = engine.apply(recorded.at, &recorded.event);
        applied.map_err(|error| CheckDifference(format!("{error}: {:?}", recorded.event)))?;
    }
    Ok(engine)
}
