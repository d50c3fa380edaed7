//! A worker apart from its leader: lost and regained contact, former incarnations, orders to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass::core::engine::{EngineAnswer, EngineRequest};
use windlass::core::id::{Fence, Incarnation, WorkerId};
use windlass::core::outcome::{Outcome, RunStatus, StepStatus};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{
    Exchange, ExchangeReply, FormerIncarnationProof, LeaseGrant, RegisterReply, RegisterRequest,
    StopMode, WorkerLocality, WorkerRefusal,
};
use windlass::core::time::{Span, Time};
use windlass_controller::NodeHandle;
use windlass_link::{LinkError, LinkFuture, WorkerLink};
use windlass_net::shutdown::ShutdownSender;
use windlass_worker::{
    AttemptFuture, AttemptOrders, ClusterMembership, Executor, GuardLockIdentity, PeerWorkers,
    ProcessClock, StateDirectory, WorkerError, WorkerRuntime, WorkerShutdown,
};

use super::test_node::{TestNode, TestWorker, journal, pass, plan, run, start};

const ID: WorkerId = WorkerId(77);

/// A link to a leader that a test can cut, or connect to another leader.
#[derive(Debug)]
struct CuttableLink {
    to: Mutex<NodeHandle>,
    cut: AtomicBool,
}

impl CuttableLink {
    fn to(node: &TestNode) -> Arc<Self> {
        Arc::new(Self { to: Mutex::new(node.handle.clone()), cut: AtomicBool::new(false) })
    }

    fn lead_to(&self, node: &TestNode) {
        *self.to.lock().expect("nobody panics") = node.handle.clone();
    }

    fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }

    fn carry(&self) -> Result<NodeHandle, LinkError> {
        if self.cut.load(Ordering::SeqCst) {
            let (place, reason) = ("afar".to_owned(), "the cable is cut".to_owned());
            return Err(LinkError::Unreachable { place, reason });
        }
        Ok(self.to.lock().expect("nobody panics").clone())
    }

    /// A reply over a link that was cut meanwhile is lost.
    async fn carry_back<T>(
        &self,
        answer: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        let answer = answer.await?;
        self.carry().map(|_| answer)
    }
}

impl WorkerLink for CuttableLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move {
            let handle = self.carry()?;
            self.carry_back(WorkerLink::register(&handle, register)).await
        })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move {
            let handle = self.carry()?;
            self.carry_back(WorkerLink::exchange(&handle, exchange)).await
        })
    }
}

/// Steps that continue until the test or the worker ends them.
#[derive(Debug)]
struct HeldExecutor {
    done: watch::Sender<bool>,
    killed: Arc<Mutex<Vec<Fence>>>,
    running: Arc<Mutex<Vec<Fence>>>,
}

impl HeldExecutor {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            done: watch::channel(false).0,
            killed: Arc::default(),
            running: Arc::default(),
        })
    }

    fn running(&self) -> usize {
        self.running.lock().expect("nobody panics").len()
    }

    fn killed(&self) -> usize {
        self.killed.lock().expect("nobody panics").len()
    }
}

impl Executor for HeldExecutor {
    fn start(
        &self,
        grant: LeaseGrant,
        mut orders: watch::Receiver<AttemptOrders>,
    ) -> AttemptFuture {
        let (running, killed) = (Arc::clone(&self.running), Arc::clone(&self.killed));
        let (mut done, fence) = (self.done.subscribe(), grant.lease.fence);
        running.lock().expect("nobody panics").push(fence);
        Box::pin(async move {
            let is_kill =
                |orders: &AttemptOrders| orders.stop.is_some_and(|it| it.how == StopMode::Kill);
            let outcome = tokio::select! {
                _ = done.wait_for(|done| *done) => Outcome::exit(0),
                _ = orders.wait_for(is_kill) => {
                    killed.lock().expect("nobody panics").push(fence);
                    Outcome::exit(137)
                }
            };
            running.lock().expect("nobody panics").retain(|it| *it != fence);
            outcome
        })
    }
}

/// A worker that runs.
struct RunningTestWorker {
    hands: Arc<HeldExecutor>,
    drain: ShutdownSender,
    kill: ShutdownSender,
    running: JoinHandle<Result<(), WorkerError>>,
}

struct WorkerTestTimes {
    incarnation: u64,
    leader_grace: Option<Duration>,
    memory: Option<Arc<ClusterMembership>>,
}

const PLAIN: WorkerTestTimes = WorkerTestTimes { incarnation: 1, leader_grace: None, memory: None };

impl RunningTestWorker {
    fn begin(cable: &Arc<CuttableLink>, terms: WorkerTestTimes) -> Self {
        let hands = HeldExecutor::new();
        let register = RegisterRequest {
            worker: ID,
            name: "apart".into(),
            incarnation: Incarnation(terms.incarnation),
            labels: Labels::default(),
            slots: 4,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        let worker = WorkerRuntime {
            register,
            capacity: 4,
            leases_expire: true,
            peers: PeerWorkers::Possible,
            clock: ProcessClock::runtime(),
            leader_grace: terms.leader_grace,
            membership: terms.memory,
            link: Arc::clone(cable) as _,
            executor: Arc::clone(&hands) as _,
        };
        let (drain, first) = ShutdownSender::new();
        let (kill, second) = ShutdownSender::new();
        let ends = WorkerShutdown { drain: first, kill: Some(second) };
        Self { hands, drain, kill, running: tokio::spawn(worker.run(ends)) }
    }

    async fn runs(&self, steps: usize) {
        while self.hands.running() != steps {
            pass(Span::millis(1)).await;
        }
    }

    async fn ends(self) -> (Result<(), WorkerError>, Arc<HeldExecutor>) {
        (self.running.await.expect("it does not panic"), self.hands)
    }
}

#[tokio::test(start_paused = true)]
async fn first_stop_order_lets_steps_finish_and_second_kills_and_reports_them() {
    let (journal, plan) = (journal(), plan(["build", "test"]));
    let node = start(&journal, "ann").await;
    let worker = RunningTestWorker::begin(&CuttableLink::to(&node), PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(2).await;
    worker.drain.shut_down();
    pass(Span::mins(5)).await;
    assert!(worker.hands.running() == 2 && !worker.running.is_finished());
    let mut other = TestWorker::join(&node, 2).await;
    let killed = Instant::now();
    worker.kill.shut_down();
    let (ended, hands) = worker.ends().await;
    assert_eq!((ended, hands.killed()), (Ok(()), 2));
    assert!(killed.elapsed() < Duration::from_millis(50), "{:?}", killed.elapsed());
    other.exchange(&node, 4).await;
    assert_eq!(other.held.len(), 2, "handed out again at once");
}

#[tokio::test(start_paused = true)]
async fn worker_gets_the_next_step_right_after_a_short_one() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let worker = RunningTestWorker::begin(&CuttableLink::to(&node), PLAIN);
    worker.hands.done.send_replace(true);
    for (number, most) in [(1, 1_000), (2, 5), (3, 5)] {
        let submitted = Instant::now();
        node.submit(run(number), &plan).await;
        while node.run_status(run(number)) != Some(RunStatus::Succeeded) {
            pass(Span::millis(1)).await;
        }
        let took = submitted.elapsed();
        assert!(took <= Duration::from_millis(most), "run {number} took {took:?}");
    }
    worker.drain.shut_down();
    assert_eq!(worker.ends().await.0, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn worker_killed_without_a_leader_ends_in_time_and_its_next_incarnation_reports() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let (cable, folder) = (CuttableLink::to(&node), TempDir::new().expect("a folder"));
    let state = StateDirectory::open(folder.path()).expect("it is nobody's");
    let memory = Arc::new(state.join_cluster("ours").expect("it can be written"));
    let next_incarnation = |now| {
        let now = Time::from_millis(now);
        let begun = memory.incarnations().begin(Incarnation(0), GuardLockIdentity::default(), now);
        let incarnation = begun.expect("it is kept").0.0;
        WorkerTestTimes { incarnation, leader_grace: None, memory: Some(Arc::clone(&memory)) }
    };
    let worker = RunningTestWorker::begin(&cable, next_incarnation(1_000));
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    cable.cut(true);
    worker.hands.done.send_replace(true);
    worker.runs(0).await;
    pass(Span::secs(10)).await;
    assert_eq!(memory.outcomes().len(), 1, "kept while nobody answers");
    let killed = Instant::now();
    worker.kill.shut_down();
    assert_eq!(worker.ends().await.0, Ok(()));
    assert!(killed.elapsed() <= Duration::from_millis(2_100), "{:?}", killed.elapsed());

    cable.cut(false);
    let worker = RunningTestWorker::begin(&cable, next_incarnation(900));
    while node.run_status(run(1)) != Some(RunStatus::Succeeded) {
        pass(Span::millis(1)).await;
    }
    assert!(memory.outcomes().is_empty());
    assert_eq!(worker.hands.running(), 0, "it was not done twice");
    worker.drain.shut_down();
    assert_eq!(worker.ends().await.0, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn outcomes_of_an_outage_are_accepted_and_forgotten_when_it_is_over() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let (cable, folder) = (CuttableLink::to(&node), TempDir::new().expect("a folder"));
    let state = StateDirectory::open(folder.path()).expect("it is nobody's");
    let memory = Arc::new(state.join_cluster("ours").expect("it can be written"));
    let terms = WorkerTestTimes { memory: Some(Arc::clone(&memory)), ..PLAIN };
    let worker = RunningTestWorker::begin(&cable, terms);
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    cable.cut(true);
    worker.hands.done.send_replace(true);
    pass(Span::secs(10)).await;
    assert_eq!(memory.outcomes().len(), 1);
    cable.cut(false);
    let healed = Instant::now();
    while node.run_status(run(1)) != Some(RunStatus::Succeeded) {
        pass(Span::millis(1)).await;
    }
    // A worker with leases or unreported outcomes tries every second.
    assert!(healed.elapsed() <= Duration::from_secs(1), "{:?}", healed.elapsed());
    pass(Span::millis(10)).await;
    assert!(memory.outcomes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn worker_unknown_to_the_leader_kills_its_steps_and_rejoins() {
    let (first, second, plan) = (journal(), journal(), plan(["build", "test"]));
    let node = start(&first, "ann").await;
    let cable = CuttableLink::to(&node);
    let worker = RunningTestWorker::begin(&cable, PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(2).await;
    let amnesiac = start(&second, "ann").await;
    amnesiac.led().await;
    cable.lead_to(&amnesiac);
    drop(node.shut_down().await);
    while worker.hands.killed() < 2 {
        pass(Span::millis(1)).await;
    }
    amnesiac.submit(run(2), &plan).await;
    worker.runs(2).await;
    let incarnations = |node: &TestNode| {
        let views = node.handle.views();
        views.with(|view| view.engine.workers().map(|it| it.incarnation).collect::<Vec<_>>())
    };
    assert_eq!(incarnations(&amnesiac), [Incarnation(2)]);
    assert_eq!(worker.hands.killed(), 2);
    worker.hands.done.send_replace(true);
    while amnesiac.run_status(run(2)) != Some(RunStatus::Succeeded) {
        pass(Span::millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn superseded_worker_kills_its_steps_and_exits() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let worker = RunningTestWorker::begin(&CuttableLink::to(&node), PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    let next = RunningTestWorker::begin(
        &CuttableLink::to(&node),
        WorkerTestTimes { incarnation: 2, ..PLAIN },
    );
    let (ended, hands) = worker.ends().await;
    assert_eq!(ended, Err(WorkerError::Refused(WorkerRefusal::Superseded)));
    assert_eq!((hands.running(), hands.killed()), (0, 1));
    next.runs(1).await;
}

#[tokio::test(start_paused = true)]
async fn worker_reported_dead_while_alive_rejoins() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let worker = RunningTestWorker::begin(&CuttableLink::to(&node), PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    let started = Vec::new();
    let ended = EngineRequest::GuardEnded { worker: ID, incarnation: Incarnation(1), started };
    assert_eq!(node.handle.ask(ended).await, Ok(EngineAnswer::Done));
    while worker.hands.killed() < 1 {
        pass(Span::millis(1)).await;
    }
    worker.runs(1).await;
    worker.hands.done.send_replace(true);
    while node.step_status(run(1), &plan, "build") != Some(StepStatus::Succeeded) {
        pass(Span::millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn worker_without_a_leader_kills_its_steps_and_ends_after_its_grace() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let cable = CuttableLink::to(&node);
    let patient = || WorkerTestTimes { leader_grace: Some(Duration::from_mins(1)), ..PLAIN };
    let worker = RunningTestWorker::begin(&cable, patient());
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    pass(Span::mins(10)).await;
    assert_eq!(worker.hands.running(), 1, "a leader that has nothing to say answers");
    cable.cut(true);
    let cut = Instant::now();
    let (ended, hands) = worker.ends().await;
    let Err(WorkerError::NoLeader { waited, last }) = ended else { panic!("{ended:?}") };
    assert_eq!((waited.as_secs(), hands.killed()), (60, 1));
    assert!(last.contains("the cable is cut"), "{last}");
    let took = cut.elapsed();
    assert!((Duration::from_secs(55)..Duration::from_secs(63)).contains(&took), "{took:?}");

    let began = Instant::now();
    let ended = RunningTestWorker::begin(&cable, patient()).ends().await.0;
    assert!(matches!(ended, Err(WorkerError::NoLeader { .. })), "{ended:?}");
    assert_eq!(began.elapsed().as_secs(), 60, "nor does it wait longer to join");
}
