//! Rules for committed records.

use std::collections::BTreeSet;

use windlass_core::engine::{CancelLevel, CancelReason, Event, StepSettlement, event};
use windlass_core::id::{Fence, RunId, Term, WorkerId};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::session::{StopReason, WorkerLocality};
use windlass_core::time::{Span, Time};

use super::run_state::{WitnessRun, WitnessStep};
use super::state::{BrokenRule, SimWitness, WitnessWorker, require};
use crate::sim::coverage_marks::CoverageMarks;

/// How long a lease may still be open after it must have ended.
const SWEEP_SLACK: Span = Span::secs(15);

/// An event that the journal accepted.
pub(crate) struct CommittedEvent<'a> {
    /// The term of the leader that wrote it.
    pub(crate) term: Term,
    /// The current term when it was accepted.
    pub(crate) current: Term,
    pub(crate) at: Time,
    /// The true time at which it was accepted.
    pub(crate) truth: u64,
    pub(crate) event: &'a Event,
}

impl SimWitness {
    pub(crate) fn commit(
        &mut self,
        record: &CommittedEvent<'_>,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let CommittedEvent { term, current, at, truth, event } = *record;
        require(term == current, "I11 leader fence", || {
            format!("{term} wrote {event:?} while {current} led")
        })?;
        if !matches!(event, Event::Led(_)) {
            self.leases_end_in_time(at)?;
        }
        self.proves_what_passed(event, truth)?;
        mark(event, marks);
        self.note_presence(event);
        self.note_time(at, event);
        self.last_truth = truth;
        self.fold(at, event, marks)
    }

    fn fold(
        &mut self,
        at: Time,
        event: &Event,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        match event {
            Event::Led(event::Led { term, own, embargo, .. }) => {
                self.embargoed(*term, *embargo);
                self.check_leader(*term, *own)
            }
            Event::WorkerRegistered(event) => {
                self.registered(event, marks);
                Ok(())
            }
            Event::RunSubmitted(event) => self.submitted(at, event, marks),
            Event::Granted(event) => {
                self.not_revoked(event.worker, event.fence)?;
                self.granted(at, event, marks)
            }
            Event::Confirmed(event::Confirmed { fence, .. }) => {
                self.lease_mut(*fence)?.led_since = None;
                Ok(())
            }
            Event::StopOrdered(event::StopOrdered { fence, .. }) => {
                self.lease_mut(*fence).map(|_| ())
            }
            Event::LeaseEnded(event) if event.ended.is_late() => self.ended_late(at, event, marks),
            Event::LeaseEnded(event) => self.ended(at, event, marks),
            Event::ConditionHeld(event::ConditionHeld { run, step })
            | Event::BackoffEnded(event::BackoffEnded { run, step }) => {
                let book = self.step_mut(*run, *step)?;
                (book.backing_off, book.since) = (false, at);
                Ok(())
            }
            Event::StepSettled(event::StepSettled { run, step, settled }) => {
                self.settled((*run, *step), settled, at)
            }
            Event::LateOutcome(event::LateOutcome { run, fence, .. }) => self.late(*run, *fence),
            Event::KeyTaken(_) | Event::KeyAwaited(_) | Event::KeyRecalled(_) => {
                self.asked_for_key(at, event, marks)
            }
            _ => self.fold_change_of_run(at, event),
        }
    }

    fn fold_change_of_run(&mut self, at: Time, event: &Event) -> Result<(), BrokenRule> {
        match event {
            Event::RunCancelled(event) => self.cancelled(at, event),
            Event::RunEnded(event::RunEnded { run, status }) => self.run_ended(*run, *status),
            Event::RunSealed(event::RunSealed { run }) => self.run_sealed(*run),
            Event::RunInterrupted(event::RunInterrupted { run }) => self.interrupted(*run, at),
            Event::RunResumed(event) => self.resumed(at, event),
            // Workers and access: see `note_presence`.
            _ => Ok(()),
        }
    }

    fn cancelled(&mut self, at: Time, event: &event::RunCancelled) -> Result<(), BrokenRule> {
        if event.reason == CancelReason::Deadline {
            self.deadline_passed(event.run, at)?;
        }
        let book = self.run_mut(event.run)?;
        book.cancel = Some(event.level);
        if book.status == RunStatus::Interrupted {
            book.status = RunStatus::Running;
        }
        Ok(())
    }

    fn embargoed(&mut self, term: Term, embargo: Option<Time>) {
        self.embargo = embargo.unwrap_or_default().max(self.embargo);
        // A leader that learns of a loss takes over from itself.
        if term == self.term && embargo.is_some() {
            self.term = Term(term.0 - 1);
        }
    }

    fn not_revoked(&self, worker: WorkerId, fence: Fence) -> Result<(), BrokenRule> {
        require(!self.revoked.contains(&worker), "I22 access", || {
            format!("{fence} for {worker}, which was revoked")
        })
    }

    fn registered(&mut self, event: &event::WorkerRegistered, marks: &mut CoverageMarks) {
        let event::WorkerRegistered { worker, incarnation, labels, slots, scope, locality, .. } =
            event;
        let (incarnation, labels) = (*incarnation, labels.clone());
        let (scope, locality) = (*scope, *locality);
        let book = WitnessWorker { incarnation, labels, slots: *slots, scope, locality };
        if self.workers.insert(*worker, book).is_some() {
            marks.hit("restarted worker took over");
        }
    }

    /// Checks that a leader that takes over proves no more time since the last event than has really passed.
    fn proves_what_passed(&self, event: &Event, truth: u64) -> Result<(), BrokenRule> {
        let Event::Led(event::Led { term, proven, .. }) = event else { return Ok(()) };
        let passed = Span::millis(truth - self.last_truth);
        // Clocks drift.
        let most = passed + passed.divided_by(25) + Span::millis(10);
        require(proven.passed <= most && proven.led <= proven.passed, "I24 proof", || {
            format!("{term} proves {proven:?} after {passed}")
        })
    }

    /// Records the time of an event. Between a takeover and the event before it, no leader is known to have led, except
    /// for the time that was observed. Journal time may have jumped there.
    fn note_time(&mut self, at: Time, event: &Event) {
        let gap = at.since(self.last_event);
        match event {
            Event::Led(event::Led { term, proven, .. }) if *term != self.term => {
                self.absences.push((self.last_event + proven.led.min(gap), at));
                if self.embargo > self.last_event {
                    self.embargo = self.embargo + gap;
                }
            }
            _ => self.led_in_all = self.led_in_all + gap,
        }
        self.last_event = at;
    }

    /// Returns for how much of the time since then a leader led.
    pub(super) fn led_time(&self, since: Time, at: Time) -> Span {
        let absent = self.absences.iter().map(|(from, to)| to.since((*from).max(since)));
        absent.fold(at.since(since), Span::saturating_sub)
    }

    /// Checks that the deadline of a run counts only the time under a leader.
    fn deadline_passed(&self, run: RunId, at: Time) -> Result<(), BrokenRule> {
        let Some(book) = self.runs.get(&run) else { return Ok(()) };
        let led = book.active + self.led_time(book.active_since, at);
        require(book.timeout.is_some_and(|timeout| led >= timeout), "L5 deadlines", || {
            format!("run {run} was ended by its deadline after {led} under a leader")
        })
    }

    /// Records which workers are present and can receive grants.
    fn note_presence(&mut self, event: &Event) {
        if let Event::WorkerRegistered(event::WorkerRegistered { worker, .. }) = event {
            self.drained.remove(worker);
        }
        if let Event::WorkerRegistered(event::WorkerRegistered { worker, .. })
        | Event::WorkerReturned(event::WorkerReturned { worker }) = event
        {
            self.lost.remove(worker);
        }
        if let Event::WorkerLost(event::WorkerLost { worker })
        | Event::WorkerEnded(event::WorkerEnded { worker, .. })
        | Event::WorkerForgotten(event::WorkerForgotten { worker }) = event
        {
            self.lost.insert(*worker);
        }
        if let Event::WorkerDrained(event::WorkerDrained { worker })
        | Event::WorkerRevoked(event::WorkerRevoked { worker }) = event
        {
            self.drained.insert(*worker);
        }
        if let Event::WorkerRevoked(event::WorkerRevoked { worker }) = event {
            self.revoked.insert(*worker);
        }
        if let Event::WorkerEnded(event::WorkerEnded { worker, incarnation }) = event {
            self.ended_incarnations.insert((*worker, *incarnation));
        }
        if let Event::LockForced(event::LockForced { lock, fence }) = event {
            self.forced.insert((*fence, lock.clone()));
        }
    }

    fn check_leader(&mut self, term: Term, own: Option<WorkerId>) -> Result<(), BrokenRule> {
        require(term > self.term, "I11 leader fence", || format!("{term} after {}", self.term))?;
        (self.term, self.own) = (term, own);
        for fence in &self.live {
            let lease = self.leases.get_mut(fence).expect("live leases are in the books");
            lease.led_since.get_or_insert(self.led_in_all);
        }
        Ok(())
    }

    /// Checks that an unconfirmed lease ends when terms together have lasted a TTL since the first takeover, not since
    /// the last.
    fn leases_end_in_time(&self, at: Time) -> Result<(), BrokenRule> {
        for fence in &self.live {
            let lease = &self.leases[fence];
            let locality = self.workers.get(&lease.worker).map(|worker| worker.locality);
            let Some(led) = lease.led_since.filter(|_| locality != Some(WorkerLocality::SameHost))
            else {
                continue;
            };
            let unconfirmed = (self.led_in_all + at.since(self.last_event)).saturating_sub(led);
            require(unconfirmed <= Span::millis(self.ttl) + SWEEP_SLACK, "L5 deadlines", || {
                format!("{fence} is open at {at}, unconfirmed for {unconfirmed} of terms")
            })?;
        }
        Ok(())
    }

    fn submitted(
        &mut self,
        at: Time,
        event: &event::RunSubmitted,
        marks: &mut CoverageMarks,
    ) -> Result<(), BrokenRule> {
        let event::RunSubmitted { run, plan, options, reused } = event;
        require(!self.runs.contains_key(run), "I1 single accept", || {
            format!("run {run} was submitted twice")
        })?;
        let fresh = WitnessStep {
            status: StepStatus::Waiting,
            lease: None,
            newest: None,
            attempt: 1,
            charged: 0,
            accepted: 0,
            since: at,
            backing_off: false,
            passed: 0,
        };
        let mut book = WitnessRun {
            plan: plan.clone(),
            options: *options,
            active_since: at,
            active: Span::ZERO,
            timeout: options.timeout,
            order: self.runs.len() as u64,
            status: RunStatus::Running,
            cancel: None,
            failed: false,
            steps: vec![fresh; plan.node_count() as usize],
            idle: BTreeSet::new(),
        };
        for reuse in reused {
            marks.hit("reused outcome");
            book.steps[reuse.step.0 as usize].status = StepStatus::Cached;
        }
        self.runs.insert(*run, book);
        Ok(())
    }

    /// Checks a late report. The engine knows nothing of a sealed run: any report for it is late.
    fn late(&self, run: RunId, fence: Fence) -> Result<(), BrokenRule> {
        let sealed = self.sealed.contains(&run);
        let late = self.leases.get(&fence).is_some_and(|lease| sealed || !lease.is_accepted());
        require(late, "I1 single accept", || {
            format!("an outcome of {fence} is called late and was accepted, or never granted")
        })
    }

    fn run_sealed(&mut self, run: RunId) -> Result<(), BrokenRule> {
        let at_rest = self.run_mut(run)?.status.is_at_rest();
        self.ever_sealed.insert(run);
        require(at_rest, "I10 state machine", || format!("run {run} is sealed and has not ended"))?;
        require(self.sealed.insert(run), "I10 state machine", || {
            format!("run {run} is sealed twice")
        })
    }

    fn run_ended(&mut self, run: RunId, status: RunStatus) -> Result<(), BrokenRule> {
        let book = self.run_mut(run)?;
        let open = book.plan.nodes().find(|node| !book.status(*node).is_terminal());
        require(open.is_none(), "I14 conservation", || {
            format!("run {run} ended while {open:?} is open")
        })?;
        let wrong = status == RunStatus::Succeeded && (book.failed || book.cancel.is_some());
        require(!wrong, "I10 state machine", || {
            format!("run {run} succeeded in spite of a failure")
        })?;
        book.status = status;
        Ok(())
    }
}

/// Hits the coverage marks that an event alone justifies.
fn mark(event: &Event, marks: &mut CoverageMarks) {
    match event {
        Event::WorkerReturned(_) => marks.hit("worker returned"),
        Event::WorkerEnded(_) => marks.hit("guard reported the end of an incarnation"),
        Event::Braked(_) => marks.hit("brake on mass loss"),
        Event::RunCancelled(event::RunCancelled { reason: CancelReason::Defect, .. }) => {
            marks.hit("run condemned");
        }
        Event::RunCancelled(event::RunCancelled { level: CancelLevel::Kill, .. }) => {
            marks.hit("cancelled: killed");
        }
        Event::RunCancelled(event::RunCancelled { level: CancelLevel::Stop, .. }) => {
            marks.hit("cancelled: stopped");
        }
        Event::LockForced(_) => marks.hit("lock released by force"),
        Event::WorkerRevoked(_) => marks.hit("worker revoked"),
        Event::Confirmed(_) => marks.hit("lease confirmed by a new leader"),
        Event::StopOrdered(event::StopOrdered { why: StopReason::Overdue, .. }) => {
            marks.hit("overdue step ordered to stop");
        }
        Event::LateOutcome(_) => marks.hit("late outcome kept"),
        Event::RunInterrupted(_) => marks.hit("run interrupted"),
        Event::RunResumed(_) => marks.hit("run resumed"),
        Event::StepSettled(event::StepSettled { settled, .. }) => mark_settled(settled, marks),
        Event::Led(_)
        | Event::WorkerRegistered(_)
        | Event::WorkerLost(_)
        | Event::WorkerDrained(_)
        | Event::WorkerForgotten(_)
        | Event::RunSubmitted(_)
        | Event::RunEnded(_)
        | Event::RunSealed(_)
        | Event::Granted(_)
        | Event::Started(_)
        | Event::StopOrdered(_)
        | Event::LeaseEnded(_)
        | Event::BackoffEnded(_)
        | Event::ConditionHeld(_)
        | Event::WorkerEnrolled(_)
        | Event::TokenCreated(_)
        | Event::TokenRevoked(_)
        | Event::Acted(_)
        | Event::KeyTaken(_)
        | Event::KeyAwaited(_)
        | Event::KeyRecalled(_) => {}
    }
}

fn mark_settled(settled: &StepSettlement, marks: &mut CoverageMarks) {
    match settled {
        StepSettlement::Blocked { .. } => marks.hit("blocked by a failed need"),
        StepSettlement::Withheld { .. } => marks.hit("withheld: a need could not run"),
        StepSettlement::SkippedUnplaceable => marks.hit("skipped: no worker could run it"),
        StepSettlement::CancelledByFailure { .. } => marks.hit("fail-fast ended the rest"),
        StepSettlement::SkippedByCondition => marks.hit("skipped by condition"),
        StepSettlement::SkippedByValues { .. } => marks.hit("skipped by values"),
        StepSettlement::Superseded { .. } => marks.hit("newer run superseded an older one"),
        StepSettlement::FailedNoWorker => marks.hit("no worker to run it in time"),
        StepSettlement::CancelledWithRun
        | StepSettlement::FailedCondition { .. }
        | StepSettlement::FailedNoLock
        | StepSettlement::FailedTooLarge { .. }
        | StepSettlement::FailedKey { .. }
        | StepSettlement::FailedNoKey { .. }
        | StepSettlement::FailedAncestorKey { .. } => {}
        StepSettlement::FailedAncestorLock { .. } => {
            marks.hit("failed at the lock of an ancestor");
        }
    }
}
