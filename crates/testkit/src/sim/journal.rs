//! The store: a linearizable journal with terms, and the ways in which it fails.

use std::sync::Arc;

use windlass_core::engine::{Event, StoreHistory, event};
use windlass_core::event_batch::{BatchId, EventBatch};
use windlass_core::id::{Fence, Term};
use windlass_core::leader::TermRecord;
use windlass_core::planted_bugs::{PlantedBug, PlantedBugs};
use windlass_core::recorded_event::RecordedEvent;
use windlass_core::time::{Span, Time};

use super::clock::WallClock;
use super::maintenance::sealed_run;
use super::schedule::{CrashPoint, FaultKind, SimMode};
use super::witness::CommittedEvent;
use super::world::{SimEvent, SimWorld};

/// How long a term lasts without renewal.
pub(crate) const TERM_TTL: u64 = 6_000;

/// One event in the journal, with the circumstances of its append.
#[derive(Clone, Debug)]
pub(crate) struct SimRecord {
    pub(crate) batch: BatchId,
    pub(crate) at: Time,
    pub(crate) event: Event,
    /// The true time at which the journal accepted it.
    pub(crate) truth: u64,
}

/// What tells the last event of a journal from others: its position and its batch.
pub(crate) type SimJournalHead = (usize, Option<BatchId>);

/// The store's state.
#[derive(Clone, Debug)]
pub(crate) struct SimJournal {
    pub(crate) records: Vec<SimRecord>,
    pub(crate) term: Term,
    /// The term whose holder may write; `None` once it has resigned.
    holder_term: Option<Term>,
    /// A counter that grows with each won campaign, renewal and resignation.
    lease_changes: u64,
    /// How long the term lasts without renewal: zero once it was given back.
    term_duration: u64,
    /// When it ends by the store's clock, on which nothing should depend.
    term_ends_at: u64,
    /// The store's own clock: a takeover begins journal time with it.
    pub(crate) clock: WallClock,
    /// What the store knows about its history, until a leader has recorded it.
    history: StoreHistory,
    /// The faults that affect it now.
    pub(crate) active_faults: Vec<FaultKind>,
}

/// A request of a leader to the store.
#[derive(Clone, Debug)]
pub(crate) enum StoreOp {
    /// Asks for a term after this record, if that term is over; otherwise it only asks for the record.
    Campaign(Option<TermRecord>),
    Renew(Term),
    Resign(Term),
    Append(StoreAppend),
}

/// A batch of events to be written behind a position.
#[derive(Clone, Debug)]
pub(crate) struct StoreAppend {
    pub(crate) batch: Arc<EventBatch>,
    /// How many records it follows.
    pub(crate) after: usize,
    /// Whether it came of nothing but the passing of time.
    pub(crate) sweep: bool,
}

/// The answer of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StoreResult {
    Led(Term, u64, StoreHistory),
    NotLed(TermRecord, SimJournalHead),
    Renewed,
    Resigned,
    Appended(BatchId),
    /// The term has passed to another.
    Stale,
    /// The operation failed; its effect is not known.
    Failed(FailedStoreOp),
}

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailedStoreOp {
    Campaign,
    Renew,
    Resign,
    Append,
}

impl Default for SimJournal {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            term: Term::default(),
            holder_term: None,
            lease_changes: 0,
            term_duration: 0,
            term_ends_at: 0,
            clock: WallClock::default(),
            history: StoreHistory::Unbroken,
            active_faults: Vec::new(),
        }
    }
}

impl SimJournal {
    /// Ends one fault of this kind.
    pub(crate) fn recovers(&mut self, from: FaultKind) {
        let same = |ill: &FaultKind| std::mem::discriminant(ill) == std::mem::discriminant(&from);
        if let Some(at) = self.active_faults.iter().position(same) {
            self.active_faults.remove(at);
        }
    }

    fn campaign(&mut self, over: Option<TermRecord>, now: u64, bugs: PlantedBugs) -> StoreResult {
        let wins = if bugs.on(PlantedBug::TermByStoreClock) {
            self.clock.shows(now) >= self.term_ends_at
        } else {
            over == Some(self.mark())
        };
        if !wins {
            return StoreResult::NotLed(self.mark(), self.head());
        }
        self.term = Term(self.term.0 + 1);
        self.holder_term = Some(self.term);
        self.set_term_duration(TERM_TTL, now);
        let history = self.history;
        if bugs.on(PlantedBug::UnprovenForgotten) {
            self.history = StoreHistory::Unbroken;
        }
        StoreResult::Led(self.term, self.clock.shows(now), history)
    }

    fn mark(&self) -> TermRecord {
        TermRecord {
            term: self.term,
            revision: self.lease_changes,
            lasts: Span::millis(self.term_duration),
        }
    }

    fn set_term_duration(&mut self, lasts: u64, now: u64) {
        self.lease_changes += 1;
        self.term_duration = lasts;
        self.term_ends_at = self.clock.shows(now) + lasts;
    }

    fn renew(&mut self, term: Term, now: u64) -> StoreResult {
        if self.holder_term != Some(term) {
            return StoreResult::Stale;
        }
        self.set_term_duration(TERM_TTL, now);
        StoreResult::Renewed
    }

    /// Gives the term back, unless it has passed. True if it was given back.
    fn resign(&mut self, term: Term, now: u64) -> bool {
        let held = self.holder_term == Some(term);
        if held {
            self.holder_term = None;
            self.set_term_duration(0, now);
        }
        held
    }

    pub(crate) fn head(&self) -> SimJournalHead {
        (self.records.len(), self.records.last().map(|record| record.batch))
    }

    fn holds(&self, append: &StoreAppend) -> bool {
        self.records.get(append.after).is_some_and(|record| record.batch == append.batch.id)
    }
}

impl SimWorld<'_> {
    /// Sends an operation to the store. Its effect and its answer are delayed.
    pub(crate) fn ask_store(&mut self, leader: usize, op: StoreOp) {
        let delay = if self.rng.chance(500) { self.store_delay() } else { 1 };
        let incarnation = self.leaders[leader].incarnation;
        self.at(self.now + delay, SimEvent::StoreApply(leader, incarnation, op));
    }

    /// Returns how long a message to or from the store takes.
    fn store_delay(&mut self) -> u64 {
        let slow =
            self.journal.active_faults.iter().any(|ill| matches!(ill, FaultKind::JournalSlow));
        let straggles =
            !self.is_healed() && self.rng.chance(self.schedule.network.long_delays_per_mille / 6);
        match (slow, straggles) {
            (_, true) => self.rng.range(3_000, 9_000),
            (true, false) => self.rng.range(300, 2_500),
            (false, false) => self.rng.range(1, 4),
        }
    }

    pub(crate) fn store_applies(&mut self, leader: usize, incarnation: u32, op: StoreOp) {
        let ill = self
            .journal
            .active_faults
            .iter()
            .copied()
            .find(|ill| !matches!(ill, FaultKind::JournalSlow));
        let failed = match &op {
            StoreOp::Campaign(_) => FailedStoreOp::Campaign,
            StoreOp::Renew(_) => FailedStoreOp::Renew,
            StoreOp::Resign(_) => FailedStoreOp::Resign,
            StoreOp::Append(_) => FailedStoreOp::Append,
        };
        let is_append = matches!(op, StoreOp::Append(_));
        let cut = self.leaders[leader].store_cut_until > self.now;
        let gone = self.leaders[leader].store_gone_until > self.now;
        let result = match ill {
            _ if gone => StoreResult::Failed(failed),
            _ if cut => self.store_may_lose_outcome(op, failed, 300),
            Some(FaultKind::JournalDown) => StoreResult::Failed(failed),
            Some(FaultKind::JournalRefuses) if is_append && self.rng.chance(800) => {
                StoreResult::Failed(failed)
            }
            Some(FaultKind::JournalUnknown) if self.rng.chance(700) => {
                self.store_may_lose_outcome(op, failed, 600)
            }
            Some(_) | None => self.store_executes(op),
        };
        let awaited = self.leaders[leader].incarnation == incarnation;
        if awaited && matches!(result, StoreResult::Appended(_)) {
            self.crashes_at(leader, CrashPoint::AfterAppend);
        }
        let delay = if self.rng.chance(500) { self.store_delay() } else { 1 };
        self.at(self.now + delay, SimEvent::StoreReply(leader, incarnation, result));
    }

    /// Makes the outcome of an operation unknown to the leader.
    fn store_may_lose_outcome(
        &mut self,
        op: StoreOp,
        failed: FailedStoreOp,
        per_mille: u64,
    ) -> StoreResult {
        if self.rng.chance(per_mille) {
            let handed_over = self.journal.holder_term;
            let done = self.store_executes(op);
            match (failed, done) {
                (FailedStoreOp::Campaign, StoreResult::Led(..)) => {
                    self.marks.hit("term won and its winner does not know");
                }
                (FailedStoreOp::Renew, StoreResult::Renewed) => {
                    self.marks.hit("term renewed and its holder does not know");
                }
                (FailedStoreOp::Resign, _) if handed_over != self.journal.holder_term => {
                    self.marks.hit("term handed over and its holder does not know");
                }
                _ => {}
            }
        }
        StoreResult::Failed(failed)
    }

    fn store_executes(&mut self, op: StoreOp) -> StoreResult {
        match op {
            StoreOp::Campaign(over) => self.journal.campaign(over, self.now, self.bugs),
            StoreOp::Renew(term) => self.journal.renew(term, self.now),
            StoreOp::Resign(term) => {
                if self.journal.resign(term, self.now) {
                    self.marks.hit("leader handed its term over");
                }
                StoreResult::Resigned
            }
            StoreOp::Append(append) => self.store_appends(&append),
        }
    }

    fn store_appends(&mut self, append: &StoreAppend) -> StoreResult {
        if self.journal.holds(append) {
            self.marks.hit("append outcome unknown, resolved by repeating");
            return StoreResult::Appended(append.batch.id);
        }
        let unfenced = self.bugs.on(PlantedBug::AppendWithoutFence)
            || (self.bugs.on(PlantedBug::NoTermCheckOnSweep) && append.sweep);
        let behind = append.after != self.journal.records.len();
        if (self.journal.holder_term != Some(append.batch.term) || behind) && !unfenced {
            self.marks.hit("append refused: the term had passed");
            return StoreResult::Stale;
        }
        for recorded in &append.batch.events {
            let RecordedEvent { at, event, .. } = &**recorded;
            self.add_record_to_story(append.batch.term, event);
            let (at, term, current) = (*at, append.batch.term, self.journal.term);
            let record = CommittedEvent { term, current, at, truth: self.now, event };
            let seen = self.witness.commit(&record, &mut self.marks);
            self.check(seen);
            if let Event::WorkerRevoked(event::WorkerRevoked { worker }) = event {
                self.stolen_credential_is_used(usize::try_from(worker.0).expect("workers are few"));
            }
            self.journal.records.push(SimRecord {
                batch: append.batch.id,
                at,
                event: event.clone(),
                truth: self.now,
            });
            self.note_sealing();
            self.note_interruption(event);
        }
        // The first batch of a term records what its leader found.
        self.journal.history = StoreHistory::Unbroken;
        StoreResult::Appended(append.batch.id)
    }

    /// Checks that a run is sealed only if the archive has it.
    fn note_sealing(&mut self) {
        let last = self.journal.records.last().map(|record| &record.event);
        let Some(run) = last.and_then(sealed_run) else { return };
        let archived = self.maintenance.store.may_seal(run, &self.journal.records);
        self.check(archived);
        self.maintenance.run_sealed(run, self.now);
    }

    /// Restores an earlier state of the store: whole batches are gone, and the store reports that or cannot know.
    /// Answers to clients remain: for the engine, a run that is lost as a whole never existed.
    pub(crate) fn store_rolls_back(&mut self, batches: u64, history: StoreHistory) {
        let records = &self.journal.records;
        let end = match batches {
            0 => self.before_newest_exclusive(),
            batches => records_before_last_batches(records, batches),
        };
        let kept = records_never_lost(
            records,
            self.schedule.mode != SimMode::Cluster && history == StoreHistory::Unproven,
        );
        let end = end.max(kept).min(records.len());
        let lost = self.journal.records.len() - end;
        self.add_to_story(|| format!("the store rolls back by {lost} events, {history:?}"));
        if lost == 0 {
            return;
        }
        self.marks.hit("store rolled back");
        self.journal.records.truncate(end);
        // Terms that were lost do not come again, and no leader holds this one.
        self.journal.term = Term(self.journal.term.0 + 1);
        self.maintenance.rolled_back(&self.journal.records, self.journal.term);
        // The new server knows what it had learned of the term: also that it was given back, or nothing.
        let lasts = if self.rng.chance(500) { TERM_TTL } else { 0 };
        self.journal.set_term_duration(lasts, self.now);
        self.journal.holder_term = None;
        self.journal.history = self.journal.history.max(history);
        let seen = self.witness.rolled_back(self.schedule, &self.journal.records);
        self.check(seen);
    }

    /// Returns the number of records before the newest grant of a running exclusive step.
    fn before_newest_exclusive(&self) -> usize {
        let running: Vec<Fence> = self.witness.exclusive_now().map(|(fence, _)| fence).collect();
        let granted = |record: &SimRecord| matches!(&record.event, Event::Granted(event::Granted { fence, .. }) if running.contains(fence));
        let records = &self.journal.records;
        records
            .iter()
            .rposition(granted)
            .map_or(records.len(), |at| records_before_batch(records, records[at].batch))
    }

    fn add_record_to_story(&mut self, term: Term, event: &Event) {
        self.add_to_story(|| match event {
            Event::RunSubmitted(event::RunSubmitted { run, .. }) => {
                format!("journal {term}: RunSubmitted {run}")
            }
            event => format!("journal {term}: {event:?}"),
        });
    }
}

/// How many records there were before a batch.
fn records_before_batch(records: &[SimRecord], batch: BatchId) -> usize {
    records.iter().position(|record| record.batch == batch).unwrap_or(records.len())
}

/// Returns the number of records before the last `batches` batches.
fn records_before_last_batches(records: &[SimRecord], batches: u64) -> usize {
    let mut end = records.len();
    for _ in 0..batches {
        let Some(last) = records[..end].last() else { break };
        end = records[..end].iter().rposition(|it| it.batch != last.batch).map_or(0, |at| at + 1);
    }
    end
}

/// Returns the number of records that are never lost. Answers to clients remain: for the engine, a run that is lost as
/// a whole never existed. Of a store that one node leads, a copy from before the first registration of another worker
/// may be taken for the store itself: documented.
fn records_never_lost(records: &[SimRecord], keeps_registration: bool) -> usize {
    let reported = |record: &SimRecord| {
        matches!(
            record.event,
            Event::RunSubmitted(_)
                | Event::RunCancelled(_)
                | Event::WorkerDrained(_)
                | Event::WorkerRevoked(_)
                | Event::LockForced(_)
        )
    };
    let last_told = records.iter().rposition(reported).map_or(BatchId(0), |at| records[at].batch);
    let keeps = records.iter().rposition(|record| record.batch == last_told);
    let first_other = first_remote_registration(records).filter(|_| keeps_registration);
    keeps.max(first_other).map_or(0, |at| at + 1)
}

/// Returns the first registration of a worker that is not the leader's own.
fn first_remote_registration(records: &[SimRecord]) -> Option<usize> {
    let mut leader_worker = None;
    records.iter().position(|record| match &record.event {
        Event::Led(event::Led { own, .. }) => {
            leader_worker = *own;
            false
        }
        Event::WorkerRegistered(event::WorkerRegistered { worker, .. }) => {
            leader_worker != Some(*worker)
        }
        _ => false,
    })
}
