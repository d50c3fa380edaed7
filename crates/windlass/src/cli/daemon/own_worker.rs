//! The worker of a controller that shares its store with others.
//!
//! It is a regular worker: it has its own id, its leases expire, and a guard ends its steps with them. Steps that are
//! pinned to the leader run only on the worker of the leading node, identified by its id. [`NodeLink`] is its connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tracing::error;
use windlass_controller::{LogIngest, NodeHandle};
use windlass_core::id::{Incarnation, WorkerId};
use windlass_link::DeathNoticeConfig;
use windlass_link::output::DISK_GRACE;
use windlass_net::http::{ClientCredentials, HttpClient, dialer};
use windlass_net::shutdown::ShutdownSender;
use windlass_worker::artifacts::ObjectAccess;
use windlass_worker::{ClusterMembership, StateDirectory};

use super::cluster_worker::{ClusterWorkerSetup, ENDS_WITHIN, WorkerBase, WorkerCompanions};
use super::guard_setup::guard_with_tethers;
use super::serve::{ServeOptions, log_operator_messages};
use super::token_file::read;
use super::unsent_output::UnsentWorkerOutput;
use crate::cli::error::CliError;
use crate::embedded::{NameWaitLink, NodeLink, StoreAddress};

/// The worker's state directory in the controller's own folder.
pub(super) const OWN_STATE: &str = "workers/leader";

/// How long a stopping controller continues to lead for an idle worker: one exchange, and its end.
const LEAVES_WITHIN: Duration = Duration::from_millis(500);

/// A controller's worker before it starts: its state and its identity.
#[derive(Debug)]
pub(super) struct OwnWorkerIdentity {
    state: StateDirectory,
    membership: Arc<ClusterMembership>,
}

impl OwnWorkerIdentity {
    /// Reads the worker's identity in a cluster; `None` if no steps run here.
    pub(super) fn enter(order: &ServeOptions, cluster: &str) -> Result<Option<Self>, CliError> {
        if order.slots == 0 {
            return Ok(None);
        }
        let state = StateDirectory::open(&order.state.join(OWN_STATE))?;
        let membership = Arc::new(state.join_cluster(cluster)?);
        Ok(Some(Self { state, membership }))
    }

    pub(super) fn worker_id(&self) -> WorkerId {
        self.membership.worker_id()
    }

    /// Starts to work for the leader.
    pub(super) async fn begin(
        self,
        order: &ServeOptions,
        handle: &NodeHandle,
        intake: LogIngest,
        objects: ObjectAccess,
    ) -> Result<OwnWorker, CliError> {
        let Self { state, membership } = self;
        let guard = guard_with_tethers(&state).await?;
        let link = Arc::new(link(order, handle, intake, &membership)?);
        let setup = ClusterWorkerSetup {
            name: &order.name,
            slots: order.slots,
            labels: order.labels.clone(),
            scope: order.own_worker_scope,
            root: &order.root,
            policy: &order.policy,
            disk_grace: DISK_GRACE,
            compiled: &order.compiled,
            link: Arc::new(NameWaitLink::new(Arc::clone(&link) as _, log_operator_messages())),
            output: Arc::clone(&link) as _,
            objects,
            death_notice: &|member, incarnation| death_notice(order, member, incarnation),
        };
        let worker = setup.assemble(WorkerBase { state, membership, guard })?;
        let (runtime, companions) = worker.start_shipping();
        let (drain, drains) = ShutdownSender::new();
        let working = tokio::spawn(async move { tell(runtime.run(drains).await.err()) });
        Ok(OwnWorker { drain, working, companions, link })
    }
}

/// A controller continues without its worker: leading matters more than running steps.
fn tell(error: Option<windlass_worker::WorkerError>) {
    if let Some(error) = error {
        let what = format!("this controller runs no more steps: {error}");
        error!("{what}");
    }
}

/// The running worker.
#[derive(Debug)]
pub(super) struct OwnWorker {
    drain: ShutdownSender,
    working: JoinHandle<()>,
    companions: WorkerCompanions,
    link: Arc<NodeLink>,
}

impl OwnWorker {
    /// The unsent output, readable until the process ends.
    pub(super) fn unsent(&self) -> UnsentWorkerOutput {
        self.companions.unsent.clone()
    }

    /// Lets the worker finish its steps and waits for that. An idle worker leaves while its controller still leads,
    /// which then retires. Otherwise the controller retires first, and the next leader records the worker's end.
    pub(super) async fn end(mut self, retire: impl FnOnce()) {
        self.drain.shut_down();
        if timeout(LEAVES_WITHIN, &mut self.working).await.is_ok() {
            self.shut_down().await;
            retire();
        } else {
            retire();
            drop((&mut self.working).await);
            self.shut_down().await;
        }
    }

    /// Ends its guard, sends its output and deregisters it.
    async fn shut_down(self) {
        let (unsent, Self { companions, link, .. }) = (self.unsent(), self);
        let ending = companions.end(true, async |member| {
            link.deregister(member.incarnation()).await;
        });
        drop(timeout(ENDS_WITHIN, ending).await);
        unsent.log_if_any();
    }
}

/// The death notice of its guard, addressed to the leader that the database names.
fn death_notice(
    order: &ServeOptions,
    membership: &ClusterMembership,
    incarnation: Incarnation,
) -> DeathNoticeConfig {
    let ways = match &order.store {
        StoreAddress::Postgres { url, .. } => vec![url.clone()],
        StoreAddress::Folder(_) => Vec::new(),
    };
    DeathNoticeConfig {
        ways,
        ca: order.ca.as_ref().map(|file| file.to_string_lossy().into_owned()),
        token: None,
        secret: membership.secret().to_hex(),
        worker: membership.worker_id(),
        incarnation,
        mail: None,
    }
}

/// The connection to the leader. Controllers that are configured alike accept the same token.
fn link(
    order: &ServeOptions,
    handle: &NodeHandle,
    intake: LogIngest,
    membership: &ClusterMembership,
) -> Result<NodeLink, CliError> {
    let token = order.token_file.as_deref().map(read).transpose()?;
    let credentials = ClientCredentials { token, worker: Some(membership.secret().clone()) };
    let dial = dialer(order.ca.as_deref()).map_err(CliError::usage)?;
    let client = Arc::new(HttpClient::new(dial, credentials));
    Ok(NodeLink::new(handle.clone(), intake, client, membership.secret().clone()))
}
