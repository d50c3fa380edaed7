//! A leader and its workers in one process, by the clock of the runtime.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;
use tokio::task::JoinSet;
use windlass_core::engine::{Config, Submit};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLife, Grant, Home, Register, Verdict};
use windlass_core::time::{Span, Time};

use super::played::Played;
use crate::clock::Clock;
use crate::controller::{Handle, Node, NodeConfig, NodeError, StandBy};
use crate::journal::Candidate;
use crate::local::{StationError, Stores};
use crate::sdk::{RunError, follow};
use crate::shutdown::{Shutdown, ShutdownSender};
use crate::worker::executors::{CallExecutor, Callees, Guards, Halt, MaskCache, Place};
use crate::worker::{Attempt, Executor, Orders, Worker};

/// Steps that a worker runs at a time.
const SLOTS: u32 = 4;

/// How long a worker may be silent.
const TTL: Span = Span::secs(15);

/// A worker of a rehearsal.
#[derive(Clone, Debug)]
pub(super) struct Hand {
    pub(super) name: String,
    pub(super) labels: Vec<String>,
    /// It dies when it is about to begin this step.
    pub(super) dies_at: Option<String>,
}

/// The time at which every rehearsal begins.
pub(super) fn now() -> Time {
    Time::from_millis(1_790_000_000_000)
}

/// What a run is played on.
pub(super) struct Stage {
    callees: Callees,
    hands: Vec<Hand>,
}

impl Stage {
    pub(super) const fn new(callees: Callees, hands: Vec<Hand>) -> Self {
        Self { callees, hands }
    }

    /// Plays a run to its end.
    pub(super) async fn play(self, submit: Submit) -> Result<Played, RunError> {
        let stores = Stores::in_memory_at(now);
        let config = NodeConfig {
            candidate: Candidate { node: "stage".to_owned(), address: None },
            engine: Config::default(),
            ttl: TTL,
            own: Some(WorkerId(1)),
            stand_by: StandBy::Refuse,
            clock: Clock::of_runtime(),
        };
        let opened = Node::open(Arc::clone(&stores.journal), config).await;
        let (node, handle) = opened.map_err(StationError::from)?;
        let (sender, ends) = ShutdownSender::new();
        let node = tokio::spawn(node.run(ends));
        let mut workers = JoinSet::new();
        for (hand, number) in self.hands.iter().zip(1..) {
            workers.spawn(self.worker(hand, number, &handle, &stores));
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
            ended.map_err(StationError::from)?;
        }
        Played::new(summary, &stores, (run, took)).await
    }

    /// A worker from its start to its death.
    fn worker(
        &self,
        hand: &Hand,
        number: u64,
        handle: &Handle,
        stores: &Stores,
    ) -> impl Future<Output = ()> + Send + use<> {
        let place = Place {
            root: std::env::current_dir().unwrap_or_default(),
            scratch: PathBuf::new(),
            worker: hand.name.clone(),
            environment: Vec::new(),
            policy: EnvironmentPolicy::PassAll,
            masks: MaskCache::default(),
        };
        let logs = Arc::clone(&stores.logs);
        let executor = CallExecutor::new(self.callees.clone(), place, Guards::later(), logs);
        let executor = executor.with_link(Arc::new(handle.clone()));
        let death = Arc::new(Halt::default());
        let mortal = Mortal {
            executor: Arc::new(executor),
            dies_at: hand.dies_at.clone(),
            death: Arc::clone(&death),
            died: AtomicBool::new(false),
        };
        let labels = hand.labels.iter().cloned().chain(self.callees.labels());
        let register = Register {
            worker: WorkerId(number),
            name: hand.name.as_str().into(),
            incarnation: Incarnation(1),
            labels: Labels::new(labels),
            slots: SLOTS,
            home: Home::Apart,
            former: FormerLife::Unknown,
            spooled: Vec::new(),
        };
        let link = Arc::new(handle.clone());
        let worker = Worker {
            leases_expire: true,
            ..Worker::in_process(register, SLOTS, link, Arc::new(mortal))
        };
        let (sender, ends): (ShutdownSender, Shutdown) = ShutdownSender::new();
        async move {
            let _never_told = sender;
            tokio::select! {
                _ = worker.run(ends) => {}
                () = death.wait() => {}
            }
        }
    }

    async fn until_all_have_joined(&self, handle: &Handle) {
        let views = Arc::clone(handle.views());
        let mut follower = views.follow(views.look(|view| view.position));
        while views.look(|view| view.engine.workers().count()) < self.hands.len() {
            follower.next().await;
        }
    }
}

/// An executor of a worker that may die.
#[derive(Debug)]
struct Mortal {
    executor: Arc<dyn Executor>,
    dies_at: Option<String>,
    death: Arc<Halt>,
    died: AtomicBool,
}

impl Executor for Mortal {
    fn start(&self, grant: Grant, orders: watch::Receiver<Orders>) -> Attempt {
        if self.dies_at.as_deref() == Some(&*grant.name) && !self.died.swap(true, Ordering::AcqRel)
        {
            self.death.tell();
            return Box::pin(pending());
        }
        let (attempt, death) = (self.executor.start(grant, orders), Arc::clone(&self.death));
        Box::pin(async move {
            tokio::select! {
                outcome = attempt => outcome,
                // Nothing of a dead worker goes on.
                () = death.wait() => pending().await,
            }
        })
    }

    fn judged(&self, verdicts: &[(Fence, Verdict)]) {
        self.executor.judged(verdicts);
    }
}
