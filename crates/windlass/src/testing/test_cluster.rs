//! A leader and its workers in one process, on the clock of the runtime.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_controller::{ControllerNode, NodeConfig, NodeError, NodeHandle, StandbyPolicy};
use windlass_core::engine::{EngineConfig, SubmitRun};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{FormerIncarnationProof, LeaseGrant, OutcomeVerdict, WorkerLocality};
use windlass_core::time::{Span, Time};
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_store::journal::LeaderCandidate;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::executors::{
    CallExecutor, CallStopSignal, CalleeRegistry, ExecutorSettings, GuardSource, MaskCache,
};
use windlass_worker::{AttemptFuture, AttemptOrders, Executor, WorkerRuntime, WorkerSetup};

use super::test_result::PipelineTestResult;
use crate::embedded::{EmbeddedNodeError, Stores};
use crate::sdk::{RunError, follow};

/// Concurrent steps of a worker.
const SLOTS: u32 = 4;

/// The lease duration.
const TTL: Span = Span::secs(15);

/// A worker of a pipeline test.
#[derive(Clone, Debug)]
pub(super) struct PipelineTestWorker {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
    /// The worker dies when it is about to start this step.
    pub(super) dies_at: Option<String>,
}

/// The time at which every test starts.
pub(super) fn now() -> Time {
    Time::from_millis(1_790_000_000_000)
}

/// The cluster of a test.
pub(super) struct PipelineTestCluster {
    callees: CalleeRegistry,
    workers: Vec<PipelineTestWorker>,
}

impl PipelineTestCluster {
    pub(super) const fn new(callees: CalleeRegistry, workers: Vec<PipelineTestWorker>) -> Self {
        Self { callees, workers }
    }

    /// Runs to the end.
    pub(super) async fn play(self, submit: SubmitRun) -> Result<PipelineTestResult, RunError> {
        let stores = Stores::in_memory_at(now);
        let config = NodeConfig {
            candidate: LeaderCandidate { node: "stage".to_owned(), address: None },
            engine: EngineConfig::default(),
            ttl: TTL,
            own: Some(WorkerId(1)),
            stand_by: StandbyPolicy::Refuse,
            clock: ProcessClock::runtime(),
            leader_socket: None,
        };
        let opened = ControllerNode::open(Arc::clone(&stores.journal), config).await;
        let (node, handle) = opened.map_err(EmbeddedNodeError::from)?;
        let (sender, ends) = ShutdownSender::new();
        let node = tokio::spawn(node.run(ends));
        let mut workers = JoinSet::new();
        for (worker, number) in self.workers.iter().zip(1..) {
            workers.spawn(self.worker(worker, number, &handle, &stores));
        }
        self.until_all_have_joined(&handle).await;
        let began = tokio::time::Instant::now();
        let run = submit.run;
        let summary = follow(&handle, &stores, submit).await;
        let took = began.elapsed();
        workers.abort_all();
        sender.shut_down();
        let ended: Result<Result<(), NodeError>, _> = node.await;
        let summary = summary?;
        if let Ok(ended) = ended {
            ended.map_err(EmbeddedNodeError::from)?;
        }
        PipelineTestResult::new(summary, &stores, (run, took)).await
    }

    /// Runs a worker until the test ends or the worker dies.
    fn worker(
        &self,
        worker: &PipelineTestWorker,
        number: u64,
        handle: &NodeHandle,
        stores: &Stores,
    ) -> impl Future<Output = ()> + Send + use<> {
        let settings = executor_settings(worker);
        let logs = Arc::clone(&stores.logs);
        let executor =
            CallExecutor::new(self.callees.clone(), settings, GuardSource::later(), logs);
        let executor = executor.with_link(Arc::new(handle.clone()));
        let death = Arc::new(CallStopSignal::default());
        let mortal = MortalExecutor {
            executor: Arc::new(executor),
            dies_at: worker.dies_at.clone(),
            death: Arc::clone(&death),
            died: AtomicBool::new(false),
        };
        let labels = worker.labels.iter().cloned().chain(self.callees.labels());
        let setup = WorkerSetup {
            worker: WorkerId(number),
            name: worker.name.clone(),
            incarnation: (Incarnation(1), FormerIncarnationProof::Unknown),
            labels: Labels::new(labels),
            slots: SLOTS,
            leases_ahead: 0,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            link: Arc::new(handle.clone()),
            executor: Arc::new(mortal),
        };
        let worker = WorkerRuntime { clock: ProcessClock::runtime(), ..setup.assemble() };
        let (sender, ends): (ShutdownSender, ShutdownReceiver) = ShutdownSender::new();
        async move {
            let _never_fired = sender;
            tokio::select! {
                _ = worker.run(ends) => {}
                () = death.wait() => {}
            }
        }
    }

    async fn until_all_have_joined(&self, handle: &NodeHandle) {
        let all = self.workers.len();
        handle.views().wait_for(|view| view.engine.workers().count() >= all).await;
    }
}

/// An executor of a worker that may die.
#[derive(Debug)]
struct MortalExecutor {
    executor: Arc<dyn Executor>,
    dies_at: Option<String>,
    death: Arc<CallStopSignal>,
    died: AtomicBool,
}

impl Executor for MortalExecutor {
    fn start(&self, grant: LeaseGrant, orders: watch::Receiver<AttemptOrders>) -> AttemptFuture {
        if self.dies_at.as_deref() == Some(&*grant.name) && !self.died.swap(true, Ordering::AcqRel)
        {
            self.death.send();
            return Box::pin(pending());
        }
        let (attempt, death) = (self.executor.start(grant, orders), Arc::clone(&self.death));
        Box::pin(async move {
            tokio::select! {
                outcome = attempt => outcome,
                // A dead worker runs nothing.
                () = death.wait() => pending().await,
            }
        })
    }

    fn on_verdicts(&self, verdicts: &[(Fence, OutcomeVerdict)]) {
        self.executor.on_verdicts(verdicts);
    }
}

/// The settings of a worker in virtual time, which starts no process.
fn executor_settings(worker: &PipelineTestWorker) -> ExecutorSettings {
    ExecutorSettings {
        root: std::env::current_dir().unwrap_or_default(),
        scratch: PathBuf::new(),
        worker: worker.name.clone(),
        environment: Vec::new(),
        policy: EnvironmentPolicy::PassAll,
        objects: ObjectAccess::unavailable("tests in virtual time keep no files"),
        masks: MaskCache::default(),
    }
}
