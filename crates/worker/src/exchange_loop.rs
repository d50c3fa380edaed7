//! The worker's loop: exchanges with the leader, and attempts between them.
//!
//! ```text
//!  link ──reply──► WorkerSession ──start/stop──► attempts (one task each)
//!       ◄exchange─       ▲──────── outcome ──────────┘
//! ```
//!
//! What to tell and when is the session's business, which is pure and in core. The loop adds pace: an exchange that
//! could carry more in a moment waits for that moment.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use windlass_core::id::Fence;
use windlass_core::outcome::OutcomeKind;
use windlass_core::session::{
    ContactDeadline, ExchangeReply, FinishedAttempt, RegisterReply, SessionAction, SessionConfig,
    WorkerRefusal, WorkerSession,
};
use windlass_core::time::{Span, Time};
use windlass_link::LinkError;

use super::backoff::ExchangeBackoff;
use super::guard::StartQueueLimits;
use super::open_attempts::{AttemptUpdates, OpenAttempts};
use super::platform;
use super::worker_runtime::{PeerWorkers, WorkerError, WorkerRuntime, WorkerShutdown, wait_for};

/// How long news waits for more of it while other steps run, and for the answer to an exchange that has just left: the
/// shortest that a timer knows, and long beside a step that does next to nothing.
const LINGER: Duration = Duration::from_millis(1);

/// The same while more waits for a slot than is free: whatever the leader answers would wait behind it. Each exchange costs a
/// commit, and steps that take less than a millisecond are worth less than one each.
const LINGER_AHEAD: Duration = Duration::from_millis(5);

/// The same where nobody else works: nothing that became ready could run elsewhere meanwhile. Each wake-up costs more than what
/// is then done for one short step.
const LINGER_ALONE: Duration = Duration::from_millis(20);

/// How long an exchange that tells of nothing but what has just started waits for an end to tell of: a step that is over
/// by then costs one commit, not two.
const START_REPORT_WAIT: Duration = Duration::from_millis(10);

/// How long a worker that gives up takes to report what it killed. Killing takes milliseconds, and so does a leader that
/// answers.
const REPORTS_WITHIN: Duration = Duration::from_secs(1);

/// How long a draining worker without running steps waits for a leader that takes its outcomes. Longer than a restart of
/// the leader; the next start with the same state directory reports the outcomes otherwise.
const DRAIN_WAIT_MAX: Duration = Duration::from_secs(30);

/// Attempts that stand in line at most. The shortest processes, two at a time, are fewer within the wait of the news that they
/// are over; each costs a pipe while it stands there.
const START_QUEUE_MAX: usize = 64;

/// Descriptors for everything else: stores, logs, sockets, a terminal.
const DESCRIPTORS_KEPT: usize = 96;

/// How a shift ended.
#[derive(Debug)]
pub(super) enum ExchangeLoopEnd {
    /// As it was told to.
    Done,
    /// The leader does not know this life of the worker any more, and nothing of it is left.
    Forgotten {
        /// Outcomes without a verdict.
        spooled: Vec<FinishedAttempt>,
    },
}

/// How far a shift is.
#[derive(Debug)]
enum ExchangeLoopStage {
    Works,
    Drains,
    /// Everything is being killed.
    KillsAll {
        /// It ends then at the latest.
        by: Instant,
        /// No leader has answered, or none is left, so nobody is waited for.
        alone: bool,
    },
}

/// A worker at work, from one registration to the next.
pub(super) struct WorkerExchangeLoop<'a> {
    worker: &'a WorkerRuntime,
    session: WorkerSession,
    exchanges: JoinSet<Result<ExchangeReply, LinkError>>,
    /// Since when no exchange leaves: it could carry more in a moment.
    lingers_since: Option<Instant>,
    /// No exchange without news leaves before: steps have just started, and none has told of it.
    starts_wait_until: Option<Instant>,
    /// No exchange leaves before: the last one did not arrive.
    backoff_until: Option<Instant>,
    backoff: ExchangeBackoff,
    /// When a leader has last answered, and what went wrong since.
    last_answer_at: Instant,
    last_error: String,
    /// Whether the last exchange failed.
    is_unreached: bool,
    /// Why it can come to no leader any more.
    no_leader_reason: Option<LinkError>,
    /// Outcomes that are kept for another life.
    kept_outcomes: Vec<Fence>,
    attempts: OpenAttempts,
    /// How many of them may stand in line.
    queue_max: usize,
    /// Attempts that have ended since the last exchange.
    unreported_ends: usize,
    stage: ExchangeLoopStage,
}

impl<'a> WorkerExchangeLoop<'a> {
    pub(super) fn begin(worker: &'a WorkerRuntime, told: &RegisterReply) -> Self {
        let config = SessionConfig {
            worker: worker.register.worker,
            incarnation: worker.register.incarnation,
            slots: worker.register.slots,
            capacity: worker.capacity,
            leases_expire: worker.leases_expire,
            bugs: windlass_core::planted_bugs::PlantedBugs::NONE,
        };
        let news_wait = Span::millis(u64::try_from(linger_ahead(worker).as_millis()).unwrap_or(0));
        let line = StartQueueLimits { below: worker.register.slots, news_wait };
        let attempts = OpenAttempts::new(Arc::clone(&worker.executor), line);
        Self {
            worker,
            session: WorkerSession::new(config, told),
            exchanges: JoinSet::new(),
            lingers_since: None,
            starts_wait_until: None,
            backoff_until: None,
            backoff: worker.backoff(),
            last_answer_at: Instant::now(),
            last_error: String::new(),
            is_unreached: false,
            no_leader_reason: None,
            kept_outcomes: Vec::new(),
            attempts,
            queue_max: start_queue_max(worker.register.slots),
            unreported_ends: 0,
            stage: ExchangeLoopStage::Works,
        }
    }

    pub(super) async fn run(
        mut self,
        ends: &mut WorkerShutdown,
    ) -> Result<ExchangeLoopEnd, WorkerError> {
        let left = self.work(ends).await;
        // Whatever it leaves for, the next life can tell what this one could not.
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
                    // Others that ended with it may be about to say so: the last that was woken is the first to run.
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

    /// What it ends with, if it is time.
    fn end_reason(&self) -> Option<Result<ExchangeLoopEnd, WorkerError>> {
        if let Some(refusal) = self.session.ended()
            && self.attempts.is_empty()
        {
            return Some(self.on_refused(refusal));
        }
        let told = || {
            self.session.unfinished_leases() == 0
                && self.session.unacknowledged_outcomes().is_empty()
        };
        match self.stage {
            ExchangeLoopStage::Works => None,
            ExchangeLoopStage::Drains => {
                let waited = self.drains_until().is_some_and(|until| until <= Instant::now());
                (told() || waited).then_some(Ok(ExchangeLoopEnd::Done))
            }
            ExchangeLoopStage::KillsAll { by, alone } => {
                let alone_now = alone || self.is_unreached;
                let over = if alone_now { self.attempts.is_empty() } else { told() };
                if !over && Instant::now() < by {
                    return None;
                }
                Some(if alone { Err(self.no_leader_error()) } else { Ok(ExchangeLoopEnd::Done) })
            }
        }
    }

    /// Until when a worker that drains, and runs nothing, waits for a leader.
    fn drains_until(&self) -> Option<Instant> {
        let waits = matches!(self.stage, ExchangeLoopStage::Drains) && self.attempts.is_empty();
        (waits && self.worker.membership.is_some()).then(|| self.last_answer_at + DRAIN_WAIT_MAX)
    }

    fn no_leader_error(&self) -> WorkerError {
        let no_leader = || self.worker.no_leader_error(self.last_error.clone());
        self.no_leader_reason.clone().map_or_else(no_leader, WorkerError::from)
    }

    /// What becomes of a worker that the leader wants nothing of, and of which nothing runs any more.
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

    /// Kills everything. What comes of it is still told, unless there is nobody to tell.
    fn give_up(&mut self, alone: bool) {
        self.stage = ExchangeLoopStage::KillsAll { by: Instant::now() + REPORTS_WITHIN, alone };
        let actions = self.session.abandon_all();
        self.act(actions);
        (self.lingers_since, self.backoff_until) = (None, None);
    }

    fn tick(&mut self) {
        let actions = self.session.on_tick(self.now());
        self.act(actions);
        let late = self.leader_deadline().is_some_and(|at| at <= Instant::now());
        if late {
            self.give_up(true);
        }
    }

    /// When no leader has answered for too long; nobody is waited for twice.
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
        self.lingers_since = Some(Instant::now());
        self.starts_wait_until = None;
        self.unreported_ends = 0;
    }

    fn held_back_until(&self) -> Option<Instant> {
        let news = self.session.has_news();
        let pace = if news { self.lingers_until() } else { self.starts_wait_until };
        pace.max(self.backoff_until)
    }

    fn lingers_until(&self) -> Option<Instant> {
        let since = self.lingers_since?;
        Some(since + if self.session.has_ahead() { linger_ahead(self.worker) } else { LINGER })
    }

    fn wakes_at(&self) -> Instant {
        let nap = |at: Option<Time>| at.map(|at| self.worker.clock.next_wake_up(at));
        let stops = nap(self.session.stops_at());
        // One that is due has been sent, or is held back.
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
        // Who says that it does not lead knows soon who does.
        let soon = matches!(error, Some(LinkError::NotLeader(_)));
        self.last_error = error.map_or("its exchange failed".to_owned(), |it| it.to_string());
        if self.exchanges.is_empty() {
            self.is_unreached = true;
            self.session.on_send_failed();
            self.keep_outcomes();
            let holds = self.session.unfinished_leases() > 0 || !self.kept_outcomes.is_empty();
            self.backoff_until = Some(Instant::now() + self.backoff.next(holds || soon));
        }
    }

    /// There is no leader any more, and there will be none.
    fn stop_without_leader(&mut self, why: LinkError) {
        if self.no_leader_reason.is_none() {
            self.no_leader_reason = Some(why);
            self.give_up(true);
        }
    }

    fn on_reply(&mut self, reply: ExchangeReply) {
        (self.last_answer_at, self.backoff_until) = (Instant::now(), None);
        self.is_unreached = false;
        self.backoff.reset();
        if let Ok(body) = &reply.body
            && !body.verdicts.is_empty()
        {
            self.worker.executor.on_verdicts(&body.verdicts);
        }
        let actions = self.session.on_reply(reply, self.now());
        if !actions.is_empty() {
            // Steps that do next to nothing are over in a moment: they are told together with what they leave room for.
            self.lingers_since = Some(Instant::now());
            self.starts_wait_until = Some(Instant::now() + START_REPORT_WAIT);
        }
        self.move_deadlines();
        self.act(actions);
        self.forget_outcomes();
    }

    /// Keeps what has no verdict while the leader does not answer: this life may end before it does.
    fn keep_outcomes(&mut self) {
        let Some(memory) = &self.worker.membership else { return };
        let spool = self.session.unacknowledged_outcomes();
        let fences: Vec<Fence> = spool.iter().map(|finished| finished.lease.fence).collect();
        // An error is told by the memory itself, and the next try is the next call.
        if fences != self.kept_outcomes && memory.keep_outcomes(&spool).is_ok() {
            self.kept_outcomes = fences;
        }
    }

    /// What has a verdict need not be kept.
    fn forget_outcomes(&mut self) {
        if !self.kept_outcomes.is_empty() {
            self.keep_outcomes();
        }
    }

    /// Passes on by when attempts must have ended, for the case that this worker cannot say so in time.
    fn move_deadlines(&self) {
        if self.passes_deadlines() {
            self.attempts.move_deadlines(|fence| self.session.deadline(fence));
        }
    }

    fn deadline(&self, fence: Fence) -> Option<ContactDeadline> {
        self.passes_deadlines().then(|| self.session.deadline(fence)).flatten()
    }

    /// Another clock's deadlines would mean nothing to those who are told.
    const fn passes_deadlines(&self) -> bool {
        self.worker.leases_expire && self.worker.clock.is_guard_clock()
    }

    fn apply_attempt_updates(&mut self, heard: AttemptUpdates) {
        let AttemptUpdates { begun, gone, ended, begun_ago } = heard;
        let waits = self.starts_wait_until.is_some_and(|until| Instant::now() < until);
        if !begun.is_empty() && !waits {
            let waited = Duration::from_millis(begun_ago.as_millis());
            self.starts_wait_until =
                Some(Instant::now() + START_REPORT_WAIT.saturating_sub(waited));
        }
        // What has ended in this moment began before.
        self.session.on_queue_started(begun);
        self.session.on_processes_gone(gone);
        self.unreported_ends += ended.len();
        let failed = ended.iter().any(|(_, outcome)| outcome.kind != OutcomeKind::Succeeded);
        let actions = self.session.on_finished(ended, self.now());
        self.act(actions);
        // Nothing else is about to end: the leader can tell at once what comes next. Or so much has ended that the leader
        // can see to it while the rest runs. Or it may end the rest for what failed.
        if failed || self.attempts.is_empty() || self.unreported_ends >= self.ends_before_exchange()
        {
            self.lingers_since = None;
        }
    }

    /// In the leader's own process an exchange costs next to nothing, and the sooner either has something to do the less it
    /// waits.
    const fn ends_before_exchange(&self) -> usize {
        let part = if self.worker.leases_expire { 2 } else { 4 };
        self.worker.capacity as usize / part
    }

    fn act(&mut self, actions: Vec<SessionAction>) {
        for action in actions {
            self.carry_out(action);
        }
        if !self.attempts.may_queue() {
            return;
        }
        let executor = &self.worker.executor;
        let lined_up =
            self.session.enqueue_at_executor(self.queue_max, |grant| executor.can_queue(grant));
        for action in lined_up {
            self.carry_out(action);
        }
    }

    fn carry_out(&mut self, action: SessionAction) {
        match action {
            SessionAction::Start(grant) => {
                let fence = grant.lease.fence;
                // Where leases expire nobody lines up.
                if !self.worker.leases_expire && self.worker.executor.can_queue(&grant) {
                    self.session.on_enqueued(fence);
                    return self.attempts.enqueue(grant, self.deadline(fence));
                }
                self.attempts.start(grant, self.deadline(fence));
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

const fn linger_ahead(worker: &WorkerRuntime) -> Duration {
    match worker.peers {
        PeerWorkers::Never => LINGER_ALONE,
        PeerWorkers::Possible => LINGER_AHEAD,
    }
}

/// How many may stand in line beside so many that run: each has a pipe, of which both ends are here until the guard has one.
fn start_queue_max(slots: u32) -> usize {
    let left = platform::descriptors_max().saturating_sub(DESCRIPTORS_KEPT);
    let left = left.saturating_sub(2 * slots as usize);
    (left / 2).min(START_QUEUE_MAX)
}
