//! `windlass worker`: joins a cluster and works for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::id::Incarnation;
use windlass_core::requirement::Labels;
use windlass_core::session::{Home, Register};

use super::ends::Ends;
use super::serve::{no_signals, scratch};
use crate::cli::error::CliError;
use crate::cli::{environment, output};
use crate::link::http::{Client, Cluster, Credentials, HttpLink, HttpLogs, Place as Where, Tcp};
use crate::link::{LinkError, WorkerSecret};
use crate::local::system_now;
use crate::shutdown::ShutdownSender;
use crate::worker::executors::{Builtin, Place};
use crate::worker::guard::Guard;
use crate::worker::{Worker, WorkerError};

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
}

/// Works until it is told to end.
pub(crate) fn work(order: &Work) -> Result<u8, CliError> {
    crate::cli::reading::runtime()?.block_on(async {
        let mut ends = Ends::listen().map_err(|error| no_signals(&error))?;
        tokio::select! {
            done = join(order) => done,
            () = ends.next() => Ok(0),
        }
    })
}

async fn join(order: &Work) -> Result<u8, CliError> {
    let secret = WorkerSecret::generate()
        .map_err(|error| CliError::unreachable(format!("no randomness: {error}")))?;
    let credentials = Credentials { token: order.token.clone(), worker: Some(secret.clone()) };
    let client = Arc::new(Client::new(Arc::new(Tcp), credentials));
    let link = Arc::new(HttpLink::new(client, order.join.clone()));
    let cluster = find(&link).await?;
    output::talk(&format!(
        "worker {} joins cluster {} at {}",
        order.name,
        cluster.id,
        link.place()
    ));
    let (logs, shipping) = HttpLogs::open(order.state.join("logs"), Arc::clone(&link))
        .map_err(|error| CliError::unreachable(format!("no place for logs: {error}")))?;
    let (shutdown, ends) = ShutdownSender::new();
    let shipping = tokio::spawn(shipping.run(ends.clone()));
    let worker = Worker {
        register: register(order, &secret),
        capacity: order.slots + AHEAD,
        leases_expire: true,
        link,
        executor: executor(order, logs).await?,
    };
    let done = worker.run(ends).await;
    shutdown.shut_down();
    drop(shipping.await);
    match done {
        Ok(()) => Ok(0),
        Err(error @ (WorkerError::Refused(_) | WorkerError::Broken(_))) => {
            Err(CliError::unreachable(error.to_string()))
        }
    }
}

fn register(order: &Work, secret: &WorkerSecret) -> Register {
    Register {
        worker: secret.worker_id(),
        name: order.name.as_str().into(),
        incarnation: Incarnation(system_now().as_millis()),
        labels: order.labels.clone(),
        slots: order.slots,
        home: Home::Apart,
        spooled: Vec::new(),
    }
}

async fn executor(order: &Work, logs: HttpLogs) -> Result<Arc<Builtin>, CliError> {
    let guard = Guard::start().await.map_err(|error| {
        CliError::unreachable(format!("the process that starts steps cannot be started: {error}"))
    })?;
    let place = Place {
        root: order.root.clone(),
        scratch: scratch(&order.state)?,
        worker: order.name.clone(),
        environment: environment::all(),
    };
    Ok(Arc::new(Builtin::new(place, guard, Arc::new(logs))))
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
