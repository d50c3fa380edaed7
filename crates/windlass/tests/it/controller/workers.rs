//! A worker apart from its leader: contact that is lost and found, lives that are over, orders to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass::controller::Handle;
use windlass::core::engine::{Answer, Request};
use windlass::core::id::{Fence, Incarnation, WorkerId};
use windlass::core::outcome::{Outcome, RunStatus, StepStatus};
use windlass::core::requirement::Labels;
use windlass::core::session::{
    Exchange, FormerLife, Grant, Home, Refusal, Register, Registered, Reply, StopHow,
};
use windlass::core::time::{Span, Time};
use windlass::link::{Carried, Link, LinkError};
use windlass::shutdown::ShutdownSender;
use windlass::worker::{
    Attempt, Beside, Clock, Ends, Executor, GuardPlace, Membership, Orders, State, Worker,
    WorkerError,
};

use super::crew::{Mate, TestNode, journal, pass, plan, run, start};

const ID: WorkerId = WorkerId(77);

/// A way to a leader that can be cut, or lead to another.
#[derive(Debug)]
struct Cable {
    to: Mutex<Handle>,
    cut: AtomicBool,
}

impl Cable {
    fn to(node: &TestNode) -> Arc<Self> {
        Arc::new(Self { to: Mutex::new(node.handle.clone()), cut: AtomicBool::new(false) })
    }

    fn lead_to(&self, node: &TestNode) {
        *self.to.lock().expect("nobody panics") = node.handle.clone();
    }

    fn cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::SeqCst);
    }

    fn carry(&self) -> Result<Handle, LinkError> {
        if self.cut.load(Ordering::SeqCst) {
            let (place, reason) = ("afar".to_owned(), "the cable is cut".to_owned());
            return Err(LinkError::Unreachable { place, reason });
        }
        Ok(self.to.lock().expect("nobody panics").clone())
    }

    /// What came back over a cable that was cut meanwhile did not.
    async fn carry_back<T>(
        &self,
        answer: impl Future<Output = Result<T, LinkError>>,
    ) -> Result<T, LinkError> {
        let answer = answer.await?;
        self.carry().map(|_| answer)
    }
}

impl Link for Cable {
    fn register(&self, register: Register) -> Carried<'_, Result<Registered, Refusal>> {
        Box::pin(async move {
            let handle = self.carry()?;
            self.carry_back(Link::register(&handle, register)).await
        })
    }

    fn exchange(&self, exchange: Exchange) -> Carried<'_, Reply> {
        Box::pin(async move {
            let handle = self.carry()?;
            self.carry_back(Link::exchange(&handle, exchange)).await
        })
    }
}

/// Steps that go on until they are told to end, by the test or by the worker.
#[derive(Debug)]
struct Hands {
    done: watch::Sender<bool>,
    killed: Arc<Mutex<Vec<Fence>>>,
    running: Arc<Mutex<Vec<Fence>>>,
}

impl Hands {
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

impl Executor for Hands {
    fn start(&self, grant: Grant, mut orders: watch::Receiver<Orders>) -> Attempt {
        let (running, killed) = (Arc::clone(&self.running), Arc::clone(&self.killed));
        let (mut done, fence) = (self.done.subscribe(), grant.lease.fence);
        running.lock().expect("nobody panics").push(fence);
        Box::pin(async move {
            let is_kill = |orders: &Orders| orders.stop.is_some_and(|it| it.how == StopHow::Kill);
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
struct Crewman {
    hands: Arc<Hands>,
    drain: ShutdownSender,
    kill: ShutdownSender,
    running: JoinHandle<Result<(), WorkerError>>,
}

struct Terms {
    incarnation: u64,
    leader_grace: Option<Duration>,
    memory: Option<Arc<Membership>>,
}

const PLAIN: Terms = Terms { incarnation: 1, leader_grace: None, memory: None };

impl Crewman {
    fn begin(cable: &Arc<Cable>, terms: Terms) -> Self {
        let hands = Hands::new();
        let register = Register {
            worker: ID,
            name: "apart".into(),
            incarnation: Incarnation(terms.incarnation),
            labels: Labels::default(),
            slots: 4,
            home: Home::Apart,
            former: FormerLife::Unknown,
            spooled: Vec::new(),
        };
        let worker = Worker {
            register,
            capacity: 4,
            leases_expire: true,
            beside: Beside::Others,
            clock: Clock::of_runtime(),
            leader_grace: terms.leader_grace,
            memory: terms.memory,
            link: Arc::clone(cable) as _,
            executor: Arc::clone(&hands) as _,
        };
        let (drain, first) = ShutdownSender::new();
        let (kill, second) = ShutdownSender::new();
        let ends = Ends { drain: first, kill: Some(second) };
        Self { hands, drain, kill, running: tokio::spawn(worker.run(ends)) }
    }

    async fn runs(&self, steps: usize) {
        while self.hands.running() != steps {
            pass(Span::millis(1)).await;
        }
    }

    async fn ends(self) -> (Result<(), WorkerError>, Arc<Hands>) {
        (self.running.await.expect("it does not panic"), self.hands)
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_order_lets_steps_finish_and_the_second_kills_them_and_tells() {
    let (journal, plan) = (journal(), plan(["build", "test"]));
    let node = start(&journal, "ann").await;
    let worker = Crewman::begin(&Cable::to(&node), PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(2).await;
    worker.drain.shut_down();
    pass(Span::mins(5)).await;
    assert!(worker.hands.running() == 2 && !worker.running.is_finished());
    let mut other = Mate::join(&node, 2).await;
    let killed = Instant::now();
    worker.kill.shut_down();
    let (ended, hands) = worker.ends().await;
    assert_eq!((ended, hands.killed()), (Ok(()), 2));
    assert!(killed.elapsed() < Duration::from_millis(50), "{:?}", killed.elapsed());
    other.exchange(&node, 4).await;
    assert_eq!(other.held.len(), 2, "handed out again at once");
}

#[tokio::test(start_paused = true)]
async fn who_has_done_a_short_step_has_the_next_at_once() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let worker = Crewman::begin(&Cable::to(&node), PLAIN);
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
async fn who_is_killed_without_a_leader_ends_in_time_and_the_next_life_tells() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let (cable, folder) = (Cable::to(&node), TempDir::new().expect("a folder"));
    let state = State::open(folder.path()).expect("it is nobody's");
    let memory = Arc::new(state.enter("ours").expect("it can be written"));
    let life = |now| {
        let now = Time::from_millis(now);
        let begun = memory.lives().begin(Incarnation(0), GuardPlace::default(), now);
        let incarnation = begun.expect("it is kept").0.0;
        Terms { incarnation, leader_grace: None, memory: Some(Arc::clone(&memory)) }
    };
    let worker = Crewman::begin(&cable, life(1_000));
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
    let worker = Crewman::begin(&cable, life(900));
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
    let (cable, folder) = (Cable::to(&node), TempDir::new().expect("a folder"));
    let state = State::open(folder.path()).expect("it is nobody's");
    let memory = Arc::new(state.enter("ours").expect("it can be written"));
    let terms = Terms { memory: Some(Arc::clone(&memory)), ..PLAIN };
    let worker = Crewman::begin(&cable, terms);
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
    // Whoever holds leases, or owes an outcome, tries every second.
    assert!(healed.elapsed() <= Duration::from_secs(1), "{:?}", healed.elapsed());
    pass(Span::millis(10)).await;
    assert!(memory.outcomes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_the_leader_forgot_kills_everything_and_begins_anew() {
    let (first, second, plan) = (journal(), journal(), plan(["build", "test"]));
    let node = start(&first, "ann").await;
    let cable = Cable::to(&node);
    let worker = Crewman::begin(&cable, PLAIN);
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
        views.look(|view| view.engine.workers().map(|it| it.incarnation).collect::<Vec<_>>())
    };
    assert_eq!(incarnations(&amnesiac), [Incarnation(2)]);
    assert_eq!(worker.hands.killed(), 2);
    worker.hands.done.send_replace(true);
    while amnesiac.run_status(run(2)) != Some(RunStatus::Succeeded) {
        pass(Span::millis(1)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_place_was_taken_kills_everything_and_ends() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let worker = Crewman::begin(&Cable::to(&node), PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    let next = Crewman::begin(&Cable::to(&node), Terms { incarnation: 2, ..PLAIN });
    let (ended, hands) = worker.ends().await;
    assert_eq!(ended, Err(WorkerError::Refused(Refusal::Superseded)));
    assert_eq!((hands.running(), hands.killed()), (0, 1));
    next.runs(1).await;
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_end_was_reported_while_it_lived_joins_anew() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let worker = Crewman::begin(&Cable::to(&node), PLAIN);
    node.submit(run(1), &plan).await;
    worker.runs(1).await;
    let started = Vec::new();
    let ended = Request::GuardEnded { worker: ID, incarnation: Incarnation(1), started };
    assert_eq!(node.handle.ask(ended).await, Ok(Answer::Done));
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
async fn without_a_leader_for_its_grace_a_worker_kills_what_it_has_and_ends() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let cable = Cable::to(&node);
    let patient = || Terms { leader_grace: Some(Duration::from_mins(1)), ..PLAIN };
    let worker = Crewman::begin(&cable, patient());
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
    let ended = Crewman::begin(&cable, patient()).ends().await.0;
    assert!(matches!(ended, Err(WorkerError::NoLeader { .. })), "{ended:?}");
    assert_eq!(began.elapsed().as_secs(), 60, "nor does it wait longer to join");
}
