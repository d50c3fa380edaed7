//! Words to tell a story about a journal with: who leads, what it writes, what is there.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use windlass_core::engine::{Config, Engine, Event};
use windlass_core::id::{Fence, RunId, Seq, StepIx, Term, WorkerId};
use windlass_core::time::Time;

use super::harness::Handle;
use super::report::{Checked, Difference, holds, same, same_list};
use crate::journal::{
    Append, BatchId, Campaign, Candidate, Leadership, Position, Recorded, Stored,
};
use crate::store::StoreError;

/// Waits for a future on this thread: the checks need no runtime, and a backend that does brings its own.
pub fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A leader that counts its own head, as a real one does.
#[derive(Debug)]
pub struct Writer {
    /// Its way to the journal.
    pub journal: Handle,
    /// What it won.
    pub leadership: Leadership,
    /// The position that its next batch follows.
    pub head: Position,
    batches: u64,
}

impl Writer {
    /// Wins a campaign that nobody else can win.
    pub fn win(journal: &Handle, node: &str) -> Result<Self, Difference> {
        match campaign(journal, node)? {
            Campaign::Won(leadership) => {
                let (journal, head) = (Arc::clone(journal), leadership.head);
                Ok(Self { journal, leadership, head, batches: 0 })
            }
            Campaign::LedBy { node, .. } => {
                Err(Difference(format!("nobody leads, and yet a campaign lost to `{node}`")))
            }
        }
    }

    /// Its term.
    pub fn term(&self) -> Term {
        self.leadership.term
    }

    /// Its next batch, of so many events, behind the head that it knows.
    pub fn batch(&mut self, events: usize) -> Append {
        let first = self.head.0;
        let events = (1..=events as u64).map(|event| filler(first + event)).collect();
        self.batch_of(events)
    }

    /// Its next batch, of these events.
    pub fn batch_of(&mut self, events: Vec<Recorded>) -> Append {
        self.batches += 1;
        let batch = BatchId((self.term().0 << 32) | self.batches);
        Append { term: self.term(), after: self.head, batch, events }
    }

    /// Appends a batch that must be taken, and returns it as it must be stored.
    pub fn put(&mut self, append: Append) -> Result<Stored, Difference> {
        let position = block_on(self.journal.append(append.clone()))?;
        let stored = stored(append);
        same("the position of an append", &position, &stored.position)?;
        self.head = position;
        Ok(stored)
    }

    /// Appends so many events, which must be taken.
    pub fn write(&mut self, events: usize) -> Result<Stored, Difference> {
        let append = self.batch(events);
        self.put(append)
    }

    /// Gives its term up.
    pub fn resign(&self) -> Checked {
        Ok(block_on(self.journal.resign(self.term()))?)
    }
}

/// An event that tells where it was meant to be.
pub(super) fn filler(position: u64) -> Recorded {
    let event = Event::Granted {
        run: RunId(1),
        step: StepIx(u32::try_from(position).unwrap_or(u32::MAX)),
        attempt: 1,
        delivery: 1,
        worker: WorkerId(1),
        fence: Fence::new(0, position),
        seq: Seq(position),
        expires: None,
    };
    Recorded { at: Time::from_millis(1_790_000_000_000 + position), event }
}

/// The batch as it must be stored if it is taken.
pub(super) fn stored(append: Append) -> Stored {
    let Append { term, after, batch, events } = append;
    Stored { position: Position(after.0 + events.len() as u64), term, batch, events }
}

pub(super) fn candidate(node: &str) -> Candidate {
    Candidate { node: node.to_owned(), address: Some(format!("{node}.example:7000")) }
}

pub(super) fn campaign(journal: &Handle, node: &str) -> Result<Campaign, StoreError> {
    block_on(journal.campaign(candidate(node)))
}

pub(super) fn append(journal: &Handle, append: Append) -> Result<Position, StoreError> {
    block_on(journal.append(append))
}

pub(super) fn tail(journal: &Handle, after: u64, most: usize) -> Result<Vec<Stored>, Difference> {
    Ok(block_on(journal.tail(Position(after), most))?)
}

/// Demands that the append is refused for its term.
pub(super) fn is_stale(what: &str, answer: &Result<Position, StoreError>) -> Checked {
    let stale = matches!(answer, Err(StoreError::Stale { .. }));
    holds(&format!("{what}: found {answer:?}, promised Stale"), stale)
}

/// Everything in the journal, read from the beginning, after checking that there is no hole in it.
pub fn everything(journal: &Handle) -> Result<Vec<Stored>, Difference> {
    let mut all: Vec<Stored> = Vec::new();
    let mut at = Position(0);
    loop {
        let page = block_on(journal.tail(at, 1000))?;
        if page.is_empty() {
            break;
        }
        for batch in page {
            holds("a batch without events was read", !batch.events.is_empty())?;
            same("the position that a batch follows", &batch.after(), &at)?;
            at = batch.position;
            all.push(batch);
        }
    }
    same("the head, beside the last batch", &block_on(journal.head())?, &at)?;
    Ok(all)
}

/// Demands that the journal holds this and nothing else.
pub(super) fn contains(journal: &Handle, batches: &[Stored]) -> Checked {
    same_list("the journal", &everything(journal)?, batches)
}

/// An engine that folded all of it.
pub fn fold<'a>(batches: impl IntoIterator<Item = &'a [Recorded]>) -> Result<Engine, Difference> {
    let mut engine = Engine::new(Config::default());
    for recorded in batches.into_iter().flatten() {
        let applied = engine.apply(recorded.at, &recorded.event);
        applied.map_err(|error| Difference(format!("{error}: {:?}", recorded.event)))?;
    }
    Ok(engine)
}
