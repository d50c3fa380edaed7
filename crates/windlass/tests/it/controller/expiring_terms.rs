//! A journal whose terms expire, as those of a store on another machine do.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::Instant;
use windlass::core::id::{RunId, Term};
use windlass::core::time::Span;
use windlass_store::db::StoreFuture;
use windlass_store::journal::{
    CampaignOutcome, EventBatch, Journal, JournalSnapshot, LeaderCandidate, MemoryJournal,
    Position, StartMark,
};

/// A journal in memory whose terms have this duration; `None` means that they do not expire.
#[derive(Debug)]
pub(super) struct ExpiringTermJournal {
    lasts: Option<Span>,
    held: Mutex<Option<(Term, Instant)>>,
    inner: Arc<MemoryJournal>,
}

impl ExpiringTermJournal {
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

impl Journal for ExpiringTermJournal {
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        Box::pin(async move {
            if let Some(term) = self.run_out() {
                self.inner.resign(term).await?;
            }
            Ok(match self.inner.campaign(candidate).await? {
                CampaignOutcome::Won(mut won) => {
                    self.hold(won.term);
                    won.lasts = self.lasts;
                    CampaignOutcome::Won(won)
                }
                led @ CampaignOutcome::LedBy { .. } => led,
            })
        })
    }

    fn renew(&self, term: Term) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.inner.renew(term).await?;
            self.hold(term);
            Ok(())
        })
    }

    fn resign(&self, term: Term) -> StoreFuture<'_, ()> {
        self.inner.resign(term)
    }

    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        self.inner.append(batch)
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        self.inner.tail(after, most)
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        self.inner.head()
    }

    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()> {
        self.inner.save(snapshot)
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        self.inner.snapshot()
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
        self.inner.mark_start(mark)
    }

    fn clear_start(&self, node: String) -> StoreFuture<'_, ()> {
        self.inner.clear_start(node)
    }

    fn prune(&self, upto: Position) -> StoreFuture<'_, Position> {
        self.inner.prune(upto)
    }
}
