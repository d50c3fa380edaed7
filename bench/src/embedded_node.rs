//! A complete node in one process: leader loop, in-process link, worker, and no-op steps.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_controller::{
    ControllerNode, EngineView, NodeConfig, NodeError, NodeHandle, StandbyPolicy,
};
use windlass_core::engine::{EngineConfig, EngineRequest, SubmitRun};
use windlass_core::id::{Incarnation, RunId, WorkerId};
use windlass_core::outcome::{Outcome, RunStatus, StepOutput};
use windlass_core::plan::Plan;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{FormerIncarnationProof, LeaseGrant, WorkerLocality};
use windlass_core::time::Span;
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::ShutdownSender;
use windlass_store::journal::{Journal, LeaderCandidate};
use windlass_worker::{
    AttemptFuture, AttemptOrders, Executor, WorkerError, WorkerRuntime, WorkerSetup,
};

use crate::cluster::time_to_executor_rows;
use crate::deadline::within;
use crate::disk::{REPEATS, ScratchFolder};
use crate::journal::open;
use crate::measure::RepeatTimes;
use crate::observer::ObserverExecutor;
use crate::table::{RowTarget, TableRow};
use crate::{engine_fleet, plans};

const STEPS: u32 = 100_000;
const CHAIN: u32 = 1_000;
const FAN: u32 = 10_000;

/// Runs of one step.
const SINGLE: u64 = 300;

const OWN: WorkerId = WorkerId(1);

/// Does nothing and returns fifty bytes.
#[derive(Debug)]
struct NoopExecutor;

impl Executor for NoopExecutor {
    fn start(&self, _grant: LeaseGrant, _orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        let output = StepOutput::inline("{\"digest\":\"0123456789abcdef0123456789abcdef01\"}");
        Box::pin(async move { Outcome { output, ..Outcome::exit(0) } })
    }
}

/// Steps per second with many slots.
pub(crate) fn throughput(scratch: &ScratchFolder) -> TableRow {
    let times = measure(scratch, &plans::fan_out(STEPS), 64);
    let (best, median) = times.per_second(STEPS.into());
    let name = "in process: noop steps, 64 slots".to_owned();
    let detail = "loop, link, worker, SQLite".to_owned();
    let target = RowTarget::AtLeast(60_000.0);
    TableRow { name, best, median, unit: "steps/s", detail, target }
}

/// The time from the end of a step to the end of its dependent.
pub(crate) fn hop(scratch: &ScratchFolder) -> TableRow {
    let times = measure(scratch, &plans::chain(CHAIN), 2);
    let each = |took: Duration| took.as_secs_f64() * 1000.0 / f64::from(CHAIN);
    let name = "in process: hop of a noop chain".to_owned();
    let (best, median) = (each(times.best), each(times.median));
    TableRow {
        name,
        best,
        median,
        unit: "ms",
        detail: String::new(),
        target: RowTarget::AtMost(0.4),
    }
}

/// A fan-out of 10,000 and its end.
pub(crate) fn fan(scratch: &ScratchFolder) -> TableRow {
    let times = measure(scratch, &plans::fan_out(FAN), 64);
    let (best, median) = (times.best.as_secs_f64(), times.median.as_secs_f64());
    let name = "in process: fan-out of 10,000 noops".to_owned();
    TableRow { name, best, median, unit: "s", detail: String::new(), target: RowTarget::None }
}

/// The time from a submission until the executor has the attempt.
pub(crate) fn time_to_executor(scratch: &ScratchFolder) -> Vec<TableRow> {
    let (notes, notices) = ObserverExecutor::new();
    let journal: Arc<dyn Journal> = Arc::new(open(&scratch.empty("local")));
    let took = runtime().block_on(async {
        let (node, handle) =
            ControllerNode::open(journal, config()).await.expect("the journal opens");
        let (sender, shutdown) = ShutdownSender::new();
        let node = tokio::spawn(node.run(shutdown.clone()));
        let worker = tokio::spawn(worker(&handle, 1, Arc::new(notes)).run(shutdown));
        let plan = plans::chain(1);
        let mut took = Vec::new();
        for at in 0..SINGLE {
            let began = engine_fleet::now();
            let id = RunId::new(1_790_000_000_000, at);
            let submit = EngineRequest::Submit(SubmitRun::new(id, Arc::clone(&plan)));
            handle.ask(submit).await.expect("the node leads");
            took.push(notices.next("a step in one process") - began);
            assert_eq!(ended(&handle, id).await, RunStatus::Succeeded);
        }
        sender.shut_down();
        wait_for_both(worker, node).await;
        took
    });
    time_to_executor_rows("in process: submitted → handed to the executor", &took, 1.0)
}

fn measure(scratch: &ScratchFolder, plan: &Arc<Plan>, slots: u32) -> RepeatTimes {
    let mut took = Vec::new();
    for _ in 0..REPEATS {
        let runtime = runtime();
        let journal: Arc<dyn Journal> = Arc::new(open(&scratch.empty("local")));
        took.push(runtime.block_on(run(journal, plan, slots)));
    }
    RepeatTimes::of(took)
}

/// A runtime of two threads, as on the machine of the targets.
pub(crate) fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("two threads can be had")
}

/// A node with default options.
pub(crate) fn config() -> NodeConfig {
    NodeConfig {
        candidate: LeaderCandidate { node: "bench".to_owned(), address: None },
        engine: EngineConfig::default(),
        ttl: Span::secs(15),
        own: Some(OWN),
        stand_by: StandbyPolicy::Refuse,
        clock: ProcessClock::runtime(),
        leader_socket: None,
    }
}

/// The time from the submission to the durable end of the run.
async fn run(journal: Arc<dyn Journal>, plan: &Arc<Plan>, slots: u32) -> Duration {
    let (node, handle) = ControllerNode::open(journal, config()).await.expect("the journal opens");
    let (sender, shutdown) = ShutdownSender::new();
    let node = tokio::spawn(node.run(shutdown.clone()));
    let worker = tokio::spawn(worker(&handle, slots, Arc::new(NoopExecutor)).run(shutdown));
    let began = engine_fleet::now();
    let id = RunId::new(1_790_000_000_000, 1);
    let submitted = handle.ask(EngineRequest::Submit(SubmitRun::new(id, Arc::clone(plan)))).await;
    submitted.expect("the node leads");
    assert_eq!(ended(&handle, id).await, RunStatus::Succeeded);
    let took = began.elapsed();
    sender.shut_down();
    wait_for_both(worker, node).await;
    took
}

fn worker(handle: &NodeHandle, slots: u32, executor: Arc<dyn Executor>) -> WorkerRuntime {
    let setup = WorkerSetup {
        worker: OWN,
        name: "bench".to_owned(),
        incarnation: (Incarnation(1), FormerIncarnationProof::Unknown),
        labels: Labels::default(),
        slots,
        leases_ahead: 1024,
        locality: WorkerLocality::SharedFate,
        scope: WorkerScope::AllRuns,
        link: Arc::new(handle.clone()),
        executor,
    };
    setup.assemble()
}

/// Checks that both have ended without an error.
async fn wait_for_both(
    worker: JoinHandle<Result<(), WorkerError>>,
    node: JoinHandle<Result<(), NodeError>>,
) {
    let ended = within("a worker in this process to end", worker).await;
    ended.expect("it does not panic").expect("it is not refused");
    let ended = within("a node in this process to end", node).await;
    ended.expect("it does not panic").expect("its journal works");
}

async fn ended(handle: &NodeHandle, run: RunId) -> RunStatus {
    within("a run in this process to end", wait_for_end(handle, run)).await
}

/// Waits for the end of a run.
async fn wait_for_end(handle: &NodeHandle, run: RunId) -> RunStatus {
    let end = |view: &EngineView| view.engine.run_status(run).filter(|status| status.is_terminal());
    handle.views().wait_for(|view| end(view).is_some()).await;
    handle.views().with(end).expect("it has ended")
}
