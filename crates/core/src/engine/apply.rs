//! What each event does to the state. The same code runs when an event is decided and when it is replayed.

use super::event::{EndedAs, Event, Next, Reused, Settled};
use super::lease::Lease;
use super::run::{Avoid, NONE, Run, Spent};
use super::state::Engine;
use super::timer::Timer;
use super::transition::{Change, IllegalChange};
use super::worker::{Worker, WorkerStatus};
use crate::id::{Fence, RunId, Seq, StepIx, Term, WorkerId};
use crate::outcome::{Outcome, OutcomeKind, Output, StepStatus};
use crate::planted::Bug;
use crate::session::{Home, Peer, StopHow};
use crate::time::{Span, Time};

/// An event that does not fit the state: a bug, or a journal that is not this engine's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// It names a run that is not here.
    #[error("there is no run {0}")]
    NoRun(RunId),
    /// It names a worker that is not here.
    #[error("there is no worker {0}")]
    NoWorker(WorkerId),
    /// It names a lease that is not open.
    #[error("lease {0} is not open")]
    NoLease(Fence),
    /// A step cannot be changed so.
    #[error(transparent)]
    Step(#[from] IllegalChange),
}

impl Engine {
    /// Folds an event from a journal into the state.
    pub fn apply(&mut self, at: Time, event: &Event) -> Result<(), ApplyError> {
        self.now = self.now.max(at);
        match event {
            Event::Led { term, ttl, generation, own } => self.led((*term, *ttl, *generation), *own),
            Event::WorkerRegistered { worker, .. } => self.worker_registered(*worker, event),
            Event::WorkerLost { worker } => self.worker_became(*worker, WorkerStatus::Lost)?,
            Event::WorkerReturned { worker } => self.worker_returned(*worker)?,
            Event::WorkerDrained { worker } => self.worker_drained(*worker)?,
            Event::WorkerEnded { worker, .. } => {
                self.worker_became(*worker, WorkerStatus::Ended)?;
            }
            Event::WorkerForgotten { worker } => self.worker_forgotten(*worker)?,
            Event::Braked { .. } => {}
            Event::RunSubmitted { run, plan, options, reused } => {
                let order = self.runs_seen;
                let run = Run::new(*run, order, plan.clone(), *options, self.now);
                self.run_submitted(run, reused)?;
            }
            Event::RunCancelled { run, level, reason } => {
                let run = self.run_ix(*run)?;
                self.runs[run].cancel = Some((*level, *reason));
                self.runs[run].status = crate::outcome::RunStatus::Cancelling;
                self.stop_run(run);
            }
            Event::RunEnded { run, status } => {
                let run = self.run_ix(*run)?;
                self.runs[run].status = *status;
                self.leave_board(run);
            }
            Event::RunSealed { run } => self.run_sealed(*run)?,
            Event::Granted { run, .. } => self.granted(self.run_ix(*run)?, event)?,
            Event::Confirmed { run, step, fence } => {
                self.confirmed(self.lease_ix(*run, *step, *fence)?);
            }
            Event::Started { run, step, fence } => {
                self.started(self.lease_ix(*run, *step, *fence)?)?;
            }
            Event::StopOrdered { run, step, fence, why } => {
                let lease = self.lease_ix(*run, *step, *fence)?;
                let run = self.leases[lease].run;
                self.runs[run].superseded |= *why == crate::session::StopReason::Superseded;
                self.order_stop(lease, (StopHow::Term, *why));
            }
            Event::Ended { run, step, fence, outcome, next, ended } => {
                let lease = self.lease_ix(*run, *step, *fence)?;
                self.lease_ended(lease, outcome, *next, *ended)?;
            }
            Event::BackoffEnded { run, step } => self.make_ready(self.run_ix(*run)?, *step)?,
            Event::StepSettled { run, step, settled } => {
                self.step_settled(self.run_ix(*run)?, *step, settled)?;
            }
            Event::LateOutcome { run, step, fence, outcome } => {
                self.late(*run, *step, *fence, outcome);
            }
            Event::LockForced { lock, fence } => self.lock_forced(lock, *fence),
        }
        Ok(())
    }

    fn run_ix(&self, run: RunId) -> Result<u32, ApplyError> {
        self.run_ids.get(&run).copied().ok_or(ApplyError::NoRun(run))
    }

    fn worker_ix(&self, worker: WorkerId) -> Result<u32, ApplyError> {
        self.worker_ids.get(&worker).copied().ok_or(ApplyError::NoWorker(worker))
    }

    fn lease_ix(&self, run: RunId, step: StepIx, fence: Fence) -> Result<u32, ApplyError> {
        self.lease_of(run, step, fence).ok_or(ApplyError::NoLease(fence))
    }

    /// A takeover: leases of earlier terms have one TTL to be presented. Everything volatile begins anew.
    fn led(&mut self, (term, ttl, generation): (Term, Span, u16), own: Option<WorkerId>) {
        (self.term, self.ttl, self.generation) = (term, ttl, generation);
        (self.own, self.led_at) = (own, self.now);
        for lease in self.leases.indices() {
            let lease = &mut self.leases[lease];
            if lease.led_since.is_none() || self.config.bugs.on(Bug::GracePerTakeover) {
                lease.led_since = Some(self.now);
            }
        }
        for worker in self.workers.indices() {
            self.workers[worker].contact = self.now;
            self.enlist(worker);
            self.watch_worker(worker);
        }
    }

    fn worker_registered(&mut self, id: WorkerId, event: &Event) {
        let Event::WorkerRegistered { name, incarnation, labels, slots, home, .. } = event else {
            return;
        };
        let worker = Worker {
            id,
            name: name.clone(),
            incarnation: *incarnation,
            labels: labels.clone(),
            slots: *slots,
            home: *home,
            status: WorkerStatus::Online,
            drained: false,
            since: self.now,
            leases: Vec::new(),
            classes: Vec::new(),
            groups: std::collections::BTreeMap::new(),
            timer: None,
            peer: Peer::default(),
            contact: self.now,
            told: std::collections::BTreeMap::new(),
            want: 0,
            park_until: Time::ZERO,
            pace_us: 0,
        };
        let worker_ix = match self.worker_ids.get(&id).copied() {
            Some(known) => {
                self.delist(known);
                self.unwatch_worker(known);
                self.parked.remove(&known);
                self.workers[known] = worker;
                known
            }
            None => self.workers.insert(worker),
        };
        self.worker_ids.insert(id, worker_ix);
        self.enlist(worker_ix);
        self.watch_worker(worker_ix);
    }

    fn worker_became(&mut self, id: WorkerId, status: WorkerStatus) -> Result<(), ApplyError> {
        let worker = self.worker_ix(id)?;
        self.workers[worker].status = status;
        self.workers[worker].since = self.now;
        self.workers[worker].peer.unpark();
        self.parked.remove(&worker);
        self.enlist(worker);
        self.watch_worker(worker);
        Ok(())
    }

    fn worker_returned(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let drained = self.workers[self.worker_ix(id)?].drained;
        self.worker_became(id, if drained { WorkerStatus::Draining } else { WorkerStatus::Online })
    }

    fn worker_drained(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let worker = self.worker_ix(id)?;
        self.workers[worker].drained = true;
        if self.workers[worker].status == WorkerStatus::Online {
            self.workers[worker].status = WorkerStatus::Draining;
            self.enlist(worker);
        }
        Ok(())
    }

    fn worker_forgotten(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let worker = self.worker_ix(id)?;
        self.delist(worker);
        self.unwatch_worker(worker);
        self.workers.remove(worker);
        self.worker_ids.remove(&id);
        self.ahead.remove(&worker);
        self.parked.remove(&worker);
        self.notify.remove(&worker);
        Ok(())
    }

    fn run_submitted(&mut self, run: Run, reused: &[Reused]) -> Result<(), ApplyError> {
        let id = run.id;
        let deadline = run.options.timeout.map(|timeout| self.now + timeout);
        self.nodes += run.steps.len();
        self.runs_seen += 1;
        let run_ix = self.runs.insert(run);
        self.run_ids.insert(id, run_ix);
        self.enter_board(run_ix);
        if let Some(deadline) = deadline {
            self.timers.set(deadline, Timer::RunDeadline(run_ix));
        }
        let plan = self.runs[run_ix].plan.clone();
        for reuse in reused {
            self.runs[run_ix].step_mut(reuse.step).change(Change::Reused)?;
            if reuse.output != Output::None {
                self.runs[run_ix].outputs.insert(reuse.step, reuse.output.clone());
            }
        }
        for step in plan.nodes().filter(|node| plan.needs(*node).is_empty()) {
            self.look_at_needs(run_ix, step)?;
        }
        for reuse in reused {
            self.node_ended(run_ix, reuse.step)?;
        }
        Ok(())
    }

    /// Declares a run's locks and finds its lanes.
    fn enter_board(&mut self, run_ix: u32) {
        let plan = self.runs[run_ix].plan.clone();
        for (lock, slots) in super::submit::locks_of(&plan) {
            let lock = self.board.lock(lock);
            self.board.locks[lock].declare(slots);
            self.board.refresh_lock(lock);
        }
        for spec in 0..plan.specs().len() {
            let key = self.lane_key(
                run_ix,
                u32::try_from(spec).expect("specs are fewer than steps"),
                None,
            );
            let lane = self.board.use_lane(key);
            self.runs[run_ix].lanes.push(lane);
        }
    }

    fn leave_board(&mut self, run_ix: u32) {
        for lane in std::mem::take(&mut self.runs[run_ix].lanes) {
            let Some(class) = self.board.leave_lane(lane) else {
                continue;
            };
            for worker in self.workers.indices() {
                self.workers[worker].classes.retain(|other| *other != class);
            }
        }
        let plan = self.runs[run_ix].plan.clone();
        for (lock, slots) in super::submit::locks_of(&plan) {
            self.board.withdraw_lock(lock, slots);
        }
    }

    fn run_sealed(&mut self, id: RunId) -> Result<(), ApplyError> {
        let run_ix = self.run_ix(id)?;
        self.run_ids.remove(&id);
        let run = self.runs.remove(run_ix);
        self.nodes -= run.steps.len();
        Ok(())
    }

    fn granted(&mut self, run_ix: u32, event: &Event) -> Result<(), ApplyError> {
        let Event::Granted { step, attempt, delivery, worker, fence, seq, .. } = *event else {
            return Ok(());
        };
        let worker = self.worker_ix(worker)?;
        let lane = self.dequeue(run_ix, step);
        let place = self.place(run_ix, step, lane);
        let since = self.runs[run_ix].step(step).since;
        let locks = self.board.take(lane, (place, since), fence);
        if locks.is_some() {
            self.board.refresh_rivals(lane);
        }
        self.leave_own_lane(run_ix, step);
        let lease_ix = self.leases.insert(Lease {
            fence,
            run: run_ix,
            step,
            attempt,
            delivery,
            worker,
            seq,
            term: self.term,
            since: self.now,
            ttl: self.ttl,
            led_since: None,
            started_at: None,
            stop: None,
            locks,
            at_worker: self.workers[worker].open(),
            at_run: u32::try_from(self.runs[run_ix].leases.len()).expect("leases are bounded"),
            frozen: None,
            asked_back: false,
            heard: Seq(0),
        });
        self.fences = self.fences.max(fence.count());
        let state = self.runs[run_ix].step_mut(step);
        state.change(Change::Granted)?;
        (state.lease, state.fence, state.delivery) = (lease_ix, fence, delivery);
        self.runs[run_ix].leases.push(lease_ix);
        self.hold(worker, lease_ix, seq);
        Ok(())
    }

    fn hold(&mut self, worker: u32, lease_ix: u32, seq: Seq) {
        let group = self.group_of(lease_ix);
        let it = &mut self.workers[worker];
        it.leases.push(lease_ix);
        it.peer.answered(seq);
        if let Some(group) = group {
            *it.groups.entry(group).or_insert(0) += 1;
        }
        if it.open() > it.slots {
            self.ahead.insert(worker);
        }
    }

    /// The (run, spec) of a lease, where a per-worker limit counts it.
    fn group_of(&self, lease_ix: u32) -> Option<(u32, u32)> {
        let lease = &self.leases[lease_ix];
        let run = &self.runs[lease.run];
        run.spec(lease.step).per_worker?;
        Some((lease.run, run.plan.spec_index(lease.step)?))
    }

    fn confirmed(&mut self, lease_ix: u32) {
        let lease = &mut self.leases[lease_ix];
        (lease.term, lease.since, lease.led_since) = (self.term, self.now, None);
        // Its worker may not have heard of a shorter TTL yet and count on the one that it knows.
        lease.ttl = lease.ttl.max(self.ttl);
    }

    fn started(&mut self, lease_ix: u32) -> Result<(), ApplyError> {
        let lease = &mut self.leases[lease_ix];
        lease.started_at = Some(self.now);
        let (run, step, ttl) = (lease.run, lease.step, lease.ttl);
        let spec = self.runs[run].spec(step);
        if let Some(timeout) = spec.timeout {
            let at = self.now + timeout + spec.kill_grace + ttl;
            self.timers.set(at, Timer::Overdue(lease_ix));
        }
        self.runs[run].step_mut(step).change(Change::Started)?;
        Ok(())
    }

    fn lease_ended(
        &mut self,
        lease_ix: u32,
        outcome: &Outcome,
        next: Next,
        ended: EndedAs,
    ) -> Result<(), ApplyError> {
        let lease = self.let_go(lease_ix);
        let run = &mut self.runs[lease.run];
        run.step_mut(lease.step).lease = NONE;
        if ended == EndedAs::GivenUp || !matches!(next, Next::Done(_)) {
            let spent = if ended == EndedAs::GivenUp { Spent::GivenUp } else { Spent::Reported };
            run.spent.insert(lease.fence, spent);
        }
        match next {
            Next::Done(status) => {
                if outcome.kind == OutcomeKind::Succeeded && outcome.output != Output::None {
                    run.outputs.insert(lease.step, outcome.output.clone());
                }
                run.step_mut(lease.step).change(Change::Ended(status))?;
                self.node_ended(lease.run, lease.step)?;
            }
            Next::Retry { at, avoid } => {
                if let Some(worker) = avoid {
                    run.avoid.insert(lease.step, Avoid { worker, lane: None });
                }
                let state = run.step_mut(lease.step);
                state.change(Change::BackedOff)?;
                state.attempt += 1;
                state.since = at;
                state.delivery = 0;
                if self.config.bugs.on(Bug::RetryCountedAsDelivery) {
                    state.losses += 1;
                } else {
                    state.losses = 0;
                }
                self.timers.set(at, Timer::Retry(lease.run, lease.step));
            }
            Next::Again { charged } => self.hand_back(&lease, charged)?,
        }
        Ok(())
    }

    fn hand_back(&mut self, lease: &Lease, charged: bool) -> Result<(), ApplyError> {
        let state = self.runs[lease.run].step_mut(lease.step);
        state.change(Change::HandedBack)?;
        state.losses += u16::from(charged);
        state.since = self.now;
        self.enqueue(lease.run, lease.step);
        if self.config.bugs.on(Bug::JoinCountedTwice) {
            let plan = self.runs[lease.run].plan.clone();
            for edge in plan.dependents(lease.step).iter().filter(|edge| plan.is_join(edge.step()))
            {
                if self.need_ended(lease.run, edge.step(), None)? {
                    self.node_ended(lease.run, edge.step())?;
                }
            }
        }
        Ok(())
    }

    /// Takes a lease out of everything that knows it.
    fn let_go(&mut self, lease_ix: u32) -> Lease {
        let group = self.group_of(lease_ix);
        let lease = self.leases.remove(lease_ix);
        let worker = &mut self.workers[lease.worker];
        worker.leases.swap_remove(lease.at_worker as usize);
        if let Some(moved) = worker.leases.get(lease.at_worker as usize) {
            self.leases[*moved].at_worker = lease.at_worker;
        }
        if let Some(count) = group.and_then(|group| worker.groups.get_mut(&group)) {
            *count -= 1;
            worker.groups.retain(|_, count| *count > 0);
            self.board.stirred = true;
        }
        if worker.open() <= worker.slots {
            self.ahead.remove(&lease.worker);
        }
        let run = &mut self.runs[lease.run];
        run.leases.swap_remove(lease.at_run as usize);
        if let Some(moved) = run.leases.get(lease.at_run as usize) {
            self.leases[*moved].at_run = lease.at_run;
        }
        let leaks = self.config.bugs.on(Bug::LockLeakedOnCancel) && lease.stop.is_some();
        if let Some(locks) = lease.locks.as_deref().filter(|_| !leaks) {
            self.board.free(locks, lease.fence);
        }
        lease
    }

    fn step_settled(
        &mut self,
        run_ix: u32,
        step: StepIx,
        settled: &Settled,
    ) -> Result<(), ApplyError> {
        let state = self.runs[run_ix].step(step);
        if state.status == StepStatus::Ready {
            self.dequeue(run_ix, step);
        }
        self.leave_own_lane(run_ix, step);
        let run = &mut self.runs[run_ix];
        run.superseded |= matches!(settled, Settled::Superseded { .. });
        let state = run.step_mut(step);
        state.change(Change::Settled(settled.status()))?;
        if let (NONE, Settled::Blocked { cause } | Settled::CancelledByFailure { cause }) =
            (state.cause, settled)
        {
            state.cause = cause.0;
        }
        self.node_ended(run_ix, step)?;
        Ok(())
    }

    fn late(&mut self, run: RunId, step: StepIx, fence: Fence, outcome: &Outcome) {
        let Some(run) = self.run_ids.get(&run).copied() else {
            return;
        };
        self.runs[run].spent.insert(fence, Spent::Late);
        if self.config.bugs.on(Bug::LateOutcomeApplied) && outcome.kind == OutcomeKind::Succeeded {
            let state = self.runs[run].step_mut(step);
            if state.status.is_terminal() {
                state.status = StepStatus::Succeeded;
            }
        }
    }

    fn lock_forced(&mut self, lock: &str, fence: Fence) {
        let Some(lock) = self.board.lock_ids.get(lock).copied() else {
            return;
        };
        self.board.locks[lock].release(fence);
        for lease in self.leases.indices() {
            let lease = &mut self.leases[lease];
            if let (true, Some(locks)) = (lease.fence == fence, &lease.locks) {
                lease.locks = Some(locks.iter().copied().filter(|other| *other != lock).collect());
            }
        }
        self.board.refresh_lock(lock);
    }

    /// Makes sure that a worker's silence is noticed.
    pub(super) fn watch_worker(&mut self, worker: u32) {
        self.unwatch_worker(worker);
        let it = &self.workers[worker];
        let at = match it.status {
            WorkerStatus::Online | WorkerStatus::Draining if it.home == Home::SharedFate => return,
            WorkerStatus::Online | WorkerStatus::Draining => self.silence_ends(worker),
            WorkerStatus::Lost | WorkerStatus::Ended => self.oblivion(worker),
        };
        self.workers[worker].timer = Some(at);
        self.timers.set(at, Timer::Contact(worker));
    }

    pub(super) fn unwatch_worker(&mut self, worker: u32) {
        if let Some(at) = self.workers[worker].timer.take() {
            self.timers.clear(at, Timer::Contact(worker));
        }
    }

    /// When the first lease that a lost worker still has ends, or the worker itself is to be forgotten.
    pub(super) fn oblivion(&self, worker: u32) -> Time {
        let it = &self.workers[worker];
        let leases = it.leases.iter().map(|lease| self.leases[*lease].expires(it.contact));
        leases.min().unwrap_or(it.since + self.config.forget_after)
    }

    /// When the first of a worker's leases ends, or the worker itself counts as lost, if it stays silent.
    pub(super) fn silence_ends(&self, worker: u32) -> Time {
        let it = &self.workers[worker];
        let leases = it.leases.iter().map(|lease| self.leases[*lease].expires(it.contact));
        leases.chain([it.contact + self.ttl]).min().expect("the worker's own end is among them")
    }
}
