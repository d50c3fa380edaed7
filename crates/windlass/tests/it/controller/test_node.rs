//! Nodes, clients and workers over a journal in memory, started in one line each.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass::core::engine::{Engine, EngineAnswer, EngineConfig, EngineRequest, SubmitRun};
use windlass::core::id::{Incarnation, RunId, Seq, Term, WorkerId};
use windlass::core::outcome::{Outcome, RunStatus, StepStatus};
use windlass::core::plan::{Plan, PlanBuilder, StepSpec};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{
    Exchange, ExchangeReply, FinishedAttempt, FormerIncarnationProof, InFlightLease, LeasePhase,
    LeaseRef, OutcomeVerdict, RegisterRequest, WorkerLocality,
};
use windlass::core::time::{Span, Time};
use windlass_controller::{
    ControllerNode, EngineView, NodeConfig, NodeError, NodeHandle, NotLeader, StandbyPolicy,
};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::conformance::FaultyJournal;
use windlass_store::journal::{Journal, LeaderCandidate, MemoryJournal, Position, RecordedEvent};

use super::expiring_terms::ExpiringTermJournal;

pub(super) const TTL: Span = Span::secs(15);
const START: Time = Time::from_millis(1_790_000_000_000);

/// A journal in memory behind faults.
pub(super) type TestJournal = FaultyJournal<ExpiringTermJournal>;

/// A journal whose terms last until they are resigned.
pub(super) fn journal() -> Arc<TestJournal> {
    Arc::new(FaultyJournal::new(Arc::new(ExpiringTermJournal::new(None, memory()))))
}

/// A journal whose terms expire.
pub(super) fn lasting(term: Span) -> Arc<TestJournal> {
    Arc::new(FaultyJournal::new(Arc::new(ExpiringTermJournal::new(Some(term), memory()))))
}

fn memory() -> MemoryJournal {
    MemoryJournal::new(|| START)
}

/// Returns all events of the journal.
pub(super) async fn everything(journal: &impl Journal) -> Vec<Arc<RecordedEvent>> {
    let batches = journal.tail(Position(0), usize::MAX).await.expect("it reads");
    batches.iter().flat_map(|batch| &batch.events).map(Arc::clone).collect()
}

/// Returns the state that a fold of the whole journal gives.
pub(super) async fn folded(journal: &impl Journal) -> String {
    let mut engine = Engine::new(EngineConfig::default());
    for recorded in everything(journal).await {
        engine.apply(recorded.at, &recorded.event).expect("it folds");
    }
    engine.dump_details()
}

/// A running node, and its handle.
pub(super) struct TestNode {
    pub(super) handle: NodeHandle,
    shutdown: ShutdownSender,
    running: JoinHandle<Result<(), NodeError>>,
}

pub(super) fn config(name: &str) -> NodeConfig {
    NodeConfig {
        candidate: LeaderCandidate { node: name.to_owned(), address: None },
        engine: EngineConfig::default(),
        ttl: TTL,
        own: None,
        stand_by: StandbyPolicy::Wait,
        clock: ProcessClock::runtime(),
        leader_socket: None,
    }
}

pub(super) async fn start(journal: &Arc<impl Journal + 'static>, name: &str) -> TestNode {
    start_with(journal, config(name)).await
}

pub(super) async fn start_with(
    journal: &Arc<impl Journal + 'static>,
    config: NodeConfig,
) -> TestNode {
    let journal: Arc<dyn Journal> = Arc::clone(journal) as _;
    let (node, handle) = ControllerNode::open(journal, config).await.expect("the journal opens");
    let (sender, shutdown) = ShutdownSender::new();
    let running = tokio::spawn(node.run(shutdown));
    TestNode { handle, shutdown: sender, running }
}

impl TestNode {
    /// Shuts the node down gracefully.
    pub(super) async fn shut_down(self) -> Result<(), NodeError> {
        self.shutdown.shut_down();
        self.running.await.expect("a node does not panic")
    }

    /// Ends the node as a crash would, whatever it does. Its term ends with it if terms do not expire.
    pub(super) async fn crash(self, journal: &impl Journal) {
        let term = self.term();
        self.running.abort();
        drop(self.running.await);
        journal.resign(term).await.expect("it was held or not");
    }

    /// Ends the node as a crash would; its term expires.
    pub(super) async fn vanish(self) {
        self.running.abort();
        drop(self.running.await);
    }

    pub(super) fn shutdown(&self) {
        self.shutdown.shut_down();
    }

    pub(super) fn term(&self) -> Term {
        self.handle.views().with(|view| view.engine.term())
    }

    pub(super) fn leads(&self) -> bool {
        self.handle.views().with(EngineView::leads)
    }

    pub(super) fn details(&self) -> String {
        self.handle.views().with(|view| view.engine.dump_details())
    }

    /// Waits until the node leads and that event is durable.
    pub(super) async fn led(&self) {
        let leads = |view: &EngineView| view.leads() && view.position > Position(0);
        self.handle.views().wait_for(leads).await;
    }

    /// A submission in progress.
    pub(super) fn submitting(
        &self,
        run: RunId,
        plan: &Arc<Plan>,
    ) -> JoinHandle<Result<EngineAnswer, NotLeader>> {
        let (handle, submit) = (self.handle.clone(), SubmitRun::new(run, Arc::clone(plan)));
        tokio::spawn(async move { handle.ask(EngineRequest::Submit(submit)).await })
    }

    /// Drops the handle. The node gets the order to end when the result is awaited.
    pub(super) fn deserted(self) -> impl Future<Output = Result<(), NodeError>> {
        let Self { handle, shutdown, running } = self;
        drop(handle);
        async move {
            shutdown.shut_down();
            running.await.expect("a node does not panic")
        }
    }

    pub(super) async fn ends(self) -> Result<(), NodeError> {
        self.running.await.expect("a node does not panic")
    }

    pub(super) async fn submit(&self, run: RunId, plan: &Arc<Plan>) -> EngineAnswer {
        let submit = SubmitRun::new(run, Arc::clone(plan));
        self.handle.ask(EngineRequest::Submit(submit)).await.expect("it leads")
    }

    pub(super) fn run_status(&self, run: RunId) -> Option<RunStatus> {
        self.handle.views().with(|view| view.engine.run_status(run))
    }

    pub(super) fn step_status(&self, run: RunId, plan: &Plan, step: &str) -> Option<StepStatus> {
        let step = plan.find(step).expect("the plan has it");
        self.handle.views().with(|view| view.engine.step_status(run, step))
    }

    pub(super) fn position(&self) -> u64 {
        self.handle.views().with(|view| view.position.0)
    }
}

pub(super) fn run(n: u64) -> RunId {
    RunId::new(START.as_millis(), n)
}

/// A plan of independent steps.
pub(super) fn plan<const N: usize>(steps: [&str; N]) -> Arc<Plan> {
    plan_called("ship", steps)
}

pub(super) fn plan_called<const N: usize>(name: &str, steps: [&str; N]) -> Arc<Plan> {
    let mut plan = PlanBuilder::new(name);
    for step in steps {
        plan.step(step, StepSpec::default());
    }
    Arc::new(plan.build().expect("a valid plan"))
}

/// A worker as the leader sees it.
pub(super) struct TestWorker {
    id: WorkerId,
    seq: Seq,
    seen: Seq,
    term: Term,
    pub(super) held: Vec<LeaseRef>,
    finished: Vec<FinishedAttempt>,
    /// The verdicts on its last reports.
    pub(super) verdicts: Vec<OutcomeVerdict>,
}

impl TestWorker {
    pub(super) async fn join(node: &TestNode, id: u64) -> Self {
        Self::join_as(node, id, &format!("mate-{id}")).await.expect("it leads")
    }

    pub(super) async fn join_as(node: &TestNode, id: u64, name: &str) -> Result<Self, NotLeader> {
        let register = RegisterRequest {
            worker: WorkerId(id),
            name: name.into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: 4,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        let answer = node.handle.ask(EngineRequest::Register(register)).await?;
        let EngineAnswer::Registered(reply) = answer else { panic!("{answer:?}") };
        let (id, seq, seen, term) = (WorkerId(id), Seq(0), Seq(0), reply.term);
        let (held, finished, verdicts) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { id, seq, seen, term, held, finished, verdicts })
    }

    /// The next exchange, asking for `want` leases.
    pub(super) fn next(&mut self, want: u32) -> Exchange {
        self.seq = Seq(self.seq.0 + 1);
        self.again(want)
    }

    /// The same exchange again.
    pub(super) fn again(&self, want: u32) -> Exchange {
        let in_flight = self
            .held
            .iter()
            .map(|lease| InFlightLease { lease: *lease, phase: LeasePhase::Started });
        Exchange {
            worker: self.id,
            drains: false,
            incarnation: Incarnation(1),
            seq: self.seq,
            seen: self.seen,
            term: self.term,
            finished: self.finished.clone(),
            in_flight: in_flight.collect(),
            want,
        }
    }

    pub(super) fn hear(&mut self, reply: ExchangeReply) {
        self.seen = reply.seq;
        self.term = reply.term;
        let body = reply.body.expect("not refused");
        self.verdicts = body.verdicts.iter().map(|(_, verdict)| *verdict).collect();
        self.finished.retain(|it| body.verdicts.iter().all(|(fence, _)| *fence != it.lease.fence));
        self.held.extend(body.grants.iter().map(|grant| grant.lease));
    }

    /// Makes one exchange.
    pub(super) async fn exchange(&mut self, node: &TestNode, want: u32) {
        let exchange = self.next(want);
        let reply = node.handle.exchange(exchange).await.expect("it leads");
        self.hear(reply);
    }

    /// Reports success for all leases that it holds.
    pub(super) fn finish_all(&mut self) {
        for lease in self.held.drain(..) {
            let (outcome, ran) = (Outcome::exit(0), Some(Span::millis(5)));
            self.finished.push(FinishedAttempt { lease, outcome, ran });
        }
    }
}

/// Returns whether a future is still pending after everything that can happen now has happened.
pub(super) async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
    // With virtual time, this sleep ends only when no other work is left.
    tokio::time::timeout(Duration::from_millis(1), future).await.is_err()
}

/// Advances virtual time in small steps.
pub(super) async fn pass(span: Span) {
    let until = Instant::now() + Duration::from_millis(span.as_millis());
    tokio::time::sleep_until(until).await;
}
