//! A journal that outlives its handles, and breaks one promise on request.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use windlass::core::engine::StoreHistory;
use windlass::core::id::{RunId, Term};
use windlass::core::time::{Span, Time};
use windlass_store::db::{StoreError, StoreFuture};
use windlass_store::journal::{
    CampaignOutcome, EventBatch, Journal, JournalLeadership, JournalSnapshot, LeaderCandidate,
    Position, RecordedEvent, StartMark,
};

/// A promise that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalFlaw {
    AcceptsHoles,
    AcceptsOverwriting,
    AnswersTheOldHead,
    AnswersWhatWasAsked,
    ChecksTheTermTooEarly,
    CondemnsUnderAnyTerm,
    CountsASnapshotTwice,
    CountsWhatIsLeft,
    CutsSnapshots,
    ForgetsSnapshots,
    ForgetsTheLastBatch,
    ForgetsTheTerm,
    ForgetsTheTermNumber,
    ForgetsWhatWasPruned,
    KeepsOneSnapshot,
    KeepsTheLastSaved,
    KnowsBatchesByNameAlone,
    KnowsNoRepeats,
    LetsEveryCandidateWin,
    PrunesBeyondTheSnapshot,
    PrunesMoreThanAsked,
    PrunesStartedBatches,
    PrunesTheLastBatch,
    PrunesWithOneSnapshot,
    ReadsNothingLargerThanAsked,
    ReadsOneBatchTooMany,
    ResignsForOthers,
    ReturnsTheOlderSnapshot,
    RoundsTimes,
    SkipsWhatWasPruned,
    SplitsBatches,
    TakesNamesOfEarlierTerms,
    UsesForeignSnapshots,
    UsesSnapshotsAhead,
}

impl JournalFlaw {
    pub(crate) const ALL: [Self; 34] = [
        Self::AcceptsHoles,
        Self::AcceptsOverwriting,
        Self::AnswersTheOldHead,
        Self::AnswersWhatWasAsked,
        Self::ChecksTheTermTooEarly,
        Self::CondemnsUnderAnyTerm,
        Self::CountsASnapshotTwice,
        Self::CountsWhatIsLeft,
        Self::CutsSnapshots,
        Self::ForgetsSnapshots,
        Self::ForgetsTheLastBatch,
        Self::ForgetsTheTerm,
        Self::ForgetsTheTermNumber,
        Self::ForgetsWhatWasPruned,
        Self::KeepsOneSnapshot,
        Self::KeepsTheLastSaved,
        Self::KnowsBatchesByNameAlone,
        Self::KnowsNoRepeats,
        Self::LetsEveryCandidateWin,
        Self::PrunesBeyondTheSnapshot,
        Self::PrunesMoreThanAsked,
        Self::PrunesStartedBatches,
        Self::PrunesTheLastBatch,
        Self::PrunesWithOneSnapshot,
        Self::ReadsNothingLargerThanAsked,
        Self::ReadsOneBatchTooMany,
        Self::ResignsForOthers,
        Self::ReturnsTheOlderSnapshot,
        Self::RoundsTimes,
        Self::SkipsWhatWasPruned,
        Self::SplitsBatches,
        Self::TakesNamesOfEarlierTerms,
        Self::UsesForeignSnapshots,
        Self::UsesSnapshotsAhead,
    ];

    /// Returns the check that detects this flaw; other checks may fail too.
    pub(crate) const fn found_by(self) -> &'static str {
        match self {
            Self::AcceptsHoles => "positions::a_hole_ahead_is_refused",
            Self::AcceptsOverwriting => "positions::a_batch_behind_the_head_is_refused",
            Self::AnswersTheOldHead => "campaign_races::a_campaign_reads_the_exact_head",
            Self::AnswersWhatWasAsked | Self::PrunesStartedBatches => {
                "snapshot::only_whole_batches_leave"
            }
            Self::ChecksTheTermTooEarly => {
                "campaign_races::an_append_on_its_way_is_before_the_next_head_or_nowhere"
            }
            Self::CountsASnapshotTwice => "snapshot::saved_twice_it_is_one",
            Self::CountsWhatIsLeft => "snapshot::a_pruned_journal_goes_on",
            Self::CutsSnapshots => "snapshot::a_saved_one_reads_back",
            Self::ForgetsSnapshots => "reopen::snapshots_are_there",
            Self::ForgetsTheLastBatch => "reopen::what_was_acknowledged_is_there",
            Self::ForgetsTheTerm => {
                "campaign_races::an_append_held_up_until_its_term_has_passed_is_refused"
            }
            Self::ForgetsTheTermNumber => "reopen::a_term_is_never_used_again",
            Self::ForgetsWhatWasPruned => "reopen::what_has_left_stays_away",
            Self::KeepsOneSnapshot | Self::PrunesBeyondTheSnapshot => {
                "snapshot::nothing_leaves_that_the_older_one_lacks"
            }
            Self::KeepsTheLastSaved | Self::ReturnsTheOlderSnapshot => {
                "snapshot::the_newest_counts"
            }
            Self::KnowsBatchesByNameAlone => "append::the_same_name_elsewhere_is_no_repeat",
            Self::KnowsNoRepeats => "crash::an_append_without_answer_is_settled_by_repeating_it",
            Self::LetsEveryCandidateWin => "terms::of_two_candidates_one_wins",
            Self::PrunesMoreThanAsked => "snapshot::nothing_leaves_beyond_what_was_asked",
            Self::PrunesTheLastBatch => "snapshot::the_last_batch_stays",
            Self::PrunesWithOneSnapshot => "snapshot::without_two_nothing_leaves",
            Self::ReadsNothingLargerThanAsked => "tail::a_page_has_at_least_one_batch",
            Self::ReadsOneBatchTooMany => "tail::a_page_holds_about_as_much_as_was_asked",
            Self::ResignsForOthers => "terms::a_passed_term_is_given_up_without_effect",
            Self::RoundsTimes => "tail::every_event_reads_as_it_was_written",
            Self::SkipsWhatWasPruned => "snapshot::what_has_left_is_not_skipped",
            Self::SplitsBatches => "append::a_batch_is_written_whole",
            Self::TakesNamesOfEarlierTerms => "append::the_same_name_in_a_later_term_is_no_repeat",
            Self::UsesForeignSnapshots => "snapshot::one_of_another_history_is_not_used",
            Self::CondemnsUnderAnyTerm => "condemned::a_passed_term_condemns_nothing",
            Self::UsesSnapshotsAhead => "snapshot::one_ahead_of_the_head_is_not_used",
        }
    }
}

/// The content that all handles share, as a file would be.
#[derive(Debug, Default)]
pub(crate) struct FlawedJournalStorage {
    batches: Vec<Arc<EventBatch>>,
    /// The newest two, the older one first.
    snapshots: Vec<JournalSnapshot>,
    /// Events up to here are pruned.
    pruned: Position,
    term: Term,
    leader: Option<LeaderCandidate>,
    handles: usize,
    condemned: BTreeSet<RunId>,
    starts: Vec<StartMark>,
}

impl FlawedJournalStorage {
    fn head(&self) -> Position {
        self.batches.last().map_or(Position(0), |batch| batch.position())
    }
}

/// A handle.
#[derive(Debug)]
pub(crate) struct FlawedJournal {
    storage: Arc<Mutex<FlawedJournalStorage>>,
    flaw: Option<JournalFlaw>,
    /// The term that ends with this handle.
    won: Mutex<Option<Term>>,
}

impl FlawedJournal {
    pub(crate) fn storage() -> Arc<Mutex<FlawedJournalStorage>> {
        Arc::default()
    }

    pub(crate) fn open(
        storage: &Arc<Mutex<FlawedJournalStorage>>,
        flaw: Option<JournalFlaw>,
    ) -> Self {
        let journal = Self { storage: Arc::clone(storage), flaw, won: Mutex::default() };
        let mut it = journal.locked();
        if it.handles == 0 && journal.has(JournalFlaw::ForgetsTheLastBatch) {
            it.batches.pop();
        }
        if it.handles == 0 && journal.has(JournalFlaw::ForgetsTheTermNumber) {
            it.term = it.batches.last().map_or(Term(0), |batch| batch.term);
        }
        if it.handles == 0 && journal.has(JournalFlaw::ForgetsSnapshots) {
            it.snapshots.clear();
        }
        if it.handles == 0 && journal.has(JournalFlaw::ForgetsWhatWasPruned) {
            it.pruned = Position(0);
        }
        it.handles += 1;
        drop(it);
        journal
    }

    fn has(&self, flaw: JournalFlaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn locked(&self) -> MutexGuard<'_, FlawedJournalStorage> {
        self.storage.lock().expect("nothing panics while it is held")
    }

    fn check(&self, it: &FlawedJournalStorage, term: Term) -> Result<(), StoreError> {
        let leads = term == it.term && it.leader.is_some();
        let stale = StoreError::Stale { term, current: it.term };
        if leads || self.has(JournalFlaw::ForgetsTheTerm) { Ok(()) } else { Err(stale) }
    }

    fn campaign_now(&self, candidate: LeaderCandidate) -> CampaignOutcome {
        let mut it = self.locked();
        if let Some(LeaderCandidate { node, address }) =
            it.leader.clone().filter(|_| !self.has(JournalFlaw::LetsEveryCandidateWin))
        {
            return CampaignOutcome::LedBy { node, pid: None, address };
        }
        // Term numbers may have gaps.
        it.term = Term(it.term.0 + 5);
        it.leader = Some(candidate);
        let head = it.head();
        it.snapshots
            .retain(|kept| kept.position <= head || self.has(JournalFlaw::UsesSnapshotsAhead));
        *self.won.lock().expect("nothing panics while it is held") = Some(it.term);
        let (term, mut head, now) = (it.term, it.head(), Time::ZERO);
        if self.has(JournalFlaw::AnswersTheOldHead) {
            head = it.batches.last().map_or(head, |last| last.after);
        }
        let (generation, history) = (0, StoreHistory::Unbroken);
        CampaignOutcome::Won(JournalLeadership {
            term,
            head,
            now,
            generation,
            history,
            since_head: Span::ZERO,
            since_led: None,
            lasts: None,
        })
    }

    fn resign_now(&self, term: Term) {
        let mut it = self.locked();
        if it.term == term || self.has(JournalFlaw::ResignsForOthers) {
            it.leader = None;
        }
    }

    fn is_repeat(&self, append: &EventBatch, batch: &EventBatch) -> bool {
        let place = batch.after == append.after || self.has(JournalFlaw::KnowsBatchesByNameAlone);
        let term = batch.term == append.term || self.has(JournalFlaw::TakesNamesOfEarlierTerms);
        batch.id == append.id && place && term && !self.has(JournalFlaw::KnowsNoRepeats)
    }

    fn append_now(&self, append: &EventBatch) -> Result<Position, StoreError> {
        let mut it = self.locked();
        if !self.has(JournalFlaw::ChecksTheTermTooEarly) {
            self.check(&it, append.term)?;
        }
        if let Some(batch) = it.batches.iter().find(|batch| self.is_repeat(append, batch)) {
            return Ok(batch.position());
        }
        let head = it.head();
        let hole = append.after > head && !self.has(JournalFlaw::AcceptsHoles);
        let behind = append.after < head && !self.has(JournalFlaw::AcceptsOverwriting);
        if hole || behind {
            return Err(StoreError::Gap { after: append.after, head });
        }
        let EventBatch { term, id, after, events } = append;
        let unit = if self.has(JournalFlaw::RoundsTimes) { 10 } else { 1 };
        let at =
            |recorded: &RecordedEvent| Time::from_millis(recorded.at.as_millis() / unit * unit);
        it.batches.retain(|batch| batch.position() <= *after);
        let mut position = *after;
        let whole = if self.has(JournalFlaw::SplitsBatches) { 100 } else { events.len() };
        for events in events.chunks(whole) {
            let events = events.iter().map(|recorded| (at(recorded), recorded.event.clone()));
            let batch = EventBatch::new(*term, *id, position, events);
            position = batch.position();
            it.batches.push(Arc::new(batch));
        }
        Ok(position)
    }

    fn head_now(&self) -> Position {
        let it = self.locked();
        let left = it.batches.iter().map(|batch| batch.events.len() as u64).sum();
        if self.has(JournalFlaw::CountsWhatIsLeft) { Position(left) } else { it.head() }
    }

    fn tail_now(&self, after: Position, most: usize) -> Result<Vec<Arc<EventBatch>>, StoreError> {
        let it = self.locked();
        if after < it.pruned && !self.has(JournalFlaw::SkipsWhatWasPruned) {
            return Err(StoreError::Pruned { upto: it.pruned });
        }
        let mut page: Vec<Arc<EventBatch>> = Vec::new();
        let mut events = 0_usize;
        for batch in it.batches.iter().filter(|batch| batch.position() > after) {
            let size = batch.events.len();
            let first = events == 0 && !self.has(JournalFlaw::ReadsNothingLargerThanAsked);
            let more = if self.has(JournalFlaw::ReadsOneBatchTooMany) { size } else { 0 };
            if !first && events + size > most.saturating_add(more).saturating_add(more) {
                break;
            }
            events += size;
            page.push(Arc::clone(batch));
        }
        Ok(page)
    }

    fn save_now(&self, mut snapshot: JournalSnapshot) {
        let mut it = self.locked();
        if self.has(JournalFlaw::CutsSnapshots) {
            snapshot.state.truncate(1 << 20);
        }
        if !self.has(JournalFlaw::CountsASnapshotTwice) {
            let name = |kept: &JournalSnapshot| (kept.position, kept.batch);
            it.snapshots.retain(|kept| name(kept) != name(&snapshot));
        }
        it.snapshots.push(snapshot);
        if !self.has(JournalFlaw::KeepsTheLastSaved) {
            it.snapshots.sort_by_key(|kept| kept.position);
        }
        let kept = if self.has(JournalFlaw::KeepsOneSnapshot) { 1 } else { 2 };
        let head = it.head();
        let mut usable = it.snapshots.iter().filter(|kept| self.is_usable(&it, kept)).count();
        let mut snapshots = std::mem::take(&mut it.snapshots);
        snapshots.retain(|snapshot| {
            let surplus = self.is_usable(&it, snapshot) && usable > kept;
            usable -= usize::from(surplus);
            snapshot.position > head || self.is_usable(&it, snapshot) && !surplus
        });
        it.snapshots = snapshots;
    }

    fn snapshot_now(&self) -> Option<JournalSnapshot> {
        let it = self.locked();
        let usable = self.usable(&it);
        let newest = if self.has(JournalFlaw::ReturnsTheOlderSnapshot) {
            usable.first()
        } else {
            usable.last()
        };
        newest.map(|snapshot| (*snapshot).clone())
    }

    fn usable<'a>(&self, it: &'a FlawedJournalStorage) -> Vec<&'a JournalSnapshot> {
        it.snapshots.iter().filter(|kept| self.is_usable(it, kept)).collect()
    }

    fn is_usable(&self, it: &FlawedJournalStorage, kept: &JournalSnapshot) -> bool {
        if kept.position > it.head() {
            return self.has(JournalFlaw::UsesSnapshotsAhead);
        }
        let same =
            |batch: &Arc<EventBatch>| (batch.position(), batch.id) == (kept.position, kept.batch);
        self.has(JournalFlaw::UsesForeignSnapshots) || it.batches.iter().any(same)
    }

    /// The position up to which batches could be pruned, if the last batch did not have to stay.
    fn safe(&self, it: &FlawedJournalStorage, upto: Position) -> Position {
        let safe = match self.usable(it).as_slice() {
            [.., newest] if self.has(JournalFlaw::PrunesBeyondTheSnapshot) => newest.position,
            [.., newest] if self.has(JournalFlaw::PrunesTheLastBatch) && upto >= it.head() => {
                newest.position
            }
            [one] if self.has(JournalFlaw::PrunesWithOneSnapshot) => one.position,
            [.., older, _] => Position(older.position.0 - 1),
            _ => Position(0),
        };
        if self.has(JournalFlaw::PrunesMoreThanAsked) { safe } else { safe.min(upto) }
    }

    fn prune_now(&self, upto: Position) -> Position {
        let mut it = self.locked();
        let safe = self.safe(&it, upto);
        let early = self.has(JournalFlaw::PrunesStartedBatches);
        let goes = |batch: &EventBatch| batch.position() <= safe || early && batch.after < safe;
        let most = it
            .batches
            .len()
            .saturating_sub(usize::from(!self.has(JournalFlaw::PrunesTheLastBatch)));
        let going = it.batches.iter().take(most).take_while(|batch| goes(batch)).count();
        let last = it.batches.drain(..going).next_back();
        if let Some(last) = last {
            it.pruned = last.position();
        }
        if self.has(JournalFlaw::AnswersWhatWasAsked) { safe } else { it.pruned }
    }
}

impl Drop for FlawedJournal {
    fn drop(&mut self) {
        let won = self.won.lock().expect("nothing panics while it is held").take();
        if let Some(term) = won {
            self.resign_now(term);
        }
        self.locked().handles -= 1;
    }
}

impl Journal for FlawedJournal {
    fn campaign(&self, candidate: LeaderCandidate) -> StoreFuture<'_, CampaignOutcome> {
        Box::pin(async move { Ok(self.campaign_now(candidate)) })
    }

    fn renew(&self, term: Term) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.check(&self.locked(), term) })
    }

    fn resign(&self, term: Term) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.resign_now(term);
            Ok(())
        })
    }

    fn append(&self, batch: Arc<EventBatch>) -> StoreFuture<'_, Position> {
        let called = self.check(&self.locked(), batch.term);
        Box::pin(async move {
            if self.has(JournalFlaw::ChecksTheTermTooEarly) {
                called?;
            }
            self.append_now(&batch)
        })
    }

    fn tail(&self, after: Position, most: usize) -> StoreFuture<'_, Vec<Arc<EventBatch>>> {
        Box::pin(async move { self.tail_now(after, most) })
    }

    fn head(&self) -> StoreFuture<'_, Position> {
        Box::pin(async move { Ok(self.head_now()) })
    }

    fn save(&self, snapshot: JournalSnapshot) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.save_now(snapshot);
            Ok(())
        })
    }

    fn snapshot(&self) -> StoreFuture<'_, Option<JournalSnapshot>> {
        Box::pin(async move { Ok(self.snapshot_now()) })
    }

    fn foreign_snapshots(&self) -> StoreFuture<'_, Vec<Position>> {
        Box::pin(async move {
            let it = self.locked();
            let foreign = it.snapshots.iter().filter(|kept| !self.is_usable(&it, kept));
            Ok(foreign.map(|kept| kept.position).collect())
        })
    }

    fn condemned(&self) -> StoreFuture<'_, BTreeSet<RunId>> {
        Box::pin(async { Ok(self.locked().condemned.clone()) })
    }

    fn condemn(&self, term: Term, run: RunId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut it = self.locked();
            if !self.has(JournalFlaw::CondemnsUnderAnyTerm) {
                self.check(&it, term)?;
            }
            it.condemned.insert(run);
            Ok(())
        })
    }

    fn start_marks(&self) -> StoreFuture<'_, Vec<StartMark>> {
        Box::pin(async { Ok(self.locked().starts.clone()) })
    }

    fn mark_start(&self, mark: StartMark) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.locked().starts = vec![mark];
            Ok(())
        })
    }

    fn clear_start(&self, _: String) -> StoreFuture<'_, ()> {
        Box::pin(async {
            self.locked().starts.clear();
            Ok(())
        })
    }

    fn prune(&self, upto: Position) -> StoreFuture<'_, Position> {
        Box::pin(async move { Ok(self.prune_now(upto)) })
    }
}
