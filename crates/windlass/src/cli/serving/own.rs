//! The worker of a controller that shares its store with others.
//!
//! It is a worker like any other: it has an id of its own, its leases end by time, and a guard ends its steps with them.
//! Steps that are pinned to the leader are for that of the node that leads, by its id. See [`NodeLink`] for its way.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::session::{FormerLife, Home, Register};

use super::post::{guard_with_tethers, place};
use super::serve::Serve;
use super::token::read;
use super::told::{ToldWaits, tell_faults};
use super::unsent::Unsent;
use super::work::{AHEAD, ENDS_WITHIN};
use crate::cli::compiled::Workplace;
use crate::cli::error::CliError;
use crate::cli::output::{Level, Logger};
use crate::controller::{Handle, Intake};
use crate::link::Will;
use crate::link::http::{Client, Credentials, dialler};
use crate::link::output::{ShippedLogs, Ships};
use crate::local::{NameWait, NodeLink, StoreAddress, system_now};
use crate::shutdown::ShutdownSender;
use crate::worker::executors::Traces;
use crate::worker::guard::Guard;
use crate::worker::values::Depot;
use crate::worker::{Beside, Clock, Membership, State, Worker};

/// Where a controller's own worker lives, in the folder of what is the controller's own.
pub(super) const OWN_STATE: &str = "workers/leader";

/// How long a controller that ends leads on for a worker that has nothing to finish: an exchange, and its end.
const LEAVES_WITHIN: Duration = Duration::from_millis(500);

/// Where the worker of a controller will work, and who it is there.
#[derive(Debug)]
pub(super) struct Post {
    state: State,
    membership: Arc<Membership>,
}

impl Post {
    /// Finds out who the worker is in a cluster; nobody where no steps are to run.
    pub(super) fn enter(order: &Serve, cluster: &str) -> Result<Option<Self>, CliError> {
        if order.slots == 0 {
            return Ok(None);
        }
        let state = State::open(&order.state.join(OWN_STATE))?;
        let membership = Arc::new(state.enter(cluster)?);
        Ok(Some(Self { state, membership }))
    }

    pub(super) fn worker_id(&self) -> WorkerId {
        self.membership.worker_id()
    }

    /// Begins to work for whoever leads.
    pub(super) async fn begin(
        self,
        order: &Serve,
        handle: &Handle,
        intake: Intake,
    ) -> Result<OwnWorker, CliError> {
        let Self { state, membership } = self;
        let (guard, guard_place) = guard_with_tethers(&state).await?;
        let place = place(&state, &order.root, (&order.name, &order.policy));
        let link = Arc::new(link(order, handle, intake, &membership)?);
        let (logs, shipping) =
            ShippedLogs::open(membership.logs(), Arc::clone(&link) as Arc<dyn Ships>)
                .map_err(|error| CliError::unreachable(format!("no place for output: {error}")))?;
        let listener = Arc::new(ToldWaits { worker: order.name.clone(), log: order.log });
        let logs = logs.with_listener(listener);
        tokio::spawn(tell_faults(membership.fault(), order.log));
        let begun = membership.lives().begin(Incarnation::default(), guard_place, system_now())?;
        let incarnation = begun.0;
        let executor = order.compiled.executor(Workplace {
            place,
            guard: guard.clone(),
            will: Some(will(order, &membership, incarnation)),
            ends_calls: true,
            logs: Arc::new(logs.clone()),
            depot: Arc::new(Depot::new(Arc::clone(&link) as Arc<dyn Ships>)),
            link: Arc::clone(&link) as _,
            traces: Traces::Own(None),
        })?;
        let unsent = Unsent { logs, membership: Arc::clone(&membership) };
        let worker = Worker {
            register: register(order, membership.worker_id(), begun),
            capacity: order.slots + AHEAD,
            leases_expire: true,
            beside: Beside::Others,
            clock: Clock::of_machine(),
            leader_grace: None,
            link: Arc::new(NameWait::new(Arc::clone(&link) as _, order.tell())),
            memory: Some(membership),
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
    order: &Serve,
    worker: WorkerId,
    (incarnation, former): (Incarnation, FormerLife),
) -> Register {
    Register {
        worker,
        name: order.name.as_str().into(),
        incarnation,
        labels: order.own_labels(),
        slots: order.slots,
        home: Home::Apart,
        former,
        spooled: Vec::new(),
    }
}

/// A controller goes on without its worker: to lead is more than to run steps.
fn tell(error: Option<crate::worker::WorkerError>, log: Logger) {
    if let Some(error) = error {
        let what = format!("no steps run here any more: {error}");
        log.note(Level::Error, what);
    }
}

/// The worker at work.
#[derive(Debug)]
pub(super) struct OwnWorker {
    drain: ShutdownSender,
    working: JoinHandle<()>,
    /// What carries its output.
    shipping: (ShutdownSender, JoinHandle<()>),
    guard: Guard,
    link: Arc<NodeLink>,
    unsent: Unsent,
    log: Logger,
    /// Held as long as the worker lives: nobody else may live there.
    _state: State,
}

impl OwnWorker {
    /// What it has not sent, and where that is told.
    pub(super) fn unsent(&self) -> (Unsent, Logger) {
        (self.unsent.clone(), self.log)
    }

    /// Has it finish what it has, and waits for that. A worker that has nothing leaves while its controller still leads, which
    /// retires then; for one that has something its controller retires first, and the leader then hears of its end.
    pub(super) async fn end(mut self, retire: impl FnOnce()) {
        self.drain.shut_down();
        if timeout(LEAVES_WITHIN, &mut self.working).await.is_ok() {
            self.leave().await;
            retire();
        } else {
            retire();
            drop((&mut self.working).await);
            self.leave().await;
        }
    }

    /// Ends its guard, sends what it has printed, and says goodbye: until then, or for a TTL, it holds its name.
    async fn leave(self) {
        let (shipped, shipping) = self.shipping;
        shipped.shut_down();
        let ending = async {
            drop(tokio::join!(self.guard.end(), shipping));
            // Outcomes without a verdict are for its next life to tell.
            if self.unsent.membership.outcomes().is_empty() {
                self.link.say_goodbye(self.unsent.membership.incarnation()).await;
            }
        };
        drop(timeout(ENDS_WITHIN, ending).await);
        self.unsent.tell(self.log);
    }
}

/// What its guard tells, if this process dies, and whom: whoever leads then, as the database says.
fn will(order: &Serve, membership: &Membership, incarnation: Incarnation) -> Will {
    let ways = match &order.store {
        StoreAddress::Postgres { url, .. } => vec![url.clone()],
        StoreAddress::Folder(_) => Vec::new(),
    };
    Will {
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
    order: &Serve,
    handle: &Handle,
    intake: Intake,
    membership: &Membership,
) -> Result<NodeLink, CliError> {
    let token = order.token_file.as_deref().map(read).transpose()?;
    let credentials = Credentials { token, worker: Some(membership.secret().clone()) };
    let dial = dialler(order.ca.as_deref()).map_err(CliError::usage)?;
    let client = Arc::new(Client::new(dial, credentials));
    Ok(NodeLink::new(handle.clone(), intake, client, membership.secret().clone()))
}
