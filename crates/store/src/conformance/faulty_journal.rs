//! A journal with planned faults between it and its caller.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use windlass_core::id::{RunId, Term};

use crate::db::{StoreError, StoreFuture};
use crate::journal::{
    CampaignOutcome, EventBatch, Journal, JournalSnapshot, LeaderCandidate, Position, StartMark,
};

const PLACE: &str = "behind faults";

/// A call of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JournalCall {
    /// [`Journal::campaign`]
    Campaign,
    /// [`Journal::renew`]
    Renew,
    /// [`Journal::resign`]
    Resign,
    /// [`Journal::append`]
    Append,
    /// [`Journal::tail`]
    Tail,
    /// [`Journal::head`]
    Head,
    /// [`Journal::save`]
    Save,
    /// [`Journal::snapshot`]
    Snapshot,
    /// [`Journal::prune`]
    Prune,
    /// [`Journal::mark_start`]
    MarkStart,
}

/// The fate of a call.
#[derive(Clone, Debug)]
pub enum JournalFault {
    /// The call passes.
    None,
    /// The call never arrives; its caller gets an unknown outcome.
    Unsent,
    /// The call takes effect; its caller gets an unknown outcome.
    Unanswered,
    /// The call waits at the gate until the test opens it.
    HeldAtGate(CallGate),
    /// The call is refused because the disk is full.
    Full,
}

/// A journal whose calls meet planned faults; other calls pass.
#[derive(Debug)]
pub struct FaultyJournal<J: Journal + ?Sized> {
    plan: Mutex<BTreeMap<JournalCall, VecDeque<JournalFault>>>,
    inner: Arc<J>,
}

impl<J: Journal + ?Sized> FaultyJournal<J> {
    /// Creates a journal without faults.
    pub fn new(inner: Arc<J>) -> Self {
        Self { plan: Mutex::default(), inner }
    }

    /// Plans a fault for the first call of this kind that has none yet.
    #[must_use]
    pub fn with(self, call: JournalCall, fault: JournalFault) -> Self {
        self.plan(call, fault);
        self
    }

    /// Plans a fault for the first call of this kind that has none yet.
    pub fn plan(&self, call: JournalCall, fault: JournalFault) {
        unpoisoned(&self.plan).entry(call).or_default().push_back(fault);
    }

    /// Makes the call unless the fault prevents it. A backend may begin a call before its future is polled.
    fn call_with_fault<'a, T: Send + 'a>(
        &'a self,
        call: JournalCall,
        make: impl FnOnce(&'a J) -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let planned = unpoisoned(&self.plan).get_mut(&call).and_then(VecDeque::pop_front);
        Box::pin(async move {
            match planned.unwrap_or(JournalFault::None) {
                JournalFault::None => make(&self.inner).await,
                JournalFault::Unsent => {
                    Err(lost_connection("the connection broke before the call"))
                }
                JournalFault::Unanswered => {
                    // A lost reply may be a refusal too.
                    drop(make(&self.inner).await);
                    Err(lost_connection("the connection broke after the call"))
                }
                JournalFault::HeldAtGate(gate) => {
                    gate.wait_until_open().await;
                    make(&self.inner).await
                }
                JournalFault::Full => Err(StoreError::Full { place: PLACE.to_owned() }),
            }
        })
    }
}

fn lost_connection(reason: &str) -> StoreError {
    StoreError::Unavailable { place: PLACE.to_owned(), reason: reason.to_owned() }
}

/// Ignores poison: a panic leaves no partial change here.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J: Journal + ?Sized> Journal for FaultyJournal<J> {
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        self.call_with_fault(JournalCall::Campaign, |inner| inner.campaign(candidate))
    }

    fn renew(&self, term: Term) -> StoreFuture<'_, ()> {
        self.call_with_fault(JournalCall::Renew, move |inner| inner.renew(term))
    }

    fn resign(&self, term: Term) -> StoreFuture<'_, ()> {
        self.call_with_fault(JournalCall::Resign, move |inner| inner.resign(term))
    }

    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        self.call_with_fault(JournalCall::Append, |inner| inner.append(batch))
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        self.call_with_fault(JournalCall::Tail, move |inner| inner.tail(after, most))
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        self.call_with_fault(JournalCall::Head, |inner| inner.head())
    }

    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()> {
        self.call_with_fault(JournalCall::Save, |inner| inner.save(snapshot))
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        self.call_with_fault(JournalCall::Snapshot, |inner| inner.snapshot())
    }

    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        self.inner.foreign_snapshots()
    }

    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        self.inner.condemned()
    }

    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()> {
        self.inner.condemn(term, run)
    }

    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        self.inner.start_marks()
    }

    fn mark_start(&self, mark: StartMark) -> StoreFuture<'_, ()> {
        self.call_with_fault(JournalCall::MarkStart, |inner| inner.mark_start(mark))
    }

    fn clear_start(&self, node: String) -> StoreFuture<'_, ()> {
        self.inner.clear_start(node)
    }

    fn prune(&self, upto: Position) -> StoreFuture<'_, Position> {
        self.call_with_fault(JournalCall::Prune, move |inner| inner.prune(upto))
    }
}

/// Holds a call until the test opens the gate.
#[derive(Clone, Debug, Default)]
pub struct CallGate(Arc<Mutex<CallGateInner>>);

#[derive(Debug, Default)]
struct CallGateInner {
    state: CallGateState,
    waiting: Vec<Waker>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum CallGateState {
    #[default]
    Closed,
    /// The gate is closed, and a call waits at it.
    Reached,
    Open,
}

impl CallGateInner {
    fn advance_to(&mut self, state: CallGateState) {
        if self.state < state {
            self.state = state;
            self.waiting.drain(..).for_each(Waker::wake);
        }
    }

    fn wait_for(&mut self, state: CallGateState, context: &Context<'_>) -> Poll<()> {
        if self.state >= state {
            return Poll::Ready(());
        }
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl CallGate {
    /// Creates a closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the gate for all present and later calls.
    pub fn open(&self) {
        unpoisoned(&self.0).advance_to(CallGateState::Open);
    }

    /// Waits until a call arrives at the gate, or the gate is open.
    pub async fn reached(&self) {
        poll_fn(|context| unpoisoned(&self.0).wait_for(CallGateState::Reached, context)).await;
    }

    async fn wait_until_open(&self) {
        poll_fn(|context| {
            let mut door = unpoisoned(&self.0);
            door.advance_to(CallGateState::Reached);
            door.wait_for(CallGateState::Open, context)
        })
        .await;
    }
}
