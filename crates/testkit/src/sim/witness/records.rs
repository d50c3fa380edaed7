//! Rules on committed records.

use windlass_core::engine::{AGING, CancelLevel, EndedAs, Event, Next, Settled, UNHEARD_MAX};
use windlass_core::id::{Fence, RunId, StepIx, Term, WorkerId};
use windlass_core::outcome::{OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::{Pin, WorkerFacts};
use windlass_core::session::StopReason;
use windlass_core::time::{Span, Time};

use super::books::{Broken, LeaseBook, RunBook, StepBook, Witness, WorkerBook, must};
use crate::sim::marks::Marks;

/// A step that others passed this often at its locks has been starved: the engine reserves after eight.
const PASSED_MAX: u32 = 30;

/// How long after a lease must have ended it may still be seen open.
const SWEEP_SLACK: Span = Span::secs(15);

impl Witness {
    /// An event was committed by the leader of `term` while the store's term was `current`.
    pub(crate) fn commit(
        &mut self,
        term: Term,
        current: Term,
        at: Time,
        event: &Event,
        marks: &mut Marks,
    ) -> Result<(), Broken> {
        must(term == current, "I11 leader fence", || {
            format!("{term} wrote {event:?} while {current} led")
        })?;
        if !matches!(event, Event::Led { .. }) {
            self.leases_end_in_time(at)?;
        }
        match event {
            Event::Led { term, own, .. } => self.led(*term, *own, at),
            Event::WorkerRegistered { worker, incarnation, labels, slots, .. } => {
                if self.workers.contains_key(worker) {
                    marks.hit("restarted worker took over");
                }
                let book =
                    WorkerBook { labels: labels.clone(), slots: *slots, incarnation: *incarnation };
                self.workers.insert(*worker, book);
                Ok(())
            }
            Event::WorkerReturned { .. } => {
                marks.hit("worker returned");
                Ok(())
            }
            Event::WorkerEnded { .. } => {
                marks.hit("guard reported the end of a life");
                Ok(())
            }
            Event::Braked { .. } => {
                marks.hit("brake on mass loss");
                Ok(())
            }
            Event::WorkerLost { .. }
            | Event::WorkerDrained { .. }
            | Event::WorkerForgotten { .. }
            | Event::Started { .. }
            | Event::LockForced { .. }
            | Event::RunSealed { .. } => Ok(()),
            Event::RunSubmitted { run, .. } => self.submitted(*run, at, event, marks),
            Event::RunCancelled { run, level, .. } => {
                marks.hit(if *level == CancelLevel::Kill {
                    "cancelled: killed"
                } else {
                    "cancelled: stopped"
                });
                self.run_mut(*run)?.cancel = Some(*level);
                Ok(())
            }
            Event::RunEnded { run, status } => self.run_ended(*run, *status),
            Event::Granted { .. } => self.granted(at, event, marks),
            Event::Confirmed { fence, .. } => {
                marks.hit("lease confirmed by a new leader");
                self.lease_mut(*fence)?.led_since = None;
                Ok(())
            }
            Event::StopOrdered { why, fence, .. } => {
                if *why == StopReason::Overdue {
                    marks.hit("overdue step told to stop");
                }
                self.lease_mut(*fence).map(|_| ())
            }
            Event::Ended { .. } => self.ended(at, event, marks),
            Event::BackoffEnded { run, step } => {
                let book = self.step_mut(*run, *step)?;
                (book.backing_off, book.since) = (false, at);
                Ok(())
            }
            Event::StepSettled { run, step, settled } => {
                self.settled(*run, *step, settled, (at, marks))
            }
            Event::LateOutcome { fence, .. } => {
                marks.hit("late outcome kept");
                let lease = self.leases.get(fence);
                must(lease.is_some_and(|lease| !lease.accepted), "I1 single accept", || {
                    format!(
                        "an outcome of {fence} is called late and was accepted, or never granted"
                    )
                })
            }
        }
    }

    fn run_mut(&mut self, run: RunId) -> Result<&mut RunBook, Broken> {
        self.runs.get_mut(&run).ok_or_else(|| Broken {
            rule: "I10 state machine",
            detail: format!("there is no run {run}"),
        })
    }

    fn step_mut(&mut self, run: RunId, step: StepIx) -> Result<&mut StepBook, Broken> {
        Ok(&mut self.run_mut(run)?.steps[step.0 as usize])
    }

    fn lease_mut(&mut self, fence: Fence) -> Result<&mut LeaseBook, Broken> {
        let live = self.live.contains(&fence);
        let lease = self.leases.get_mut(&fence).filter(|_| live);
        lease.ok_or_else(|| Broken {
            rule: "I2 fence",
            detail: format!("{fence} is not a live lease"),
        })
    }

    fn led(&mut self, term: Term, own: Option<WorkerId>, at: Time) -> Result<(), Broken> {
        must(term > self.term, "I11 leader fence", || format!("{term} after {}", self.term))?;
        (self.term, self.own, self.led_at) = (term, own, at);
        for fence in &self.live {
            let lease = self.leases.get_mut(fence).expect("live leases are in the books");
            lease.led_since.get_or_insert(at);
        }
        Ok(())
    }

    /// A lease that nobody confirmed ends a TTL after the first takeover, not after the last.
    fn leases_end_in_time(&self, at: Time) -> Result<(), Broken> {
        for fence in &self.live {
            let Some(led) = self.leases[fence].led_since else { continue };
            let end = (led + Span::millis(self.ttl)).max(self.led_at) + SWEEP_SLACK;
            must(at <= end, "L5 deadlines", || {
                format!("{fence} is open at {at}, unconfirmed since {led}")
            })?;
        }
        Ok(())
    }

    fn submitted(
        &mut self,
        run: RunId,
        at: Time,
        event: &Event,
        marks: &mut Marks,
    ) -> Result<(), Broken> {
        let Event::RunSubmitted { plan, options, reused, .. } = event else { return Ok(()) };
        must(!self.runs.contains_key(&run), "I1 single accept", || {
            format!("run {run} was submitted twice")
        })?;
        let fresh = StepBook {
            status: StepStatus::Waiting,
            lease: None,
            attempt: 1,
            charged: 0,
            accepted: 0,
            since: at,
            backing_off: false,
            passed: 0,
        };
        let mut book = RunBook {
            plan: plan.clone(),
            options: *options,
            order: self.runs.len() as u64,
            status: RunStatus::Running,
            cancel: None,
            failed: false,
            steps: vec![fresh; plan.node_count() as usize],
        };
        for reuse in reused {
            marks.hit("reused outcome");
            book.steps[reuse.step.0 as usize].status = StepStatus::Cached;
        }
        self.runs.insert(run, book);
        Ok(())
    }

    fn granted(&mut self, at: Time, event: &Event, marks: &mut Marks) -> Result<(), Broken> {
        let Event::Granted { run, step, attempt, delivery, worker, fence, .. } = *event else {
            return Ok(());
        };
        let what = || format!("{fence}: run {run} {step} to {worker}");
        must(fence > self.fences, "I3 token order", || format!("{fence} after {}", self.fences))?;
        self.fences = fence;
        let book = self.run_mut(run)?;
        let spec = book.plan.spec(step).cloned();
        let state = book.step(step);
        must(state.lease.is_none(), "I4 one lease", || {
            format!("{} has {:?}", what(), state.lease)
        })?;
        let open = !state.status.is_terminal() && !state.backing_off;
        must(open, "I10 state machine", || format!("{} is {}", what(), state.status))?;
        must(attempt == state.attempt, "I8 attempts", || format!("{} attempt {attempt}", what()))?;
        must(book.needs_met(step), "I5 dependency", || format!("{} has needs open", what()))?;
        let Some(spec) = spec else {
            return must(false, "I10 state machine", || format!("{} is a join", what()));
        };
        must(attempt <= spec.retry.times + 1, "I8 attempts", || {
            format!("{} attempt {attempt}", what())
        })?;
        must(book.lets_begin(spec.condition), "I15 cancel", || {
            format!("{} after its run was stopped", what())
        })?;
        self.placed(worker, run, step, fence)?;
        self.within_locks(run, step, fence)?;
        self.fair(run, step, at)?;
        if spec.locks.len() > 1 {
            marks.hit("step with two locks granted");
        }
        if spec.placement.pin == Pin::Leader {
            marks.hit("pinned step ran with the leader");
        }
        let lease = LeaseBook {
            run,
            step,
            worker,
            delivery,
            led_since: None,
            accepted: false,
            released: false,
        };
        self.leases.insert(fence, lease);
        self.live.insert(fence);
        let state = self.step_mut(run, step)?;
        (state.lease, state.status, state.passed) = (Some(fence), StepStatus::Leased, 0);
        Ok(())
    }

    fn placed(
        &self,
        worker: WorkerId,
        run: RunId,
        step: StepIx,
        fence: Fence,
    ) -> Result<(), Broken> {
        let Some(book) = self.workers.get(&worker) else {
            return must(false, "I7 placement", || {
                format!("{fence} for {worker}, which never registered")
            });
        };
        let spec = self.spec(run, step);
        let name = format!("worker-{}", worker.0);
        let facts =
            WorkerFacts { labels: &book.labels, name: &name, leads: self.own == Some(worker) };
        must(spec.placement.accepts(facts), "I7 placement", || {
            format!("{fence} does not fit {worker}")
        })?;
        let mine = self
            .live
            .iter()
            .map(|fence| &self.leases[fence])
            .filter(|lease| lease.worker == worker);
        let open = mine.clone().count();
        must(spec.may_lease_ahead() || open < book.slots as usize, "I7 placement", || {
            format!(
                "{fence} needs a slot of {worker}, which has {open} leases in {} slots",
                book.slots
            )
        })?;
        let spec_ix = self.runs[&run].plan.spec_index(step);
        let alike = mine.filter(|lease| {
            lease.run == run && self.runs[&run].plan.spec_index(lease.step) == spec_ix
        });
        let alike = alike.count();
        must(spec.per_worker.is_none_or(|limit| alike < limit as usize), "I7 placement", || {
            format!("{fence}: {worker} has {alike} of its kind already")
        })
    }

    fn within_locks(&self, run: RunId, step: StepIx, fence: Fence) -> Result<(), Broken> {
        for lock in &self.spec(run, step).locks {
            let holders = self.live.iter().filter(|other| self.holds(**other, &lock.name)).count();
            let slots = self.slots(&lock.name) as usize;
            must(holders < slots, "I6 caps", || {
                format!("{fence} takes {} from {holders} of {slots}", lock.name)
            })?;
        }
        Ok(())
    }

    /// Who goes first: no step with far more urgency, counting its wait, is left behind; nobody is passed for ever.
    fn fair(&mut self, run: RunId, step: StepIx, _at: Time) -> Result<(), Broken> {
        let (mine, spec) = (self.rank(run, step), self.spec(run, step).clone());
        let mut passed = Vec::new();
        for (other_run, book) in &self.runs {
            for other in book.plan.nodes().filter(|other| (*other_run, *other) != (run, step)) {
                let Some(theirs) = book.plan.spec(other) else { continue };
                if !self.is_ready(*other_run, other) || theirs.placement != spec.placement {
                    continue;
                }
                let rank = self.rank(*other_run, other);
                let plain = theirs.locks.is_empty()
                    && theirs.per_worker.is_none()
                    && book.step(other).attempt == 1;
                must(!plain || rank.0 + 1 >= mine.0, "L3 starvation", || {
                    format!(
                        "run {other_run} {other} waits since bucket {} while {} is granted",
                        rank.0, mine.0
                    )
                })?;
                let shares = theirs
                    .locks
                    .iter()
                    .any(|lock| spec.locks.iter().any(|own| own.name == lock.name));
                let waited = book.step(other).since <= self.runs[&run].step(step).since;
                if shares && theirs.locks.len() > 1 && rank <= mine && waited {
                    passed.push((*other_run, other));
                }
            }
        }
        for (run, step) in passed {
            let state = self.step_mut(run, step)?;
            state.passed += 1;
            let times = state.passed;
            must(times <= PASSED_MAX, "L3 starvation", || {
                format!("run {run} {step} was passed {times} times")
            })?;
        }
        Ok(())
    }

    /// Whether a step waits for nothing but a worker, in a run in which nothing is being ended.
    fn is_ready(&self, run: RunId, step: StepIx) -> bool {
        let book = &self.runs[&run];
        let state = book.step(step);
        let waits =
            matches!(state.status, StepStatus::Waiting | StepStatus::Ready) && !state.backing_off;
        let calm = book.cancel.is_none() && !book.failed && !book.status.is_terminal();
        waits && calm && state.lease.is_none() && book.needs_met(step)
    }

    fn rank(&self, run: RunId, step: StepIx) -> (i64, std::cmp::Reverse<u32>, u64) {
        let book = &self.runs[&run];
        let minute = (book.step(step).since.as_millis() / AGING.as_millis()).cast_signed();
        let priority = i64::from(self.spec(run, step).priority);
        (minute - priority, std::cmp::Reverse(book.plan.weight(step)), book.order)
    }

    fn ended(&mut self, at: Time, event: &Event, marks: &mut Marks) -> Result<(), Broken> {
        let Event::Ended { run, step, fence, outcome, next, ended } = event else { return Ok(()) };
        let (run, step, fence, kind) = (*run, *step, *fence, outcome.kind);
        self.lease_mut(fence)?;
        must(self.runs[&run].step(step).lease == Some(fence), "I2 fence", || {
            format!("{fence} is not the newest")
        })?;
        if *ended == EndedAs::Reported {
            let reported = self.reports.get(&fence).is_some_and(|kinds| kinds.contains(&kind));
            must(reported, "I2 fence", || {
                format!("{fence} ended as {kind}, which its holder never said")
            })?;
        } else if kind == OutcomeKind::Lost {
            self.given_up(run, step, fence)?;
            marks.hit("lease expired");
        }
        if kind == OutcomeKind::Released {
            let started = self.started.contains(&fence);
            must(!started, "I4 one lease", || {
                format!("{fence} was handed back as never started and had been")
            })?;
            marks.hit("lease asked back and released");
        }
        self.live.remove(&fence);
        let lease = self.leases.get_mut(&fence).expect("looked at just now");
        lease.accepted = *ended == EndedAs::Reported;
        lease.released = kind == OutcomeKind::Released;
        self.follows(run, step, (fence, kind, *next), (at, marks))
    }

    /// A lease was given up: if its step must not outlive it, nothing of it may be alive.
    fn given_up(&self, run: RunId, step: StepIx, fence: Fence) -> Result<(), Broken> {
        let strict = self.spec(run, step).stops_on_lost_contact();
        let alive = self.alive.get(&fence).is_some_and(|worker| !self.frozen.contains(worker));
        must(!strict || !alive, "I12 self-fence", || {
            format!("{fence} was given up while its process runs")
        })
    }

    fn follows(
        &mut self,
        run: RunId,
        step: StepIx,
        (fence, kind, next): (Fence, OutcomeKind, Next),
        (at, marks): (Time, &mut Marks),
    ) -> Result<(), Broken> {
        let delivered = self.deliveries.contains(&fence);
        let delivery = self.leases[&fence].delivery;
        let spec = self.spec(run, step).clone();
        let state = self.step_mut(run, step)?;
        (state.lease, state.since) = (None, at);
        match next {
            Next::Again { charged: true } => {
                marks.hit("hand-out charged");
                must(delivered || delivery > UNHEARD_MAX, "I8 attempts", || {
                    format!("{fence} is charged and never reached its worker")
                })?;
                state.charged += 1;
                let charged = state.charged;
                state.status = StepStatus::Ready;
                must(charged <= spec.retry.lost, "I8 attempts", || {
                    format!("{fence}: {charged} losses")
                })
            }
            Next::Again { charged: false } => {
                marks.hit("hand-out free of charge");
                state.status = StepStatus::Ready;
                let never = spec.retry.lost == 0 && kind != OutcomeKind::Released;
                must(!never, "I8 attempts", || {
                    format!("{fence} may have started and is handed out again")
                })
            }
            Next::Retry { .. } => {
                marks.hit("attempt tried again");
                state.status = StepStatus::Waiting;
                state.backing_off = true;
                state.attempt += 1;
                state.charged = 0;
                Ok(())
            }
            Next::Done(status) => {
                state.accepted += 1;
                let (accepted, charged) = (state.accepted, state.charged);
                state.status = status;
                must(accepted == 1, "I1 single accept", || {
                    format!("run {run} {step} has {accepted} outcomes")
                })?;
                if kind == OutcomeKind::Lost && status == StepStatus::Failed {
                    marks.hit("deliveries exhausted");
                    must(charged >= spec.retry.lost, "I8 attempts", || {
                        format!(
                            "{fence} is lost for good after {charged} of {} losses",
                            spec.retry.lost
                        )
                    })?;
                }
                self.node_ended(run, step, at)
            }
        }
    }

    fn settled(
        &mut self,
        run: RunId,
        step: StepIx,
        settled: &Settled,
        (at, marks): (Time, &mut Marks),
    ) -> Result<(), Broken> {
        let book = self.run_mut(run)?;
        let (state, need_failed) = (book.step(step), book.need_failed(step));
        let free = !state.status.is_terminal() && state.lease.is_none();
        must(free, "I10 state machine", || {
            format!("run {run} {step} is {} and settled {settled:?}", state.status)
        })?;
        match settled {
            Settled::Blocked { cause } => {
                marks.hit("blocked by a failed need");
                let fails = book.fails(*cause);
                must(need_failed && fails, "I5 dependency", || {
                    format!("run {run} {step} is blocked by nothing")
                })?;
            }
            Settled::CancelledByFailure { .. } => {
                marks.hit("fail-fast ended the rest");
                must(book.failed, "I5 dependency", || format!("run {run} {step}: nothing failed"))?;
            }
            Settled::CancelledWithRun => {
                must(book.cancel.is_some(), "I15 cancel", || {
                    format!("run {run} {step}: nobody cancelled")
                })?;
            }
            Settled::SkippedByCondition => marks.hit("skipped by condition"),
            Settled::Superseded { .. } => marks.hit("newer run superseded an older one"),
            Settled::FailedNoWorker => marks.hit("nobody to run it in time"),
            Settled::SkippedUnplaceable | Settled::FailedNoLock => {}
        }
        self.step_mut(run, step)?.status = settled.status();
        self.node_ended(run, step, at)
    }

    /// Dependents whose last need this was have been ready since now.
    fn node_ended(&mut self, run: RunId, node: StepIx, at: Time) -> Result<(), Broken> {
        let book = self.run_mut(run)?;
        let failed = matches!(book.step(node).status, StepStatus::Failed | StepStatus::TimedOut);
        book.failed |= failed && book.fails(node);
        let plan = book.plan.clone();
        let mut ended = vec![node];
        while let Some(node) = ended.pop() {
            for dependent in plan.dependents(node).iter().map(|edge| edge.step()) {
                book.steps[dependent.0 as usize].since = at;
                if plan.is_join(dependent) && book.status(dependent).is_terminal() {
                    ended.push(dependent);
                }
            }
        }
        Ok(())
    }

    fn run_ended(&mut self, run: RunId, status: RunStatus) -> Result<(), Broken> {
        let book = self.run_mut(run)?;
        let open = book.plan.nodes().find(|node| !book.status(*node).is_terminal());
        must(open.is_none(), "I14 conservation", || {
            format!("run {run} ended while {open:?} is open")
        })?;
        let wrong = status == RunStatus::Succeeded && (book.failed || book.cancel.is_some());
        must(!wrong, "I10 state machine", || format!("run {run} succeeded in spite of a failure"))?;
        book.status = status;
        Ok(())
    }
}
