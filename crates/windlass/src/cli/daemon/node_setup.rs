//! Where a controller sits: its stores, its node, and who works there.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::guard_setup::{guard, place};
use super::mailbox_service::{MailboxEndpoint, MailboxService};
use super::own_worker::{OWN_STATE, OwnWorker, OwnWorkerIdentity};
use super::serve::ServeOptions;
use crate::cli::error::CliError;
use crate::cli::extensions::StepExecutorSetup;
use crate::controller::StandbyPolicy;
use crate::controller::api::{Api, ControllerIdentity, ControllerMode};
use crate::controller::replica::UpstreamCluster;
use crate::embedded::{
    EmbeddedNode, LeaderOptions, LocalWorkerOptions, StoreAddress, Stores, cluster_id,
};
use crate::link::WorkerLink;
use crate::link::http::HttpCallError;
use crate::link::output::LocalOutputLink;
use crate::logs::NotifyingLogStore;
use crate::worker::executors::TracePropagation;
use crate::worker::values::ValueStore;
use crate::worker::{PeerWorkers, StateDirectory};

/// How long an observer that begins looks for whom it observes, and how soon it looks again.
const UPSTREAM_WAIT_MAX: Duration = Duration::from_mins(1);
const UPSTREAM_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A controller's stores, and the node that leads them or stands by to.
#[derive(Debug)]
pub(super) struct NodeSetup {
    pub(super) stores: Stores,
    pub(super) station: EmbeddedNode,
    /// Which cluster it is of.
    pub(super) cluster: String,
    logs: Arc<NotifyingLogStore>,
    worker_identity: Option<OwnWorkerIdentity>,
    /// Whom it observes, if it does nothing else.
    upstream: Option<Arc<UpstreamCluster>>,
}

/// Who runs steps at a controller.
#[derive(Debug)]
pub(super) enum ControllerWorker {
    /// Nobody.
    None,
    /// A worker that shares its fate, and where that lives.
    Embedded {
        /// Held as long as the worker lives.
        _state: StateDirectory,
    },
    /// A worker that works for whoever leads.
    Separate(OwnWorker),
}

impl NodeSetup {
    /// Leads stores in a folder, or says who does; where they are shared, stands by to. An observer stands by for ever.
    pub(super) async fn open(order: &ServeOptions, advertise: &str) -> Result<Self, CliError> {
        let stores = match &order.observe {
            Some(upstream) => observed_stores(upstream).await?,
            None => match (&order.store, order.accept_lost_history) {
                (StoreAddress::Folder(folder), true) => Stores::open_accepting_loss(folder)?,
                (store, _) => Stores::at(store, order.term).await?,
            },
        };
        order.warn(&stores.warnings);
        let address = Some(advertise.to_owned());
        let office = LeaderOptions {
            address,
            ttl: order.ttl,
            messages: order.tell(),
            ..LeaderOptions::exclusive(&order.name)
        };
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let Some(cluster) = stores.shared.clone() else {
            let station = EmbeddedNode::start_leader(&stores, office).await?;
            let cluster = own_cluster(order.home())?;
            return Ok(Self {
                stores,
                station,
                cluster,
                logs,
                worker_identity: None,
                upstream: None,
            });
        };
        let post = OwnWorkerIdentity::enter(order, &cluster)?;
        let own = post.as_ref().map(OwnWorkerIdentity::worker_id);
        let office = LeaderOptions { stand_by: order.stand_by, own_worker: own, ..office };
        let station = EmbeddedNode::open(&stores, office).await?;
        let upstream = order.observe.clone();
        Ok(Self { stores, station, cluster, logs, worker_identity: post, upstream })
    }

    /// What is answered there.
    pub(super) fn api(&self, about: ControllerIdentity) -> Api {
        let api = self.station.api(&self.stores, &self.logs, about);
        match &self.upstream {
            Some(upstream) => api.observing(Arc::clone(upstream)),
            None => api.with_mode(self.company()),
        }
    }

    /// Who else can lead.
    pub(super) const fn company(&self) -> ControllerMode {
        if self.stores.shared.is_some() {
            ControllerMode::Shared
        } else {
            ControllerMode::Exclusive
        }
    }

    /// Those who answer letters whenever it leads.
    pub(super) fn mailbox_services(
        &self,
        order: &ServeOptions,
        about: &ControllerIdentity,
    ) -> Vec<MailboxService> {
        let room = |place: &MailboxEndpoint| MailboxService {
            place: place.clone(),
            leader_name: format!(
                "the controller at {} (pid {})",
                about.advertise,
                std::process::id()
            ),
            cluster: about.cluster.clone(),
            handle: self.station.handle().clone(),
            histories: Arc::clone(self.station.histories()),
            logs: Arc::clone(&self.logs),
            log: order.log,
        };
        order.mail.iter().map(room).collect()
    }

    /// Has somebody work there, where somebody is to. Who has to lead does so from here on.
    pub(super) async fn start_worker(
        &mut self,
        order: &ServeOptions,
    ) -> Result<ControllerWorker, CliError> {
        let logs = Arc::clone(&self.logs);
        let shared = self.stores.shared.is_some();
        let hands = match self.worker_identity.take() {
            Some(post) => {
                let intake = self.station.intake(logs);
                ControllerWorker::Separate(post.begin(order, self.station.handle(), intake).await?)
            }
            None if shared || order.slots == 0 => ControllerWorker::None,
            None => {
                let state = StateDirectory::open(&order.state.join(OWN_STATE))?;
                let link: Arc<dyn WorkerLink> = Arc::new(self.station.handle().clone());
                self.station
                    .start_worker(embedded_worker(order, &state, (logs, link)).await?)
                    .await?;
                ControllerWorker::Embedded { _state: state }
            }
        };
        if shared && order.stand_by == StandbyPolicy::Refuse {
            self.station.until_it_leads().await?;
        }
        Ok(hands)
    }
}

/// The stores of an observer, once it has reached whom it observes.
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

/// The controller's own worker. What a former life of it left alive is killed: its leases end with its life.
async fn embedded_worker(
    order: &ServeOptions,
    state: &StateDirectory,
    (logs, link): (Arc<NotifyingLogStore>, Arc<dyn WorkerLink>),
) -> Result<LocalWorkerOptions, CliError> {
    let name = order.name.clone();
    let place = place(state, &order.root, (&name, &order.policy));
    let (guard, guard_place) = guard(state).await?;
    let life = Some((Arc::new(state.lives()?), guard_place));
    let executor = order.compiled.executor(StepExecutorSetup {
        place,
        guard,
        death_notice: None,
        ends_calls: false,
        depot: Arc::new(ValueStore::new(Arc::new(LocalOutputLink(Arc::clone(&logs) as _)))),
        logs,
        link,
        traces: TracePropagation::Own(None),
    })?;
    let (slots, labels) = (order.slots, order.own_labels());
    Ok(LocalWorkerOptions {
        name,
        slots,
        labels,
        beside: PeerWorkers::Possible,
        executor,
        orphan_guard: life,
    })
}

/// The id of a cluster whose stores are in a folder.
fn own_cluster(folder: &Path) -> Result<String, CliError> {
    cluster_id(folder)
        .map_err(|error| CliError::unreachable(format!("the store cannot be named: {error}")))
}
