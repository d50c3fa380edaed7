//! The worker's loop: exchanges with the leader, and attempts between them.
//!
//! ```text
//!  link ──reply──► WorkerSession ──start/stop──► attempts (one task each)
//!       ◄exchange─       ▲──────── outcome ──────────┘
//! ```
//!
//! What to tell and when is the session's business, which is pure and in core. The loop adds pace: an exchange that
//! could carry more in a moment waits for that moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::id::Fence;
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::{
    Action, Grant, Refusal, Register, Registered, Reply, SessionConfig, WorkerSession,
};
use windlass_core::time::Time;

use super::clock::Clock;
use super::executor::{Executor, Orders};
use crate::link::{Link, LinkError};
use crate::shutdown::Shutdown;

/// How long news waits for more of it while other steps run, and for the answer to an exchange that has just left: the
/// shortest that a timer knows, and long beside a step that does next to nothing.
const LINGER: Duration = Duration::from_millis(1);

/// The pause after an exchange that did not arrive, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Outcomes that may wait to be told; each is of an attempt that has ended, so more than a reply can grant never wait.
const OUTCOMES_MAX: usize = 1_024;

/// Why a worker ended before it was told to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The leader refuses it.
    #[error("the leader refuses this worker: {0}")]
    Refused(Refusal),
    /// Its executor can run nothing any more.
    #[error("{0}")]
    Broken(String),
}

/// A worker.
#[derive(Debug)]
pub struct Worker {
    /// Who it says it is.
    pub register: Register,
    /// The most leases that it takes, running and ahead.
    pub capacity: u32,
    /// False where leader and worker share one fate.
    pub leases_expire: bool,
    /// By what its leases are counted: where they expire, a clock that counts suspension.
    pub clock: Clock,
    /// The way to the leader.
    pub link: Arc<dyn Link>,
    /// What runs its attempts.
    pub executor: Arc<dyn Executor>,
}

impl Worker {
    /// Works until it is told to end; then it takes no more, and finishes what it has.
    pub async fn run(self, mut shutdown: Shutdown) -> Result<(), WorkerError> {
        let Some(told) = self.join(&mut shutdown).await? else { return Ok(()) };
        Shift::begin(&self, &told).run(&mut shutdown).await
    }

    /// Registers, however long that takes. `None` if it is told to end before.
    async fn join(&self, shutdown: &mut Shutdown) -> Result<Option<Registered>, WorkerError> {
        let mut pause = PAUSE_MIN;
        loop {
            let registered = tokio::select! {
                () = shutdown.wait() => return Ok(None),
                registered = self.link.register(self.register.clone()) => registered,
            };
            match registered {
                Ok(Ok(told)) => return Ok(Some(told)),
                Ok(Err(refusal)) => return Err(WorkerError::Refused(refusal)),
                Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// An attempt that is over.
type Ended = (Fence, Outcome);

/// A worker at work.
struct Shift<'a> {
    worker: &'a Worker,
    session: WorkerSession,
    exchanges: JoinSet<Result<Reply, LinkError>>,
    /// No exchange leaves before: it could carry more in a moment.
    lingers_until: Option<Instant>,
    /// No exchange leaves before: the last one did not arrive.
    rests_until: Option<Instant>,
    pause: Duration,
    attempts: BTreeMap<Fence, watch::Sender<Orders>>,
    tells: mpsc::Sender<Ended>,
    over: mpsc::Receiver<Ended>,
    drains: bool,
}

impl<'a> Shift<'a> {
    fn begin(worker: &'a Worker, told: &Registered) -> Self {
        let config = SessionConfig {
            worker: worker.register.worker,
            incarnation: worker.register.incarnation,
            slots: worker.register.slots,
            capacity: worker.capacity,
            leases_expire: worker.leases_expire,
            bugs: windlass_core::planted::Bugs::NONE,
        };
        let (tells, over) = mpsc::channel(OUTCOMES_MAX);
        Self {
            worker,
            session: WorkerSession::new(config, told),
            exchanges: JoinSet::new(),
            lingers_until: None,
            rests_until: None,
            pause: PAUSE_MIN,
            attempts: BTreeMap::new(),
            tells,
            over,
            drains: false,
        }
    }

    async fn run(mut self, shutdown: &mut Shutdown) -> Result<(), WorkerError> {
        let mut broken = self.worker.executor.over();
        loop {
            self.exchange_if_due();
            if let Some(refusal) = self.session.ended() {
                let refusal = refusal.clone();
                return self.end(refusal).await;
            }
            if self.drains && self.session.busy() == 0 && self.session.spool().is_empty() {
                return Ok(());
            }
            let wake = self.wakes_at();
            tokio::select! {
                biased;
                () = shutdown.wait(), if !self.drains => {
                    self.drains = true;
                    self.session.drain();
                }
                why = &mut broken => return Err(WorkerError::Broken(why)),
                Some((fence, outcome)) = self.over.recv() => self.attempt_ended(fence, outcome),
                Some(replied) = self.exchanges.join_next() => self.replied(replied.ok()),
                () = sleep_until(wake) => {
                    let actions = self.session.on_tick(self.now());
                    self.act(actions);
                }
            }
        }
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
        self.lingers_until = Some(Instant::now() + LINGER);
    }

    fn held_back_until(&self) -> Option<Instant> {
        self.lingers_until.max(self.rests_until)
    }

    fn wakes_at(&self) -> Instant {
        let session = self.session.next_deadline().map(|at| self.worker.clock.nap_until(at));
        let due = self.session.exchange_due(self.now());
        let held_back = self.held_back_until().filter(|_| due);
        let far = Instant::now() + Duration::from_hours(1);
        [session, held_back].into_iter().flatten().min().unwrap_or(far)
    }

    fn replied(&mut self, replied: Option<Result<Reply, LinkError>>) {
        if let Some(Ok(reply)) = replied {
            (self.pause, self.rests_until) = (PAUSE_MIN, None);
            let actions = self.session.on_reply(reply, self.now());
            // Steps that do next to nothing are over in a moment: they are told together with what they leave room for.
            self.lingers_until = (!actions.is_empty()).then(|| Instant::now() + LINGER);
            self.move_deadlines();
            self.act(actions);
        } else if self.exchanges.is_empty() {
            self.session.on_unreached();
            self.rests_until = Some(Instant::now() + self.pause);
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Passes on by when attempts must have ended, for the case that this worker cannot say so in time.
    fn move_deadlines(&self) {
        if !self.tells_deadlines() {
            return;
        }
        for (fence, attempt) in &self.attempts {
            let deadline = self.session.deadline(*fence);
            attempt.send_if_modified(|orders| {
                std::mem::replace(&mut orders.deadline, deadline) != deadline
            });
        }
    }

    /// Another clock's deadlines would mean nothing to those who are told.
    const fn tells_deadlines(&self) -> bool {
        self.worker.leases_expire && self.worker.clock.is_the_guards()
    }

    fn attempt_ended(&mut self, fence: Fence, outcome: Outcome) {
        self.attempts.remove(&fence);
        let mut actions = self.session.on_finished(fence, outcome, self.now());
        while let Ok((fence, outcome)) = self.over.try_recv() {
            self.attempts.remove(&fence);
            actions.extend(self.session.on_finished(fence, outcome, self.now()));
        }
        self.act(actions);
        if self.attempts.is_empty() {
            // Nothing else is about to end: the leader can tell at once what comes next.
            self.lingers_until = None;
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Start(grant) => self.start(grant),
                Action::Stop(stop) => {
                    if let Some(attempt) = self.attempts.get(&stop.fence) {
                        attempt.send_modify(|orders| orders.stop = Some(stop));
                    }
                }
            }
        }
    }

    fn start(&mut self, grant: Grant) {
        let fence = grant.lease.fence;
        let deadline = self.tells_deadlines().then(|| self.session.deadline(fence)).flatten();
        let (sender, orders) = watch::channel(Orders { stop: None, deadline });
        self.attempts.insert(fence, sender);
        let attempt = self.worker.executor.start(grant, orders);
        let ended = self.tells.clone();
        tokio::spawn(async move {
            // A panic of an executor is a failure of its step, and of nothing else.
            let outcome = tokio::spawn(attempt).await;
            let outcome = outcome.unwrap_or(Outcome::plain(OutcomeKind::Failed));
            drop(ended.send((fence, outcome)).await);
        });
    }

    /// The leader wants nothing of this life of the worker any more: nothing of it may go on.
    async fn end(mut self, refusal: Refusal) -> Result<(), WorkerError> {
        while !self.attempts.is_empty() {
            let Some((fence, _)) = self.over.recv().await else { break };
            self.attempts.remove(&fence);
        }
        Err(WorkerError::Refused(refusal))
    }
}
