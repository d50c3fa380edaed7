//! A journal between which and its caller things go wrong, as planned.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use windlass_core::id::{RunId, Term};

use crate::journal::{Append, Campaign, Candidate, Journal, Position, Snapshot, StartMark, Stored};
use crate::store::{Promise, StoreError};

const PLACE: &str = "behind faults";

/// A call of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
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

/// What becomes of a call.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Nothing special.
    None,
    /// It never arrives; its caller is told that the outcome is unknown.
    Unsent,
    /// It takes effect; its caller is told that the outcome is unknown.
    Unanswered,
    /// It stands at the gate until that is opened, and is made then.
    Slow(Gate),
    /// It is refused for want of room.
    Full,
}

/// A journal whose calls meet the faults that were planned for them; without one they pass.
#[derive(Debug)]
pub struct Faulty<J: Journal + ?Sized> {
    plan: Mutex<BTreeMap<Call, VecDeque<Fault>>>,
    inner: Arc<J>,
}

impl<J: Journal + ?Sized> Faulty<J> {
    /// A journal without faults.
    pub fn new(inner: Arc<J>) -> Self {
        Self { plan: Mutex::default(), inner }
    }

    /// With a fault for the first call of this kind that has none planned yet.
    #[must_use]
    pub fn with(self, call: Call, fault: Fault) -> Self {
        self.plan(call, fault);
        self
    }

    /// Plans a fault for the first call of this kind that has none planned yet.
    pub fn plan(&self, call: Call, fault: Fault) {
        unpoisoned(&self.plan).entry(call).or_default().push_back(fault);
    }

    /// The call itself is made only when the fault lets it through: a backend may begin before it is polled.
    fn meet<'a, T: Send + 'a>(
        &'a self,
        call: Call,
        make: impl FnOnce(&'a J) -> Promise<'a, T> + Send + 'a,
    ) -> Promise<'a, T> {
        let planned = unpoisoned(&self.plan).get_mut(&call).and_then(VecDeque::pop_front);
        Box::pin(async move {
            match planned.unwrap_or(Fault::None) {
                Fault::None => make(&self.inner).await,
                Fault::Unsent => Err(lost("the connection broke before the call")),
                Fault::Unanswered => {
                    // A refusal is lost on the way back just like a success.
                    drop(make(&self.inner).await);
                    Err(lost("the connection broke after the call"))
                }
                Fault::Slow(gate) => {
                    gate.pass().await;
                    make(&self.inner).await
                }
                Fault::Full => Err(StoreError::Full { place: PLACE.to_owned() }),
            }
        })
    }
}

fn lost(reason: &str) -> StoreError {
    StoreError::Unavailable { place: PLACE.to_owned(), reason: reason.to_owned() }
}

/// Nothing here is left half changed by a panic.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<J: Journal + ?Sized> Journal for Faulty<J> {
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        self.meet(Call::Campaign, |inner| inner.campaign(candidate))
    }

    fn renew(&self, term: Term) -> Promise<'_, ()> {
        self.meet(Call::Renew, move |inner| inner.renew(term))
    }

    fn resign(&self, term: Term) -> Promise<'_, ()> {
        self.meet(Call::Resign, move |inner| inner.resign(term))
    }

    fn append(&self, append: Append) -> Promise<'_, Position> {
        self.meet(Call::Append, |inner| inner.append(append))
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
        self.meet(Call::Tail, move |inner| inner.tail(after, most))
    }

    fn head(&self) -> Promise<'_, Position> {
        self.meet(Call::Head, |inner| inner.head())
    }

    fn save(&self, snapshot: Snapshot) -> Promise<'_, ()> {
        self.meet(Call::Save, |inner| inner.save(snapshot))
    }

    fn snapshot(&self) -> Promise<'_, Option<Snapshot>> {
        self.meet(Call::Snapshot, |inner| inner.snapshot())
    }

    fn foreign_snapshots(&self) -> Promise<'_, Vec<Position>> {
        self.inner.foreign_snapshots()
    }

    fn condemned(&self) -> Promise<'_, BTreeSet<RunId>> {
        self.inner.condemned()
    }

    fn condemn(&self, term: Term, run: RunId) -> Promise<'_, ()> {
        self.inner.condemn(term, run)
    }

    fn start_marks(&self) -> Promise<'_, Vec<StartMark>> {
        self.inner.start_marks()
    }

    fn mark_start(&self, mark: StartMark) -> Promise<'_, ()> {
        self.meet(Call::MarkStart, |inner| inner.mark_start(mark))
    }

    fn clear_start(&self, node: String) -> Promise<'_, ()> {
        self.inner.clear_start(node)
    }

    fn prune(&self, upto: Position) -> Promise<'_, Position> {
        self.meet(Call::Prune, move |inner| inner.prune(upto))
    }
}

/// Holds a call up until the test lets it go.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Mutex<Door>>);

#[derive(Debug, Default)]
struct Door {
    state: DoorState,
    waiting: Vec<Waker>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum DoorState {
    #[default]
    Closed,
    /// Closed, and a call stands before it.
    Reached,
    Open,
}

impl Door {
    fn become_at_least(&mut self, state: DoorState) {
        if self.state < state {
            self.state = state;
            self.waiting.drain(..).for_each(Waker::wake);
        }
    }

    fn wait_for(&mut self, state: DoorState, context: &Context<'_>) -> Poll<()> {
        if self.state >= state {
            return Poll::Ready(());
        }
        if !self.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            self.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets everybody through, now and later.
    pub fn open(&self) {
        unpoisoned(&self.0).become_at_least(DoorState::Open);
    }

    /// Waits until a call stands at the gate, or it was opened.
    pub async fn reached(&self) {
        poll_fn(|context| unpoisoned(&self.0).wait_for(DoorState::Reached, context)).await;
    }

    async fn pass(&self) {
        poll_fn(|context| {
            let mut door = unpoisoned(&self.0);
            door.become_at_least(DoorState::Reached);
            door.wait_for(DoorState::Open, context)
        })
        .await;
    }
}
