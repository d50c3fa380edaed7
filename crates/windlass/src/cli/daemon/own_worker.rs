//! The worker of a controller that shares its store with others.
//!
//! It is a worker like any other: it has an id of its own, its leases end by time, and a guard ends its steps with them.
//! Steps that are pinned to the leader are for that of the node that leads, by its id. See [`NodeLink`] for its way.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::session::{FormerLifeProof, RegisterRequest, WorkerLocality};

use super::guard_setup::{guard_with_tethers, place};
use super::serve::ServeOptions;
use super::token_file::read;
use super::unsent_output::UnsentWorkerOutput;
use super::worker_daemon::{ENDS_WITHIN, LEASES_AHEAD};
use super::worker_logging::{RoomWaitLogger, log_state_faults};
use crate::cli::error::CliError;
use crate::cli::extensions::StepExecutorSetup;
use crate::cli::output::{LogLevel, Logger};
use crate::controller::{LogIngest, NodeHandle};
use crate::embedded::{NameWaitLink, NodeLink, StoreAddress, system_now};
use crate::link::DeathNoticeConfig;
use crate::link::http::{ClientCredentials, HttpClient, dialer};
use crate::link::output::{OutputLink, SpooledLogs};
use crate::shutdown::ShutdownSender;
use crate::worker::executors::TracePropagation;
use crate::worker::guard::GuardHandle;
use crate::worker::values::ValueStore;
use crate::worker::{ClusterMembership, PeerWorkers, ProcessClock, StateDirectory, WorkerRuntime};

/// Where a controller's own worker lives, in the folder of what is the controller's own.
pub(super) const OWN_STATE: &str = "workers/leader";

/// How long a controller that ends leads on for a worker that has nothing to finish: an exchange, and its end.
const LEAVES_WITHIN: Duration = Duration::from_millis(500);

/// Where the worker of a controller will work, and who it is there.
#[derive(Debug)]
pub(super) struct OwnWorkerIdentity {
    state: StateDirectory,
    membership: Arc<ClusterMembership>,
}

impl OwnWorkerIdentity {
    /// Finds out who the worker is in a cluster; nobody where no steps are to run.
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

    /// Begins to work for whoever leads.
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
                .map_err(|error| CliError::unreachable(format!("no place for output: {error}")))?;
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

/// A controller goes on without its worker: to lead is more than to run steps.
fn tell(error: Option<crate::worker::WorkerError>, log: Logger) {
    if let Some(error) = error {
        let what = format!("no steps run here any more: {error}");
        log.log_message(LogLevel::Error, what);
    }
}

/// The worker at work.
#[derive(Debug)]
pub(super) struct OwnWorker {
    drain: ShutdownSender,
    working: JoinHandle<()>,
    /// What carries its output.
    shipping: (ShutdownSender, JoinHandle<()>),
    guard: GuardHandle,
    link: Arc<NodeLink>,
    unsent: UnsentWorkerOutput,
    log: Logger,
    /// Held as long as the worker lives: nobody else may live there.
    _state: StateDirectory,
}

impl OwnWorker {
    /// What it has not sent, and where that is told.
    pub(super) fn unsent(&self) -> (UnsentWorkerOutput, Logger) {
        (self.unsent.clone(), self.log)
    }

    /// Has it finish what it has, and waits for that. A worker that has nothing leaves while its controller still leads, which
    /// retires then; for one that has something its controller retires first, and the leader then hears of its end.
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

    /// Ends its guard, sends what it has printed, and says goodbye: until then, or for a TTL, it holds its name.
    async fn shut_down(self) {
        let (shipped, shipping) = self.shipping;
        shipped.shut_down();
        let ending = async {
            drop(tokio::join!(self.guard.end(), shipping));
            // Outcomes without a verdict are for its next life to tell.
            if self.unsent.membership.outcomes().is_empty() {
                self.link.deregister(self.unsent.membership.incarnation()).await;
            }
        };
        drop(timeout(ENDS_WITHIN, ending).await);
        self.unsent.log_if_any(self.log);
    }
}

/// What its guard tells, if this process dies, and whom: whoever leads then, as the database says.
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

/// The way to whoever leads. The token that opens this controller is that of all where they are set alike.
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
