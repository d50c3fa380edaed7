//! The parts of a controller: its stores, its node, and its own worker.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::info;
use windlass_controller::StandbyPolicy;
use windlass_controller::api::{Api, ControllerIdentity, ControllerMode};
use windlass_controller::replica::UpstreamCluster;
use windlass_link::WorkerLink;
use windlass_net::http::HttpCallError;
use windlass_store::logs::NotifyingLogStore;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::executors::TracePropagation;
use windlass_worker::{PeerWorkers, StateDirectory};

use super::guard_setup::{executor_settings, guard};
use super::mailbox_service::{MailboxEndpoint, MailboxService};
use super::own_worker::{OWN_STATE, OwnWorker, OwnWorkerIdentity};
use super::serve::{ServeOptions, log_operator_messages, log_warnings};
use crate::cli::embedded_worker::EmbeddedWorkerSetup;
use crate::cli::error::CliError;
use crate::embedded::{
    EmbeddedNode, LeaderOptions, LocalWorkerOptions, LocalWorkerPlace, StoreAddress, Stores,
    cluster_id,
};

/// A database has no place for files, and controllers of one database may be on different machines.
const NO_OBJECTS: &str = "files of steps (workspaces, artifacts, caches) are unavailable: name a folder that all \
                          controllers share with --objects FOLDER";

/// How long a starting replica tries to reach its upstream, and the pause between tries.
const UPSTREAM_WAIT_MAX: Duration = Duration::from_mins(1);
const UPSTREAM_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A controller's stores, and the node that leads them or stands by.
#[derive(Debug)]
pub(super) struct NodeSetup {
    pub(super) stores: Stores,
    pub(super) node: EmbeddedNode,
    /// The id of the cluster.
    pub(super) cluster: String,
    logs: Arc<NotifyingLogStore>,
    worker_identity: Option<OwnWorkerIdentity>,
    /// The upstream of a read-only replica.
    upstream: Option<Arc<UpstreamCluster>>,
}

/// The worker inside a controller.
#[derive(Debug)]
pub(super) enum ControllerWorker {
    /// It has no worker.
    None,
    /// A worker that lives and dies with the leader, and its state directory.
    Embedded {
        /// Held while the worker lives.
        _state: StateDirectory,
    },
    /// A worker with its own leases, which works for any leader.
    Separate(Box<OwnWorker>),
}

impl NodeSetup {
    /// Leads stores in a folder, or reports their leader; stands by for shared stores. A replica stands by forever.
    pub(super) async fn open(order: &ServeOptions, advertise: &str) -> Result<Self, CliError> {
        let stores = match &order.observe {
            Some(upstream) => observed_stores(upstream).await?,
            None => match (&order.store, order.accept_lost_history) {
                (StoreAddress::Folder(folder), true) => Stores::open_accepting_loss(folder)?,
                (store, _) => Stores::at(store, order.term).await?,
            },
        };
        log_warnings(&stores.warnings);
        let stores = match &order.objects {
            Some(folder) => stores.with_objects(folder)?,
            None => stores,
        };
        if stores.objects.is_none() && order.observe.is_none() {
            info!("{NO_OBJECTS}");
        }
        let address = Some(advertise.to_owned());
        let leader_options = LeaderOptions {
            address,
            ttl: order.ttl,
            messages: log_operator_messages(),
            ..LeaderOptions::exclusive(&order.name)
        };
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let Some(cluster) = stores.shared.clone() else {
            let node = EmbeddedNode::start_leader(&stores, leader_options).await?;
            let cluster = own_cluster(order.home())?;
            return Ok(Self { stores, node, cluster, logs, worker_identity: None, upstream: None });
        };
        let identity = OwnWorkerIdentity::enter(order, &cluster)?;
        let own = identity.as_ref().map(OwnWorkerIdentity::worker_id);
        let leader_options =
            LeaderOptions { stand_by: order.stand_by, own_worker: own, ..leader_options };
        let node = EmbeddedNode::open(&stores, leader_options).await?;
        let upstream = order.observe.clone();
        Ok(Self { stores, node, cluster, logs, worker_identity: identity, upstream })
    }

    /// The API of this node.
    pub(super) fn api(&self, about: ControllerIdentity) -> Api {
        let api = self.node.api(&self.stores, &self.logs, about);
        match &self.upstream {
            Some(upstream) => api.observing(Arc::clone(upstream)),
            None => api.with_mode(self.company()),
        }
    }

    /// Whether other controllers can lead.
    pub(super) const fn company(&self) -> ControllerMode {
        if self.stores.shared.is_some() {
            ControllerMode::Shared
        } else {
            ControllerMode::Exclusive
        }
    }

    /// The services that answer mailbox messages whenever this node leads.
    pub(super) fn mailbox_services(
        &self,
        order: &ServeOptions,
        about: &ControllerIdentity,
    ) -> Vec<MailboxService> {
        let service = |endpoint: &MailboxEndpoint| MailboxService {
            endpoint: endpoint.clone(),
            leader_name: format!(
                "the controller at {} (pid {})",
                about.advertise,
                std::process::id()
            ),
            cluster: about.cluster.clone(),
            handle: self.node.handle().clone(),
            histories: Arc::clone(self.node.histories()),
            logs: Arc::clone(&self.logs),
        };
        order.mail.iter().map(service).collect()
    }

    /// Starts the controller's worker, if it has one. A node that must lead does so from here on.
    pub(super) async fn start_worker(
        &mut self,
        order: &ServeOptions,
    ) -> Result<ControllerWorker, CliError> {
        let logs = Arc::clone(&self.logs);
        let shared = self.stores.shared.is_some();
        let worker = match self.worker_identity.take() {
            Some(identity) => {
                let intake = self.node.intake(logs);
                let objects = self.node.objects();
                let own = identity.begin(order, self.node.handle(), intake, objects).await?;
                ControllerWorker::Separate(Box::new(own))
            }
            None if shared || order.slots == 0 => ControllerWorker::None,
            None => {
                let state = StateDirectory::open(&order.state.join(OWN_STATE))?;
                let link: Arc<dyn WorkerLink> = Arc::new(self.node.handle().clone());
                let objects = self.node.objects();
                let worker = embedded_worker(order, &state, (logs, link), objects).await?;
                self.node.start_worker(worker).await?;
                ControllerWorker::Embedded { _state: state }
            }
        };
        if shared && order.stand_by == StandbyPolicy::Refuse {
            self.node.until_it_leads().await?;
        }
        Ok(worker)
    }
}

/// The stores of a replica, once it has reached its upstream.
async fn observed_stores(upstream: &Arc<UpstreamCluster>) -> Result<Stores, CliError> {
    let began = Instant::now();
    let mut pause = UPSTREAM_POLL_INTERVAL;
    loop {
        match upstream.cluster().await {
            Ok(there) => return Ok(Stores::observing(Arc::clone(upstream), there.id)),
            Err(HttpCallError::Refused(problem)) => {
                return Err(HttpCallError::Refused(problem).into());
            }
            Err(error) if began.elapsed() > UPSTREAM_WAIT_MAX => return Err(error.into()),
            Err(_) => sleep(pause).await,
        }
        pause = (pause * 2).min(UPSTREAM_WAIT_MAX / 10);
    }
}

/// Starts the embedded worker. Kills processes that an earlier start left alive, since their leases ended with it.
async fn embedded_worker(
    order: &ServeOptions,
    state: &StateDirectory,
    (logs, link): (Arc<NotifyingLogStore>, Arc<dyn WorkerLink>),
    objects: ObjectAccess,
) -> Result<LocalWorkerOptions, CliError> {
    let settings = executor_settings(state, &order.root, (&order.name, &order.policy), objects);
    let (guard, guard_place) = guard(state).await?;
    let setup = EmbeddedWorkerSetup {
        place: LocalWorkerPlace::Exclusive,
        slots: order.slots,
        labels: order.labels.clone(),
        scope: order.own_worker_scope,
        settings,
        guard,
        orphan_guard: Some((Arc::new(state.incarnations()?), guard_place)),
        logs,
        link,
        peers: PeerWorkers::Possible,
        ends_calls: false,
        traces: TracePropagation::Own(None),
    };
    setup.assemble(&order.compiled)
}

/// The id of a cluster whose stores are in a folder.
fn own_cluster(folder: &Path) -> Result<String, CliError> {
    cluster_id(folder)
        .map_err(|error| CliError::unreachable(format!("the store has no readable id: {error}")))
}
