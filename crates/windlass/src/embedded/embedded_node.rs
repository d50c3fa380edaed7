//! A node that leads its own store and works for itself.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;
#[cfg(feature = "http")]
use windlass_controller::LogIngest;
#[cfg(feature = "http")]
use windlass_controller::api::{Api, ApiStores, ControllerIdentity};
use windlass_controller::metrics::EventCounter;
use windlass_controller::{
    ControllerNode, EngineView, MaintenanceDriver, NodeConfig, NodeError, NodeHandle,
    RetentionSettings, RunHistories, SqlViewUpdater, StandbyPolicy,
};
use windlass_core::engine::EngineConfig;
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::requirement::Labels;
use windlass_core::session::{FormerLifeProof, WorkerLocality};
use windlass_core::time::Span;
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_store::db::StoreError;
use windlass_store::journal::LeaderCandidate;
#[cfg(feature = "http")]
use windlass_store::logs::{LogStore, NotifyingLogStore};
use windlass_worker::{
    Executor, GuardLockIdentity, PeerWorkers, WorkerError, WorkerIncarnations, WorkerRuntime,
    WorkerSetup,
};

use super::clock::system_now;
use super::name_wait_link::{NameWaitLink, OperatorMessages};
use super::stores::Stores;

/// The worker of a store that nobody else works for.
const LOCAL_WORKER_ID: WorkerId = WorkerId(1);

/// Leases beyond the slots: a reply's worth, so that short steps need not wait for a commit each.
const EXTRA_LEASES: u32 = 512;

/// Where leader and worker share one fate no lease ends by time; it is what late reports of an earlier life are judged by.
pub(crate) const EMBEDDED_LEASE_TTL: Span = Span::secs(15);

/// Steps from which a run is sealed by the station that ran it: to fold a thousand steps at the next start takes a
/// millisecond, to seal them at the end three.
const SEALED_AT_END: u32 = 1_000;

/// How long a station must have been there before its tables are kept: they take a fifth of a core from short steps, and
/// nobody queries a run that is over before the query is typed.
const TABLES_AFTER: Duration = Duration::from_secs(10);

/// How a station leads.
#[derive(Clone, Debug)]
pub struct LeaderOptions {
    /// Who it is, for those who ask who leads.
    pub name: String,
    /// Where others reach it, if they can.
    pub address: Option<String>,
    /// How long the leases of workers apart last.
    pub ttl: Span,
    /// How often workers apart exchange at least; a third of the TTL without.
    pub interval: Option<Span>,
    /// What it does while somebody else leads.
    pub stand_by: StandbyPolicy,
    /// Its worker, if it has one.
    pub own_worker: Option<WorkerId>,
    /// What an operator is told while its worker waits.
    pub messages: OperatorMessages,
}

impl LeaderOptions {
    /// That of a node whose store nobody else can lead, and that nobody else works for.
    pub fn exclusive(name: &str) -> Self {
        let (name, stand_by) = (name.to_owned(), StandbyPolicy::Refuse);
        let (own_worker, messages) = (Some(LOCAL_WORKER_ID), OperatorMessages::silent());
        Self {
            name,
            address: None,
            ttl: EMBEDDED_LEASE_TTL,
            interval: None,
            stand_by,
            own_worker,
            messages,
        }
    }
}

/// What works at a station.
#[derive(Clone, Debug)]
pub struct LocalWorkerOptions {
    /// The worker's name.
    pub name: String,
    /// How many steps it runs at a time.
    pub slots: u32,
    /// What it advertises.
    pub labels: Labels,
    /// Who else works here.
    pub beside: PeerWorkers,
    /// What runs its attempts.
    pub executor: Arc<dyn Executor>,
    /// The lives of its worker, and where its guard holds its lock; nothing where nothing is remembered.
    pub orphan_guard: Option<(Arc<WorkerIncarnations>, GuardLockIdentity)>,
}

/// Why a station ended, or did not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedNodeError {
    /// Its leader could not go on.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// Its worker could not go on.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// Its archive failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A part of it panicked.
    #[error("a part of windlass has failed: {0}; nothing acknowledged is lost")]
    Panicked(String),
}

/// A node that runs in this process.
#[derive(Debug)]
pub struct EmbeddedNode {
    handle: NodeHandle,
    /// Told first where others can lead: they need not wait for what else is to be done here.
    retire: ShutdownSender,
    shutdown: ShutdownSender,
    shutdown_worker: ShutdownSender,
    node: JoinHandle<Result<(), NodeError>>,
    /// There is none before it was told to work.
    worker: Option<JoinHandle<Result<(), WorkerError>>>,
    maintenance: (ShutdownSender, JoinHandle<Result<(), StoreError>>),
    histories: Arc<RunHistories>,
    tables: Option<(ShutdownSender, JoinHandle<()>)>,
    /// Is told that the name of its worker is held by one that is gone.
    tell: OperatorMessages,
}

impl EmbeddedNode {
    /// Takes the lead of the stores, or says who has it, and begins to work.
    pub async fn start(
        stores: &Stores,
        crew: LocalWorkerOptions,
    ) -> Result<Self, EmbeddedNodeError> {
        let mut station = Self::start_leader(stores, LeaderOptions::exclusive(&crew.name)).await?;
        station.start_worker(crew).await?;
        Ok(station)
    }

    /// Takes the lead of the stores, or says who has it. Nothing runs yet, not even what an earlier life left open.
    pub async fn start_leader(
        stores: &Stores,
        office: LeaderOptions,
    ) -> Result<Self, EmbeddedNodeError> {
        let mut station = Self::open(stores, office).await?;
        station.until_it_leads().await?;
        Ok(station)
    }

    /// Leads the stores, or stands by to.
    pub async fn open(stores: &Stores, office: LeaderOptions) -> Result<Self, EmbeddedNodeError> {
        let sealed_at_end = office.address.is_none().then_some(SEALED_AT_END);
        let config = NodeConfig {
            candidate: LeaderCandidate {
                node: office.name.clone(),
                address: office.address.clone(),
            },
            engine: EngineConfig { interval: office.interval, ..EngineConfig::default() },
            ttl: office.ttl,
            own: office.own_worker,
            stand_by: office.stand_by,
            // Terms end by time where others can lead.
            clock: ProcessClock::of_leases(),
        };
        let (node, handle) = ControllerNode::open(Arc::clone(&stores.journal), config).await?;
        // Before anything happens.
        let tally = EventCounter::new(&handle, Arc::clone(&stores.journal));
        let ((retire, retires), (shutdown, ends)) = (ShutdownSender::new(), ShutdownSender::new());
        let (shutdown_worker, _) = ShutdownSender::new();
        let node = tokio::spawn(node.run_and_retire(retires, ends));
        let kept = (Arc::clone(&stores.archive), Arc::clone(&stores.logs));
        let journal = Arc::clone(&stores.journal);
        let keeping =
            RetentionSettings { sealed_at_end, ..RetentionSettings::for_lease_ttl(office.ttl) };
        let maintenance = MaintenanceDriver::new(handle.clone(), journal, kept, keeping)
            .against(system_now, stores.shared.is_some());
        let histories = Arc::clone(maintenance.histories());
        let (sender, ends) = ShutdownSender::new();
        tokio::spawn(tally.run(ends.clone()));
        let maintenance = (sender, tokio::spawn(maintenance.run(ends)));
        let tables = stores.tables.clone().map(|tables| {
            let keeper = SqlViewUpdater::new(&handle, Arc::clone(&stores.journal), tables);
            let (sender, ends) = ShutdownSender::new();
            (sender, tokio::spawn(keep_tables(keeper, ends)))
        });
        Ok(Self {
            handle,
            retire,
            shutdown,
            shutdown_worker,
            node,
            worker: None,
            maintenance,
            histories,
            tables,
            tell: office.messages,
        })
    }

    /// Waits until it leads, or cannot go on.
    pub async fn until_it_leads(&mut self) -> Result<(), EmbeddedNodeError> {
        self.until(EngineView::leads).await
    }

    /// Leaves the lead to others, and goes on answering and following.
    pub fn retire(&self) {
        self.retire.shut_down();
    }

    /// Begins to work on everything that is open.
    pub async fn start_worker(
        &mut self,
        crew: LocalWorkerOptions,
    ) -> Result<(), EmbeddedNodeError> {
        let link = NameWaitLink::new(Arc::new(self.handle.clone()), self.tell.clone());
        let worker = worker(&self.handle, link, crew)?;
        let incarnation = worker.register.incarnation;
        let (sender, ends) = ShutdownSender::new();
        self.shutdown_worker = sender;
        self.worker = Some(tokio::spawn(worker.run(ends)));
        // A run that came before its worker would find nobody who can run its steps.
        self.until(|view| {
            let mut own = view.engine.workers().filter(|worker| worker.id == LOCAL_WORKER_ID);
            own.any(|worker| worker.incarnation == incarnation)
        })
        .await
    }

    /// Waits until it has come so far, or cannot go on.
    async fn until(
        &mut self,
        reached: impl Fn(&EngineView) -> bool,
    ) -> Result<(), EmbeddedNodeError> {
        let views = Arc::clone(self.handle.views());
        let mut follower = views.follow(views.look(|view| view.position));
        while !views.look(&reached) {
            tokio::select! {
                failed = self.wait_for_failure() => return Err(failed),
                _ = follower.next() => {}
            }
        }
        Ok(())
    }

    /// The way to its leader.
    pub const fn handle(&self) -> &NodeHandle {
        &self.handle
    }

    /// The events of runs that are not sealed.
    pub const fn histories(&self) -> &Arc<RunHistories> {
        &self.histories
    }

    /// What answers others over HTTP. Whoever writes logs in this process has to do so through `logs`.
    #[cfg(feature = "http")]
    pub fn api(
        &self,
        stores: &Stores,
        logs: &Arc<NotifyingLogStore>,
        about: ControllerIdentity,
    ) -> Api {
        let kept = ApiStores {
            archive: Arc::clone(&stores.archive),
            logs: Arc::clone(logs),
            histories: Arc::clone(&self.histories),
            journal: Arc::clone(&stores.journal),
        };
        Api::new(self.handle.clone(), kept, about, system_now)
    }

    /// What takes in the output of workers, into these logs.
    #[cfg(feature = "http")]
    pub fn intake(&self, logs: Arc<dyn LogStore>) -> LogIngest {
        LogIngest::new(self.handle.clone(), Arc::clone(&self.histories), logs)
    }

    /// Waits until it cannot go on; for ever if it can.
    pub async fn wait_for_failure(&mut self) -> EmbeddedNodeError {
        tokio::select! {
            ended = &mut self.node => task_failure(ended.map(|ended| ended.map_err(Into::into))),
            ended = worker_failure(&mut self.worker) => task_failure(ended.map(|ended| ended.map_err(Into::into))),
        }
    }

    /// Ends it: the worker finishes what it has, then the leader gives its store back.
    pub async fn shut_down(self) -> Result<(), EmbeddedNodeError> {
        self.shutdown_worker.shut_down();
        let worker = match self.worker {
            Some(worker) => worker.await.map_err(|error| panicked(&error))?,
            None => Ok(()),
        };
        let (sender, maintenance) = self.maintenance;
        sender.shut_down();
        let maintenance = maintenance.await.map_err(|error| panicked(&error))?;
        self.retire.shut_down();
        self.shutdown.shut_down();
        self.node.await.map_err(|error| panicked(&error))??;
        if let Some((sender, tables)) = self.tables {
            sender.shut_down();
            tables.await.map_err(|error| panicked(&error))?;
        }
        worker?;
        Ok(maintenance?)
    }
}

/// A run that is over in a moment is not worth tables: who wants to query it has its history.
async fn keep_tables(keeper: SqlViewUpdater, mut shutdown: ShutdownReceiver) {
    tokio::select! {
        () = shutdown.wait() => {}
        () = sleep(TABLES_AFTER) => drop(keeper.run(shutdown.clone()).await),
    }
}

fn worker(
    handle: &NodeHandle,
    link: NameWaitLink,
    crew: LocalWorkerOptions,
) -> Result<WorkerRuntime, WorkerError> {
    // The clock may have been set back, and the file of its lives may be that of another store.
    let known = handle.views().look(|view| {
        let own = view.engine.workers().find(|worker| worker.id == LOCAL_WORKER_ID);
        own.map_or(Incarnation::default(), |worker| worker.incarnation)
    });
    let (incarnation, former) = match crew.orphan_guard {
        Some((lives, guard)) => lives.begin(known, guard, system_now())?,
        None => (known.next(system_now(), 0), FormerLifeProof::Unknown),
    };
    let worker = WorkerSetup {
        worker: LOCAL_WORKER_ID,
        name: crew.name,
        life: (incarnation, former),
        labels: crew.labels,
        slots: crew.slots,
        leases_ahead: EXTRA_LEASES,
        locality: WorkerLocality::SharedFate,
        link: Arc::new(link),
        executor: crew.executor,
    };
    Ok(WorkerRuntime { peers: crew.beside, ..worker.assemble() })
}

async fn worker_failure(
    worker: &mut Option<JoinHandle<Result<(), WorkerError>>>,
) -> Result<Result<(), WorkerError>, tokio::task::JoinError> {
    match worker {
        Some(worker) => worker.await,
        None => pending().await,
    }
}

fn task_failure(
    ended: Result<Result<(), EmbeddedNodeError>, tokio::task::JoinError>,
) -> EmbeddedNodeError {
    match ended {
        Ok(Err(error)) => error,
        Ok(Ok(())) => EmbeddedNodeError::Panicked("it ended without being told to".to_owned()),
        Err(error) => panicked(&error),
    }
}

fn panicked(error: &tokio::task::JoinError) -> EmbeddedNodeError {
    EmbeddedNodeError::Panicked(error.to_string())
}
