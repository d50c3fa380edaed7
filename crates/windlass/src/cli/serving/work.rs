//! `windlass worker`: joins a cluster and works for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::requirement::Labels;
use windlass_core::session::{Home, Register};

use super::ends::Ends;
use super::serve::{executor, no_signals, no_state};
use crate::cli::error::CliError;
use crate::cli::output;
use crate::link::http::{
    Client, Cluster, Credentials, HttpLink, HttpLogs, Place as Where, Shipping, Tcp,
};
use crate::link::{LinkError, WorkerSecret};
use crate::local::system_now;
use crate::shutdown::ShutdownSender;
use crate::worker::{Clock, Ends as Orders, Membership, State, Worker};

/// Leases beyond the slots, as for a leader's own worker: a reply's worth.
const AHEAD: u32 = 512;

/// The pause between two tries to reach a controller.
const PAUSE: Duration = Duration::from_millis(500);

/// A worker to be.
#[derive(Debug)]
pub(crate) struct Work {
    /// Where controllers are.
    pub(crate) join: Vec<Where>,
    /// Its name.
    pub(crate) name: String,
    /// Steps at a time.
    pub(crate) slots: u32,
    /// What it advertises.
    pub(crate) labels: Labels,
    /// What it shows the controller.
    pub(crate) token: Option<String>,
    /// What it keeps between its lives.
    pub(crate) state: PathBuf,
    /// Where its steps run.
    pub(crate) root: PathBuf,
    /// How long it goes on without a controller; for ever without.
    pub(crate) leader_grace: Option<Duration>,
}

/// Works until it is told to end.
pub(crate) fn work(order: &Work) -> Result<u8, CliError> {
    crate::cli::reading::runtime()?.block_on(async {
        let mut ends = Ends::listen().map_err(|error| no_signals(&error))?;
        let joined = tokio::select! {
            joined = Joined::new(order) => joined?,
            () = ends.next() => return Ok(0),
        };
        joined.work(ends).await
    })
}

/// A worker that knows which cluster it works for.
struct Joined {
    worker: Worker,
    shipping: Shipping,
    /// Held as long as the worker lives: nobody else may live there.
    _state: State,
}

impl Joined {
    async fn new(order: &Work) -> Result<Self, CliError> {
        let state = State::open(&order.state).map_err(|error| no_state(&error))?;
        state.kill_strays().await.map_err(|error| no_state(&error))?;
        let cluster = find(&link(order, None)).await?;
        let membership = Arc::new(state.enter(&cluster.id).map_err(|error| no_state(&error))?);
        let link = Arc::new(link(order, Some(membership.secret().clone())));
        output::talk(&format!(
            "worker {} joins cluster {} at {}",
            order.name,
            cluster.id,
            link.place()
        ));
        let (logs, shipping) = HttpLogs::open(membership.logs(), Arc::clone(&link))
            .map_err(|error| CliError::unreachable(format!("no place for output: {error}")))?;
        let executor = executor((&order.root, &order.name), &state, Arc::new(logs)).await?;
        let worker = Worker {
            register: register(order, &membership)?,
            capacity: order.slots + AHEAD,
            leases_expire: true,
            clock: Clock::of_machine(),
            leader_grace: order.leader_grace,
            memory: Some(membership),
            link,
            executor,
        };
        Ok(Self { worker, shipping, _state: state })
    }

    async fn work(self, mut ends: Ends) -> Result<u8, CliError> {
        let (shutdown, ships) = ShutdownSender::new();
        let shipping = tokio::spawn(self.shipping.run(ships));
        let (drain, drains) = ShutdownSender::new();
        let (kill, kills) = ShutdownSender::new();
        let orders = async {
            ends.next().await;
            output::talk("ending: steps are finished first; once more gives them back now");
            drain.shut_down();
            ends.next().await;
            kill.shut_down();
            ends.next().await;
        };
        let done = tokio::select! {
            done = self.worker.run(Orders { drain: drains, kill: Some(kills) }) => done,
            // Whoever says it a third time does not want to wait: its guard ends what is left.
            () = orders => Ok(()),
        };
        shutdown.shut_down();
        drop(shipping.await);
        done.map(|()| 0).map_err(|error| CliError::unreachable(error.to_string()))
    }
}

fn link(order: &Work, worker: Option<WorkerSecret>) -> HttpLink {
    let credentials = Credentials { token: order.token.clone(), worker };
    let client = Client::new(Arc::new(Tcp), credentials);
    HttpLink::new(Arc::new(client), order.join.clone())
}

fn register(order: &Work, membership: &Membership) -> Result<Register, CliError> {
    Ok(Register {
        worker: membership.worker_id(),
        name: order.name.as_str().into(),
        incarnation: membership.new_incarnation(system_now()).map_err(|error| no_state(&error))?,
        labels: order.labels.clone(),
        slots: order.slots,
        home: Home::Apart,
        spooled: Vec::new(),
    })
}

/// Asks which cluster it is, until somebody answers.
async fn find(link: &HttpLink) -> Result<Cluster, CliError> {
    let mut told = false;
    loop {
        match link.cluster().await {
            Ok(cluster) => return Ok(cluster),
            Err(error @ LinkError::Denied { .. }) => {
                return Err(CliError::usage(error.to_string()));
            }
            Err(error) if !told => output::talk(&format!("{error}; trying again")),
            Err(_) => {}
        }
        told = true;
        sleep(PAUSE).await;
    }
}
