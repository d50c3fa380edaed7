//! A journal that outlives its handles, and breaks one promise if it is told to.

use std::sync::{Arc, Mutex, MutexGuard};

use windlass::core::id::Term;
use windlass::core::time::Time;
use windlass::journal::{
    Append, Campaign, Candidate, Journal, JournalError, Leadership, Position, Promise, Stored,
};

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    AcceptsHoles,
    AcceptsOverwriting,
    AnswersTheOldHead,
    ChecksTheTermTooEarly,
    ForgetsTheLastBatch,
    ForgetsTheTerm,
    ForgetsTheTermNumber,
    KnowsBatchesByNameAlone,
    KnowsNoRepeats,
    LetsEverybodyWin,
    ReadsOneBatchTooMany,
    ReadsNothingLargerThanAsked,
    ResignsForOthers,
    RoundsTimes,
    SplitsBatches,
    TakesNamesOfEarlierTerms,
}

impl Flaw {
    pub(crate) const ALL: [Self; 16] = [
        Self::AcceptsHoles,
        Self::AcceptsOverwriting,
        Self::AnswersTheOldHead,
        Self::ChecksTheTermTooEarly,
        Self::ForgetsTheLastBatch,
        Self::ForgetsTheTerm,
        Self::ForgetsTheTermNumber,
        Self::KnowsBatchesByNameAlone,
        Self::KnowsNoRepeats,
        Self::LetsEverybodyWin,
        Self::ReadsOneBatchTooMany,
        Self::ReadsNothingLargerThanAsked,
        Self::ResignsForOthers,
        Self::RoundsTimes,
        Self::SplitsBatches,
        Self::TakesNamesOfEarlierTerms,
    ];

    /// The check that is there for it; others may fail too.
    pub(crate) const fn found_by(self) -> &'static str {
        match self {
            Self::AcceptsHoles => "positions::a_hole_ahead_is_refused",
            Self::AcceptsOverwriting => "positions::a_batch_behind_the_head_is_refused",
            Self::AnswersTheOldHead => "terms::a_campaign_reads_the_exact_head",
            Self::ChecksTheTermTooEarly => {
                "terms::an_append_on_its_way_is_before_the_next_head_or_nowhere"
            }
            Self::ForgetsTheLastBatch => "reopen::what_was_acknowledged_is_there",
            Self::ForgetsTheTerm => "terms::an_append_held_up_until_its_term_has_passed_is_refused",
            Self::ForgetsTheTermNumber => "reopen::a_term_is_never_used_again",
            Self::KnowsBatchesByNameAlone => "append::the_same_name_elsewhere_is_no_repeat",
            Self::KnowsNoRepeats => "crash::an_append_without_answer_is_settled_by_repeating_it",
            Self::LetsEverybodyWin => "terms::of_two_candidates_one_wins",
            Self::ReadsOneBatchTooMany => "tail::a_page_holds_about_as_much_as_was_asked",
            Self::ReadsNothingLargerThanAsked => "tail::a_page_has_at_least_one_batch",
            Self::ResignsForOthers => "terms::a_passed_term_is_given_up_without_effect",
            Self::RoundsTimes => "tail::every_event_reads_as_it_was_written",
            Self::SplitsBatches => "append::a_batch_is_written_whole",
            Self::TakesNamesOfEarlierTerms => "append::the_same_name_in_a_later_term_is_no_repeat",
        }
    }
}

/// What all handles share, as a file would be.
#[derive(Debug, Default)]
pub(crate) struct Storage {
    batches: Vec<Stored>,
    term: Term,
    leader: Option<Candidate>,
    handles: usize,
}

impl Storage {
    fn head(&self) -> Position {
        self.batches.last().map_or(Position(0), |batch| batch.position)
    }
}

/// A handle.
#[derive(Debug)]
pub(crate) struct Flawed {
    storage: Arc<Mutex<Storage>>,
    flaw: Option<Flaw>,
    /// The term that ends with this handle.
    won: Mutex<Option<Term>>,
}

impl Flawed {
    pub(crate) fn storage() -> Arc<Mutex<Storage>> {
        Arc::default()
    }

    pub(crate) fn open(storage: &Arc<Mutex<Storage>>, flaw: Option<Flaw>) -> Self {
        let journal = Self { storage: Arc::clone(storage), flaw, won: Mutex::default() };
        let mut it = journal.locked();
        if it.handles == 0 && journal.has(Flaw::ForgetsTheLastBatch) {
            it.batches.pop();
        }
        if it.handles == 0 && journal.has(Flaw::ForgetsTheTermNumber) {
            it.term = it.batches.last().map_or(Term(0), |batch| batch.term);
        }
        it.handles += 1;
        drop(it);
        journal
    }

    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn locked(&self) -> MutexGuard<'_, Storage> {
        self.storage.lock().expect("nothing panics while it is held")
    }

    fn check(&self, it: &Storage, term: Term) -> Result<(), JournalError> {
        let leads = term == it.term && it.leader.is_some();
        let stale = JournalError::Stale { term, current: it.term };
        if leads || self.has(Flaw::ForgetsTheTerm) { Ok(()) } else { Err(stale) }
    }

    fn campaign_now(&self, candidate: Candidate) -> Campaign {
        let mut it = self.locked();
        if let Some(Candidate { node, address }) =
            it.leader.clone().filter(|_| !self.has(Flaw::LetsEverybodyWin))
        {
            return Campaign::LedBy { node, pid: None, address };
        }
        // Terms need not be counted by one.
        it.term = Term(it.term.0 + 5);
        it.leader = Some(candidate);
        *self.won.lock().expect("nothing panics while it is held") = Some(it.term);
        let (term, mut head, now) = (it.term, it.head(), Time::ZERO);
        if self.has(Flaw::AnswersTheOldHead) {
            head = it.batches.last().map_or(head, Stored::after);
        }
        Campaign::Won(Leadership { term, head, now, generation: 0, expires: false })
    }

    fn resign_now(&self, term: Term) {
        let mut it = self.locked();
        if it.term == term || self.has(Flaw::ResignsForOthers) {
            it.leader = None;
        }
    }

    fn is_repeat(&self, append: &Append, batch: &Stored) -> bool {
        let place = batch.after() == append.after || self.has(Flaw::KnowsBatchesByNameAlone);
        let term = batch.term == append.term || self.has(Flaw::TakesNamesOfEarlierTerms);
        batch.batch == append.batch && place && term && !self.has(Flaw::KnowsNoRepeats)
    }

    fn append_now(&self, append: Append) -> Result<Position, JournalError> {
        let mut it = self.locked();
        if !self.has(Flaw::ChecksTheTermTooEarly) {
            self.check(&it, append.term)?;
        }
        if let Some(batch) = it.batches.iter().find(|batch| self.is_repeat(&append, batch)) {
            return Ok(batch.position);
        }
        let head = it.head();
        let hole = append.after > head && !self.has(Flaw::AcceptsHoles);
        let behind = append.after < head && !self.has(Flaw::AcceptsOverwriting);
        if hole || behind {
            return Err(JournalError::Gap { after: append.after, head });
        }
        let Append { term, after, batch, mut events } = append;
        if self.has(Flaw::RoundsTimes) {
            for recorded in &mut events {
                recorded.at = Time::from_millis(recorded.at.as_millis() / 10 * 10);
            }
        }
        it.batches.retain(|batch| batch.position <= after);
        let mut position = after;
        let whole = if self.has(Flaw::SplitsBatches) { 100 } else { events.len() };
        for events in events.chunks(whole) {
            position = Position(position.0.saturating_add(events.len() as u64));
            it.batches.push(Stored { position, term, batch, events: events.to_vec() });
        }
        Ok(position)
    }

    fn tail_now(&self, after: Position, most: usize) -> Vec<Stored> {
        let it = self.locked();
        let mut page: Vec<Stored> = Vec::new();
        let mut events = 0_usize;
        for batch in it.batches.iter().filter(|batch| batch.position > after) {
            let size = batch.events.len();
            let first = events == 0 && !self.has(Flaw::ReadsNothingLargerThanAsked);
            let more = if self.has(Flaw::ReadsOneBatchTooMany) { size } else { 0 };
            if !first && events + size > most.saturating_add(more).saturating_add(more) {
                break;
            }
            events += size;
            page.push(batch.clone());
        }
        page
    }
}

impl Drop for Flawed {
    fn drop(&mut self) {
        let won = self.won.lock().expect("nothing panics while it is held").take();
        if let Some(term) = won {
            self.resign_now(term);
        }
        self.locked().handles -= 1;
    }
}

impl Journal for Flawed {
    fn campaign(&self, candidate: Candidate) -> Promise<'_, Campaign> {
        Box::pin(async move { Ok(self.campaign_now(candidate)) })
    }

    fn renew(&self, term: Term) -> Promise<'_, ()> {
        Box::pin(async move { self.check(&self.locked(), term) })
    }

    fn resign(&self, term: Term) -> Promise<'_, ()> {
        Box::pin(async move {
            self.resign_now(term);
            Ok(())
        })
    }

    fn append(&self, append: Append) -> Promise<'_, Position> {
        let called = self.check(&self.locked(), append.term);
        Box::pin(async move {
            if self.has(Flaw::ChecksTheTermTooEarly) {
                called?;
            }
            self.append_now(append)
        })
    }

    fn tail(&self, after: Position, most: usize) -> Promise<'_, Vec<Stored>> {
        Box::pin(async move { Ok(self.tail_now(after, most)) })
    }

    fn head(&self) -> Promise<'_, Position> {
        Box::pin(async move { Ok(self.locked().head()) })
    }
}
