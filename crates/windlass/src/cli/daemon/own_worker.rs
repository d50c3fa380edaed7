//! The worker of a controller that shares its store with others.
//!
//! It is a regular worker: it has its own id, its leases expire, and a guard ends its steps with them. Steps that are
//! pinned to the leader run only on the worker of the leading node, identified by its id. [`NodeLink`] is its connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_controller::{LogIngest, NodeHandle};
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::session::{FormerLifeProof, RegisterRequest, WorkerLocality};
use windlass_link::DeathNoticeConfig;
use windlass_link::output::{OutputLink, SpooledLogs};
use windlass_net::http::{ClientCredentials, HttpClient, dialer};
use windlass_net::shutdown::ShutdownSender;
use windlass_worker::executors::TracePropagation;
use windlass_worker::guard::GuardHandle;
use windlass_worker::values::ValueStore;
use windlass_worker::{
    ClusterMembership, PeerWorkers, ProcessClock, StateDirectory, WorkerRuntime,
};

use super::guard_setup::{guard_with_tethers, place};
use super::serve::ServeOptions;
use super::token_file::read;
use super::unsent_output::UnsentWorkerOutput;
use super::worker_daemon::{ENDS_WITHIN, LEASES_AHEAD};
use super::worker_logging::{RoomWaitLogger, log_state_faults};
use crate::cli::error::CliError;
use crate::cli::extensions::StepExecutorSetup;
use crate::cli::output::{LogLevel, Logger};
use crate::embedded::{NameWaitLink, NodeLink, StoreAddress, system_now};

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
    ) -> Result<OwnWorker, CliError> {
        let Self { state, membership } = self;
        let (guard, guard_place) = guard_with_tethers(&state).await?;
        let place = place(&state, &order.root, (&order.name, &order.policy));
        let link = Arc::new(link(order, handle, intake, &membership)?);
        let (logs, shipping) =
            SpooledLogs::open(membership.logs(), Arc::clone(&link) as Arc<dyn OutputLink>)
                .map_err(|error| {
                    CliError::unreachable(format!(
                        "the folder for output cannot be opened: {error}"
                    ))
                })?;
        let listener = Arc::new(RoomWaitLogger { worker: order.name.clone(), log: order.log });
        let logs = logs.with_listener(listener);
        tokio::spawn(log_state_faults(membership.fault(), order.log));
        let begun = membership.lives().begin(Incarnation::default(), guard_place, system_now())?;
        let incarnation = begun.0;
        let executor = order.compiled.executor(StepExecutorSetup {
            place,
            guard: guard.clone(),
            death_notice: Some(death_notice(order, &membership, incarnation)),
            ends_calls: true,
            logs: Arc::new(logs.clone()),
            depot: Arc::new(ValueStore::new(Arc::clone(&link) as Arc<dyn OutputLink>)),
            link: Arc::clone(&link) as _,
            traces: TracePropagation::Own(None),
        })?;
        let unsent = UnsentWorkerOutput { logs, membership: Arc::clone(&membership) };
        let worker = WorkerRuntime {
            register: register(order, membership.worker_id(), begun),
            capacity: order.slots + LEASES_AHEAD,
            leases_expire: true,
            peers: PeerWorkers::Possible,
            clock: ProcessClock::since_boot(),
            leader_grace: None,
            link: Arc::new(NameWaitLink::new(Arc::clone(&link) as _, order.tell())),
            membership: Some(membership),
            executor,
        };
        let ((drain, drains), (shipped, ships)) = (ShutdownSender::new(), ShutdownSender::new());
        let log = order.log;
        let working = tokio::spawn(async move { tell(worker.run(drains).await.err(), log) });
        let shipping = (shipped, tokio::spawn(shipping.run(ships)));
        Ok(OwnWorker { drain, working, shipping, guard, link, unsent, log, _state: state })
    }
}

fn register(
    order: &ServeOptions,
    worker: WorkerId,
    (incarnation, former): (Incarnation, FormerLifeProof),
) -> RegisterRequest {
    RegisterRequest {
        worker,
        name: order.name.as_str().into(),
        incarnation,
        labels: order.own_labels(),
        slots: order.slots,
        home: WorkerLocality::Apart,
        former,
        spooled: Vec::new(),
    }
}

/// A controller continues without its worker: leading matters more than running steps.
fn tell(error: Option<windlass_worker::WorkerError>, log: Logger) {
    if let Some(error) = error {
        let what = format!("this controller runs no more steps: {error}");
        log.log_message(LogLevel::Error, what);
    }
}

/// The running worker.
#[derive(Debug)]
pub(super) struct OwnWorker {
    drain: ShutdownSender,
    working: JoinHandle<()>,
    /// The task that sends its output.
    shipping: (ShutdownSender, JoinHandle<()>),
    guard: GuardHandle,
    link: Arc<NodeLink>,
    unsent: UnsentWorkerOutput,
    log: Logger,
    /// Held while the worker lives: no other may use the directory.
    _state: StateDirectory,
}

impl OwnWorker {
    /// The unsent output, and the logger for it.
    pub(super) fn unsent(&self) -> (UnsentWorkerOutput, Logger) {
        (self.unsent.clone(), self.log)
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

    /// Ends its guard, sends its output and says goodbye; until then, or for a TTL, it holds its name.
    async fn shut_down(self) {
        let (shipped, shipping) = self.shipping;
        shipped.shut_down();
        let ending = async {
            drop(tokio::join!(self.guard.end(), shipping));
            // Outcomes without a verdict are reported by its next start.
            if self.unsent.membership.outcomes().is_empty() {
                self.link.deregister(self.unsent.membership.incarnation()).await;
            }
        };
        drop(timeout(ENDS_WITHIN, ending).await);
        self.unsent.log_if_any(self.log);
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
