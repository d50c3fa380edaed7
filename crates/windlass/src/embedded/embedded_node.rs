//! A controller node in this process, with a worker inside it.

use std::future::pending;
#[cfg(all(unix, feature = "http"))]
use std::path::Path;
use std::path::PathBuf;
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
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{FormerIncarnationProof, WorkerLocality};
use windlass_core::time::Span;
use windlass_net::clock::ProcessClock;
use windlass_net::shutdown::{ShutdownReceiver, ShutdownSender};
use windlass_store::db::StoreError;
use windlass_store::journal::LeaderCandidate;
#[cfg(feature = "http")]
use windlass_store::logs::{LogStore, NotifyingLogStore};
#[cfg(feature = "http")]
use windlass_store::objects::ObjectStore;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::{
    Executor, GuardLockIdentity, PeerWorkers, WorkerError, WorkerIncarnations, WorkerRuntime,
    WorkerSetup,
};

use super::clock::system_now;
#[cfg(all(unix, feature = "http"))]
use super::leader_sockets::peer_socket;
use super::name_wait_link::{NameWaitLink, OperatorMessages};
use super::stores::Stores;

/// The id of the worker inside an exclusive leader.
const EXCLUSIVE_WORKER_ID: WorkerId = WorkerId(1);

/// Leases beyond the slots: as many as one reply can carry, so that short steps do not wait for a commit each.
const EXTRA_LEASES: u32 = 512;

/// The lease duration of an embedded leader. The leases of its own worker do not expire; late reports of an earlier start
/// are judged by this duration.
pub(crate) const EMBEDDED_LEASE_TTL: Span = Span::secs(15);

/// A run with at least this many steps is sealed when the node ends. To apply the events of a thousand steps at the next
/// start takes a millisecond, to seal them at the end three.
const SEALED_AT_END: u32 = 1_000;

/// How long a node runs before it updates its SQL views. They take a fifth of a core from short steps, and a run that has
/// ended before a query is typed needs none.
const TABLES_AFTER: Duration = Duration::from_secs(10);

/// Options of a node that leads or can lead.
#[derive(Clone, Debug)]
pub struct LeaderOptions {
    /// The node's name, which it reports as leader.
    pub name: String,
    /// The address at which others reach it, if they can.
    pub address: Option<String>,
    /// The lease duration of workers in other processes.
    pub ttl: Span,
    /// The longest interval between exchanges of workers in other processes (default: a third of the lease duration).
    pub interval: Option<Span>,
    /// Whether it waits or fails while another node leads.
    pub stand_by: StandbyPolicy,
    /// The id of its own worker, if it has one.
    pub own_worker: Option<WorkerId>,
    /// The socket at which the leader answers processes that share its folder. `None` if only one process uses the
    /// stores, or if the leader is reached at its address.
    pub leader_socket: Option<PathBuf>,
    /// Receives messages for the operator while its worker waits for its name.
    pub messages: OperatorMessages,
}

impl LeaderOptions {
    /// Options of a node whose store no other node can lead, and that has no other worker.
    pub fn exclusive(name: &str) -> Self {
        let (name, stand_by) = (name.to_owned(), StandbyPolicy::Refuse);
        let (own_worker, messages) = (Some(EXCLUSIVE_WORKER_ID), OperatorMessages::silent());
        Self {
            name,
            address: None,
            ttl: EMBEDDED_LEASE_TTL,
            interval: None,
            stand_by,
            own_worker,
            leader_socket: None,
            messages,
        }
    }

    /// Options of a node that shares the stores in a folder with other processes of this host.
    #[cfg(all(unix, feature = "http"))]
    pub fn sharing(folder: &Path, name: &str, own_worker: Option<WorkerId>) -> Self {
        let stand_by = StandbyPolicy::WaitForPeers;
        let leader_socket = Some(peer_socket(folder));
        Self { stand_by, own_worker, leader_socket, ..Self::exclusive(name) }
    }
}

/// Options of the worker inside a node.
#[derive(Clone, Debug)]
pub struct LocalWorkerOptions {
    /// The place of the worker among those of its host.
    pub place: LocalWorkerPlace,
    /// The worker's name.
    pub name: String,
    /// Concurrent steps.
    pub slots: u32,
    /// Advertised labels.
    pub labels: Labels,
    /// The runs whose steps it serves.
    pub scope: WorkerScope,
    /// Whether other workers can serve the same leader.
    pub beside: PeerWorkers,
    /// The executor of its attempts.
    pub executor: Arc<dyn Executor>,
    /// The starts of the worker, and the lock of its guard; `None` if nothing outlives this process.
    pub orphan_guard: Option<(Arc<WorkerIncarnations>, GuardLockIdentity)>,
}

/// The place of a worker among those of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalWorkerPlace {
    /// The only worker of this host: its leases end with the process.
    Exclusive,
    /// One of several, in the slot of this number.
    Slot(WorkerId),
}

impl LocalWorkerPlace {
    /// The id of the worker.
    pub const fn worker(self) -> WorkerId {
        match self {
            Self::Exclusive => EXCLUSIVE_WORKER_ID,
            Self::Slot(worker) => worker,
        }
    }

    const fn locality(self) -> WorkerLocality {
        match self {
            Self::Exclusive => WorkerLocality::SharedFate,
            Self::Slot(_) => WorkerLocality::SameHost,
        }
    }
}

/// Why a node ended, or did not start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedNodeError {
    /// The node cannot continue.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The worker cannot continue.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The archive failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A part panicked.
    #[error("a part of windlass has failed: {0}; nothing acknowledged is lost")]
    Panicked(String),
}

/// A running node in this process.
#[derive(Debug)]
pub struct EmbeddedNode {
    handle: NodeHandle,
    /// Fired first: another node can lead while the rest ends here.
    retire: ShutdownSender,
    shutdown: ShutdownSender,
    shutdown_worker: ShutdownSender,
    node: JoinHandle<Result<(), NodeError>>,
    /// `None` until the worker is started.
    worker: Option<JoinHandle<Result<(), WorkerError>>>,
    maintenance: (ShutdownSender, JoinHandle<Result<(), StoreError>>),
    histories: Arc<RunHistories>,
    objects: ObjectAccess,
    tables: Option<(ShutdownSender, JoinHandle<()>)>,
    /// Receives messages for the operator while its worker waits for its name.
    tell: OperatorMessages,
}

impl EmbeddedNode {
    /// Leads the stores and starts a worker. An error names the current leader if there is one.
    pub async fn start(
        stores: &Stores,
        options: LocalWorkerOptions,
    ) -> Result<Self, EmbeddedNodeError> {
        let mut node = Self::start_leader(stores, LeaderOptions::exclusive(&options.name)).await?;
        node.start_worker(options).await?;
        Ok(node)
    }

    /// Leads the stores. An error names the current leader if there is one. No step runs yet, not even one that an earlier
    /// start left open.
    pub async fn start_leader(
        stores: &Stores,
        options: LeaderOptions,
    ) -> Result<Self, EmbeddedNodeError> {
        let mut node = Self::open(stores, options).await?;
        node.until_it_leads().await?;
        Ok(node)
    }

    /// Leads the stores or stands by, and does not wait until it leads.
    pub async fn open(stores: &Stores, options: LeaderOptions) -> Result<Self, EmbeddedNodeError> {
        let sealed_at_end = options.address.is_none().then_some(SEALED_AT_END);
        let (node, handle) =
            ControllerNode::open(Arc::clone(&stores.journal), node_config(&options)).await?;
        // Before the first event.
        let tally = EventCounter::new(&handle, &stores.journal);
        let ((retire, retires), (shutdown, ends)) = (ShutdownSender::new(), ShutdownSender::new());
        let (shutdown_worker, _) = ShutdownSender::new();
        let node = tokio::spawn(node.run_and_retire(retires, ends));
        let kept = (Arc::clone(&stores.archive), Arc::clone(&stores.logs));
        let journal = Arc::clone(&stores.journal);
        let keeping =
            RetentionSettings { sealed_at_end, ..RetentionSettings::for_lease_ttl(options.ttl) };
        let maintenance = MaintenanceDriver::new(handle.clone(), journal, kept, keeping)
            .against(system_now, stores.shared.is_some());
        let histories = Arc::clone(maintenance.histories());
        let objects = stores.step_objects();
        let (sender, ends) = ShutdownSender::new();
        tokio::spawn(tally.run(ends.clone()));
        let maintenance = (sender, tokio::spawn(maintenance.run(ends)));
        let tables = stores.tables.clone().map(|tables| {
            let keeper = SqlViewUpdater::new(&handle, &stores.journal, tables);
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
            objects,
            tables,
            tell: options.messages,
        })
    }

    /// Returns the object store of steps that run in this process.
    pub fn objects(&self) -> ObjectAccess {
        self.objects.clone()
    }

    /// Waits until it leads, or cannot continue.
    pub async fn until_it_leads(&mut self) -> Result<(), EmbeddedNodeError> {
        self.until(EngineView::leads).await
    }

    /// Waits until requests to it reach a leader, in this process or in another one of this host; or it cannot continue.
    pub async fn until_it_reaches_leader(&mut self) -> Result<(), EmbeddedNodeError> {
        self.until(EngineView::reaches_leader).await
    }

    /// Stops leading. The node continues to answer and to apply events.
    pub fn retire(&self) {
        self.retire.shut_down();
    }

    /// Starts the worker. Returns its incarnation, once the leader knows it.
    pub async fn start_worker(
        &mut self,
        options: LocalWorkerOptions,
    ) -> Result<Incarnation, EmbeddedNodeError> {
        let id = options.place.worker();
        let link = NameWaitLink::new(Arc::new(self.handle.clone()), self.tell.clone());
        let worker = worker(&self.handle, link, options)?;
        let incarnation = worker.register.incarnation;
        let (sender, ends) = ShutdownSender::new();
        self.shutdown_worker = sender;
        self.worker = Some(tokio::spawn(worker.run(ends)));
        // A run that is submitted before its worker would find no worker that can run its steps.
        self.until(|view| {
            let mut own = view.engine.workers().filter(|worker| worker.id == id);
            own.any(|worker| worker.incarnation == incarnation)
        })
        .await?;
        Ok(incarnation)
    }

    /// Waits until the view has reached a state, or the node cannot continue.
    async fn until(
        &mut self,
        reached: impl Fn(&EngineView) -> bool,
    ) -> Result<(), EmbeddedNodeError> {
        let views = Arc::clone(self.handle.views());
        tokio::select! {
            biased;
            () = views.wait_for(reached) => Ok(()),
            failed = self.wait_for_failure() => Err(failed),
        }
    }

    /// The handle for requests to the node.
    pub const fn handle(&self) -> &NodeHandle {
        &self.handle
    }

    /// The events of runs that are not sealed.
    pub const fn histories(&self) -> &Arc<RunHistories> {
        &self.histories
    }

    /// The HTTP API of the node. Logs must be written through `logs`, or readers are not notified.
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
            objects: stores.objects.clone().map(|objects| objects as Arc<dyn ObjectStore>),
        };
        Api::new(self.handle.clone(), kept, about, system_now)
    }

    /// Receives the output of workers and writes it to these logs.
    #[cfg(feature = "http")]
    pub fn intake(&self, logs: Arc<dyn LogStore>) -> LogIngest {
        LogIngest::new(self.handle.clone(), Arc::clone(&self.histories), logs)
    }

    /// Waits until the node fails; forever if it does not.
    pub async fn wait_for_failure(&mut self) -> EmbeddedNodeError {
        tokio::select! {
            ended = &mut self.node => task_failure(ended.map(|ended| ended.map_err(Into::into))),
            ended = worker_failure(&mut self.worker) => task_failure(ended.map(|ended| ended.map_err(Into::into))),
        }
    }

    /// Ends the node: the worker finishes its steps, then the leader gives up its store.
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

fn node_config(options: &LeaderOptions) -> NodeConfig {
    NodeConfig {
        candidate: LeaderCandidate { node: options.name.clone(), address: options.address.clone() },
        engine: EngineConfig {
            interval: options.interval,
            same_host_workers: options.leader_socket.is_some(),
            ..EngineConfig::default()
        },
        ttl: options.ttl,
        own: options.own_worker,
        stand_by: options.stand_by,
        // Terms end by time where others can lead.
        clock: ProcessClock::of_leases(),
        leader_socket: options.leader_socket.clone(),
    }
}

/// Updates the SQL views, unless the node ends soon: a short run can be read from its history.
async fn keep_tables(keeper: SqlViewUpdater, mut shutdown: ShutdownReceiver) {
    tokio::select! {
        () = shutdown.wait() => {}
        () = sleep(TABLES_AFTER) => drop(keeper.run(shutdown.clone()).await),
    }
}

fn worker(
    handle: &NodeHandle,
    link: NameWaitLink,
    options: LocalWorkerOptions,
) -> Result<WorkerRuntime, WorkerError> {
    // The clock may have been set back, and the file of its starts may belong to another store.
    let known = handle.views().with(|view| {
        let own = view.engine.workers().find(|worker| worker.id == options.place.worker());
        own.map_or(Incarnation::default(), |worker| worker.incarnation)
    });
    let (incarnation, former) = match options.orphan_guard {
        Some((incarnations, guard)) => incarnations.begin(known, guard, system_now())?,
        None => (known.next(system_now(), 0), FormerIncarnationProof::Unknown),
    };
    let worker = WorkerSetup {
        worker: options.place.worker(),
        name: options.name,
        incarnation: (incarnation, former),
        labels: options.labels,
        slots: options.slots,
        leases_ahead: EXTRA_LEASES,
        locality: options.place.locality(),
        scope: options.scope,
        link: Arc::new(link),
        executor: options.executor,
    };
    Ok(WorkerRuntime { peers: options.beside, ..worker.assemble() })
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
        Ok(Ok(())) => EmbeddedNodeError::Panicked("it ended without a request".to_owned()),
        Err(error) => panicked(&error),
    }
}

fn panicked(error: &tokio::task::JoinError) -> EmbeddedNodeError {
    EmbeddedNodeError::Panicked(error.to_string())
}
