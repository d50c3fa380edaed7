//! A journal whose terms run out, as those of a store on another machine do.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use windlass::core::id::{RunId, Term};
use windlass::core::time::Span;
use windlass::journal::{
    Append, Campaign, Candidate, Journal, MemoryJournal, Position, Snapshot, StartMark, Stored,
};
use windlass::store::Promise;

/// A journal in memory whose terms last so long, or for ever.
#[derive(Debug)]
pub(super) struct Lasting {
    lasts: Option<Span>,
    held: Mutex<Option<(Term, Instant)>>,
    inner: Arc<MemoryJournal>,
}

impl Lasting {
    pub(super) fn new(lasts: Option<Span>, inner: MemoryJournal) -> Self {
        Self { lasts, held: Mutex::default(), inner: Arc::new(inner) }
    }

    fn held(&self) -> MutexGuard<'_, Option<(Term, Instant)>> {
        self.held.lock().expect("nothing panics while it is held")
    }

    fn hold(&self, term: Term) {
        let until = |lasts: Span| Instant::now() + Duration::from_millis(lasts.as_millis());
        *self.held() = self.lasts.map(|lasts| (term, until(lasts)));
    }

    fn run_out(&self) -> Option<Term> {
        self.held().take_if(|(_, until)| *until <= Instant::now()).map(|(term, _)| term)
    }
}

impl Journal for Lasting {
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        Box::pin(async move {
            if let Some(term) = self.run_out() {
                self.inner.resign(term).await?;
            }
            Ok(match self.inner.campaign(candidate).await? {
                Campaign::Won(mut won) => {
                    self.hold(won.term);
                    won.lasts = self.lasts;
                    Campaign::Won(won)
                }
                led @ Campaign::LedBy { .. } => led,
            })
        })
    }

    fn renew(&self, term: Term) -> Promise<'_, ()> {
        Box::pin(async move {
            self.inner.renew(term).await?;
            self.hold(term);
            Ok(())
        })
    }

    fn resign(&self, term: Term) -> Promise<'_, ()> {
        self.inner.resign(term)
    }

    fn append(&self, append: Append) -> Promise<'_, Position> {
        self.inner.append(append)
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
        self.inner.tail(after, most)
    }

    fn head(&self) -> Promise<'_, Position> {
        self.inner.head()
    }

    fn save(&self, snapshot: Snapshot) -> Promise<'_, ()> {
        self.inner.save(snapshot)
    }

    fn snapshot(&self) -> Promise<'_, Option<Snapshot>> {
        self.inner.snapshot()
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
        self.inner.mark_start(mark)
    }

    fn clear_start(&self, node: String) -> Promise<'_, ()> {
        self.inner.clear_start(node)
    }

    fn prune(&self, upto: Position) -> Promise<'_, Position> {
        self.inner.prune(upto)
    }
}
