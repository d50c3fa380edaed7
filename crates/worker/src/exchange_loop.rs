//! The worker's loop: exchanges with the leader, and attempts between them.
//!
//! ```text
//!  link ──reply──► WorkerSession ──start/stop──► attempts (one task each)
//!       ◄exchange─       ▲──────── outcome ──────────┘
//! ```
//!
//! The session decides what to report, and its pace decides how long a report waits for others. Both are pure machines
//! of the core; the loop acts on their decisions.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use windlass_core::id::Fence;
use windlass_core::outcome::OutcomeKind;
use windlass_core::session::{
    ContactDeadline, ExchangePace, ExchangeReply, FinishedAttempt, LeaseGrant, PaceSettings,
    RegisterReply, SessionAction, SessionConfig, WorkerRefusal, WorkerSession,
};
use windlass_core::start_queue::queued_steps_max;
use windlass_core::time::Time;
use windlass_link::LinkError;

use super::backoff::ExchangeBackoff;
use super::open_attempts::{AttemptUpdates, OpenAttempts};
use super::platform;
use super::worker_runtime::{WorkerError, WorkerRuntime, WorkerShutdown, wait_for};

/// How long a worker that gives up may take to report what it killed. Killing takes milliseconds, and so does the
/// answer of a leader.
const REPORTS_WITHIN: Duration = Duration::from_secs(1);

/// How long a draining worker without running steps waits for a leader that takes its outcomes. It is longer than a
/// restart of the leader. Otherwise the next start with the same state directory reports the outcomes.
const DRAIN_WAIT_MAX: Duration = Duration::from_secs(30);

/// How a loop ended.
#[derive(Debug)]
pub(super) enum ExchangeLoopEnd {
    /// The loop ended as ordered.
    Done,
    /// The leader no longer knows this incarnation of the worker, and no process of it is left.
    Forgotten {
        /// The outcomes without a verdict.
        spooled: Vec<FinishedAttempt>,
    },
}

/// The stage of a loop.
#[derive(Debug)]
enum ExchangeLoopStage {
    Works,
    Drains,
    /// The loop kills all attempts.
    KillsAll {
        /// The latest time at which the loop ends.
        by: Instant,
        /// True if no leader has answered, or none is left. The loop then waits for no verdicts.
        alone: bool,
    },
}

/// The loop of a worker from one registration to the next.
pub(super) struct WorkerExchangeLoop<'a> {
    worker: &'a WorkerRuntime,
    session: WorkerSession,
    exchanges: JoinSet<Result<ExchangeReply, LinkError>>,
    pace: ExchangePace,
    /// The origin of the clock of the pace.
    began: Instant,
    backoff: ExchangeBackoff,
    /// When a leader last answered, and the last error since then.
    last_answer_at: Instant,
    last_error: String,
    /// Whether the last exchange failed.
    is_unreached: bool,
    /// Why no leader can be reached any more.
    no_leader_reason: Option<LinkError>,
    /// The outcomes that are saved for the next incarnation.
    kept_outcomes: Vec<Fence>,
    attempts: OpenAttempts,
    /// The number of steps that the executor queues beside those in slots.
    queue_max: usize,
    stage: ExchangeLoopStage,
}

impl<'a> WorkerExchangeLoop<'a> {
    pub(super) fn begin(worker: &'a WorkerRuntime, reply: &RegisterReply) -> Self {
        let config = SessionConfig {
            worker: worker.register.worker,
            incarnation: worker.register.incarnation,
            slots: worker.register.slots,
            capacity: worker.capacity,
            leases_expire: worker.leases_expire,
            bugs: windlass_core::planted_bugs::PlantedBugs::NONE,
        };
        let pace = ExchangePace::new(PaceSettings {
            peers: worker.peers,
            slots: worker.register.slots,
            capacity: worker.capacity,
            leases_expire: worker.leases_expire,
        });
        let attempts = OpenAttempts::new(Arc::clone(&worker.executor), pace.queue_limits());
        Self {
            worker,
            session: WorkerSession::new(config, reply),
            exchanges: JoinSet::new(),
            pace,
            began: Instant::now(),
            backoff: worker.backoff(),
            last_answer_at: Instant::now(),
            last_error: String::new(),
            is_unreached: false,
            no_leader_reason: None,
            kept_outcomes: Vec::new(),
            attempts,
            queue_max: queued_steps_max(worker.register.slots, platform::descriptors_max()),
            stage: ExchangeLoopStage::Works,
        }
    }

    pub(super) async fn run(
        mut self,
        ends: &mut WorkerShutdown,
    ) -> Result<ExchangeLoopEnd, WorkerError> {
        let left = self.work(ends).await;
        // The next incarnation can report what this one could not.
        self.keep_outcomes();
        left
    }

    async fn work(&mut self, ends: &mut WorkerShutdown) -> Result<ExchangeLoopEnd, WorkerError> {
        let mut broken = self.worker.executor.broken();
        loop {
            self.exchange_if_due();
            if let Some(left) = self.end_reason() {
                return left;
            }
            let (works, may_kill) =
                (self.is_working(), !matches!(self.stage, ExchangeLoopStage::KillsAll { .. }));
            let wake = self.wakes_at();
            tokio::select! {
                biased;
                () = ends.drain.wait(), if works => {
                    self.stage = ExchangeLoopStage::Drains;
                    let actions = self.session.drain();
                    self.act(actions);
                }
                () = wait_for(&mut ends.kill), if may_kill => self.give_up(false),
                why = &mut broken => return Err(WorkerError::Broken(why)),
                first = self.attempts.next_update() => {
                    // Other attempts that ended with it may be about to report: the task that was woken last runs
                    // first.
                    tokio::task::yield_now().await;
                    let heard = self.attempts.drain_updates(first, self.now());
                    self.apply_attempt_updates(heard);
                }
                Some(replied) = self.exchanges.join_next() => self.on_exchange_done(replied.ok()),
                () = sleep_until(wake) => self.tick(),
            }
        }
    }

    const fn is_working(&self) -> bool {
        matches!(self.stage, ExchangeLoopStage::Works)
    }

    /// Returns the result of the loop if it is due to end.
    fn end_reason(&self) -> Option<Result<ExchangeLoopEnd, WorkerError>> {
        if let Some(refusal) = self.session.ended()
            && self.attempts.is_empty()
        {
            return Some(self.on_refused(refusal));
        }
        let is_acknowledged = || {
            self.session.unfinished_leases() == 0
                && self.session.unacknowledged_outcomes().is_empty()
        };
        match self.stage {
            ExchangeLoopStage::Works => None,
            ExchangeLoopStage::Drains => {
                let waited = self.drains_until().is_some_and(|until| until <= Instant::now());
                (is_acknowledged() || waited).then_some(Ok(ExchangeLoopEnd::Done))
            }
            ExchangeLoopStage::KillsAll { by, alone } => {
                let alone_now = alone || self.is_unreached;
                let over = if alone_now { self.attempts.is_empty() } else { is_acknowledged() };
                if !over && Instant::now() < by {
                    return None;
                }
                Some(if alone { Err(self.no_leader_error()) } else { Ok(ExchangeLoopEnd::Done) })
            }
        }
    }

    /// Returns the time until which a draining worker that runs nothing waits for a leader.
    fn drains_until(&self) -> Option<Instant> {
        let waits = matches!(self.stage, ExchangeLoopStage::Drains) && self.attempts.is_empty();
        (waits && self.worker.membership.is_some()).then(|| self.last_answer_at + DRAIN_WAIT_MAX)
    }

    fn no_leader_error(&self) -> WorkerError {
        let no_leader = || self.worker.no_leader_error(self.last_error.clone());
        self.no_leader_reason.clone().map_or_else(no_leader, WorkerError::from)
    }

    /// Returns the result for a worker that the leader refuses and of which nothing runs any more.
    fn on_refused(&self, refusal: &WorkerRefusal) -> Result<ExchangeLoopEnd, WorkerError> {
        match refusal {
            WorkerRefusal::NotRegistered | WorkerRefusal::Ended => {
                Ok(ExchangeLoopEnd::Forgotten { spooled: self.session.unacknowledged_outcomes() })
            }
            WorkerRefusal::Superseded
            | WorkerRefusal::OldSeq
            | WorkerRefusal::NameTaken { .. }
            | WorkerRefusal::TooManyWorkers(_)
            | WorkerRefusal::BadSlots(_)
            | WorkerRefusal::Revoked
            | WorkerRefusal::OtherWorker(_) => Err(WorkerError::Refused(refusal.clone())),
        }
    }

    /// Kills all attempts. The worker still reports their outcomes if there is a leader.
    fn give_up(&mut self, alone: bool) {
        self.stage = ExchangeLoopStage::KillsAll { by: Instant::now() + REPORTS_WITHIN, alone };
        let actions = self.session.abandon_all();
        self.act(actions);
        self.pace.on_give_up();
    }

    fn tick(&mut self) {
        let actions = self.session.on_tick(self.now());
        self.act(actions);
        let late = self.leader_deadline().is_some_and(|at| at <= Instant::now());
        if late {
            self.give_up(true);
        }
    }

    /// Returns the time at which the worker gives up because no leader has answered. It gives up once.
    fn leader_deadline(&self) -> Option<Instant> {
        let gives_up = matches!(self.stage, ExchangeLoopStage::KillsAll { .. });
        self.worker.leader_deadline(self.last_answer_at).filter(|_| !gives_up)
    }

    fn now(&self) -> Time {
        self.worker.clock.now()
    }

    fn exchange_if_due(&mut self) {
        let held_back = self.held_back_until().is_some_and(|at| Instant::now() < at);
        if held_back || !self.session.exchange_due(self.now()) {
            return;
        }
        let exchange = self.session.exchange(self.now());
        let link = Arc::clone(&self.worker.link);
        self.exchanges.spawn(async move { link.exchange(exchange).await });
        self.pace.on_sent(self.began.elapsed());
    }

    fn held_back_until(&self) -> Option<Instant> {
        Some(self.began + self.pace.held_back_until(&self.session)?)
    }

    fn wakes_at(&self) -> Instant {
        let nap = |at: Option<Time>| at.map(|at| self.worker.clock.next_wake_up(at));
        let stops = nap(self.session.stops_at());
        // An exchange that is due has been sent, or is held back.
        let exchange = match self.held_back_until() {
            Some(until) if self.session.exchange_due(self.now()) => Some(until),
            _ => nap(self.session.exchange_at()),
        };
        let gives_up = match self.stage {
            ExchangeLoopStage::KillsAll { by, .. } => Some(by),
            ExchangeLoopStage::Works | ExchangeLoopStage::Drains => None,
        };
        let far = Instant::now() + Duration::from_hours(1);
        let moments = [stops, exchange, gives_up, self.leader_deadline(), self.drains_until()];
        moments.into_iter().flatten().min().unwrap_or(far)
    }

    fn on_exchange_done(&mut self, replied: Option<Result<ExchangeReply, LinkError>>) {
        let error = match replied {
            Some(Ok(reply)) => return self.on_reply(reply),
            Some(Err(LinkError::Revoked(_))) => {
                let actions = self.session.on_permanent_refusal(WorkerRefusal::Revoked);
                return self.act(actions);
            }
            Some(Err(error @ (LinkError::Finished(_) | LinkError::StateLost(_)))) => {
                return self.stop_without_leader(error);
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        // A node that does not lead will soon know the leader.
        let soon = matches!(error, Some(LinkError::NotLeader(_)));
        self.last_error = error.map_or("its exchange failed".to_owned(), |it| it.to_string());
        if self.exchanges.is_empty() {
            self.is_unreached = true;
            self.session.on_send_failed();
            self.keep_outcomes();
            let holds = self.session.unfinished_leases() > 0 || !self.kept_outcomes.is_empty();
            let pause = self.backoff.next(holds || soon);
            self.pace.on_send_failed(self.began.elapsed() + pause);
        }
    }

    /// Ends the loop: there is no leader any more, and there will be none.
    fn stop_without_leader(&mut self, why: LinkError) {
        if self.no_leader_reason.is_none() {
            self.no_leader_reason = Some(why);
            self.give_up(true);
        }
    }

    fn on_reply(&mut self, reply: ExchangeReply) {
        self.last_answer_at = Instant::now();
        self.is_unreached = false;
        self.backoff.reset();
        if let Ok(body) = &reply.body
            && !body.verdicts.is_empty()
        {
            self.worker.executor.on_verdicts(&body.verdicts);
        }
        let actions = self.session.on_reply(reply, self.now());
        self.pace.on_reply(!actions.is_empty(), self.began.elapsed());
        self.move_deadlines();
        self.act(actions);
        self.forget_outcomes();
    }

    /// Saves the outcomes without a verdict while the leader does not answer, because this incarnation may end first.
    fn keep_outcomes(&mut self) {
        let Some(memory) = &self.worker.membership else { return };
        let spool = self.session.unacknowledged_outcomes();
        let fences: Vec<Fence> = spool.iter().map(|finished| finished.lease.fence).collect();
        // The membership itself logs an error, and the next call tries again.
        if fences != self.kept_outcomes && memory.keep_outcomes(&spool).is_ok() {
            self.kept_outcomes = fences;
        }
    }

    /// Removes the saved outcomes: those with a verdict need not be kept.
    fn forget_outcomes(&mut self) {
        if !self.kept_outcomes.is_empty() {
            self.keep_outcomes();
        }
    }

    /// Passes on the deadlines of the attempts, in case this worker cannot order their end in time.
    fn move_deadlines(&self) {
        if self.passes_deadlines() {
            self.attempts.move_deadlines(|fence| self.session.deadline(fence));
        }
    }

    fn deadline(&self, fence: Fence) -> Option<ContactDeadline> {
        self.passes_deadlines().then(|| self.session.deadline(fence)).flatten()
    }

    /// Returns whether deadlines are passed on. Those of another clock would mean nothing to the guard.
    const fn passes_deadlines(&self) -> bool {
        self.worker.leases_expire && self.worker.clock.is_guard_clock()
    }

    fn apply_attempt_updates(&mut self, heard: AttemptUpdates) {
        let AttemptUpdates { begun, gone, ended, begun_ago } = heard;
        if !begun.is_empty() {
            self.pace.on_queue_started(begun_ago, self.began.elapsed());
        }
        // A step that has just ended began before.
        self.session.on_queue_started(begun);
        self.session.on_processes_gone(gone);
        let number = ended.len();
        let failed = ended.iter().any(|(_, outcome)| outcome.kind != OutcomeKind::Succeeded);
        let actions = self.session.on_finished(ended, self.now());
        self.act(actions);
        self.pace.on_ended(number, failed, self.attempts.is_empty());
    }

    fn act(&mut self, actions: Vec<SessionAction>) {
        let executor = &self.worker.executor;
        let can_queue = |grant: &LeaseGrant| executor.can_queue(grant);
        let assigned = self.session.assign_to_executor(actions, self.queue_max, can_queue);
        for action in assigned {
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: SessionAction) {
        match action {
            SessionAction::Start(grant) => {
                let deadline = self.deadline(grant.lease.fence);
                self.attempts.start(grant, deadline);
            }
            SessionAction::Enqueue(grant) => {
                let deadline = self.deadline(grant.lease.fence);
                self.attempts.enqueue(grant, deadline);
            }
            SessionAction::Stop(stop) => {
                self.attempts.order(stop.fence, |orders| orders.stop = Some(stop));
            }
            SessionAction::Withdraw(fence) => {
                self.attempts.order(fence, |orders| orders.withdrawn = true);
            }
        }
    }
}
