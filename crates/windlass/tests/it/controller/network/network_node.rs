//! Leaders and workers on the network, and a witness of what the workers do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass::conformance::test_worker;
use windlass::core::id::{Fence, RunId};
use windlass::core::outcome::{Outcome, OutcomeKind};
use windlass::core::session::{LeaseGrant, StopMode};
use windlass::core::time::Time;
use windlass_controller::RunHistories;
use windlass_controller::api::{Api, ApiStores, ControllerIdentity, HttpServer, router};
use windlass_link::http::HttpWorkerLink;
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::{ClientCredentials, HttpClient};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::archive::MemoryArchive;
use windlass_store::journal::Journal;
use windlass_store::logs::{MemoryLogs, NotifyingLogStore};
use windlass_worker::{AttemptFuture, AttemptOrders, Executor};

use super::faulty_network::{FaultyNetwork, NetworkRng};
use crate::controller::test_node::{TestJournal, TestNode, start};

/// A leader that listens.
pub(super) struct NetworkLeader {
    pub(super) node: TestNode,
    server: JoinHandle<()>,
    _ends: ShutdownSender,
}

impl NetworkLeader {
    /// Leads the journal, and is reachable by every worker from now on.
    pub(super) async fn start(journal: &Arc<TestJournal>, network: &FaultyNetwork) -> Self {
        let node = start(journal, "leader").await;
        node.led().await;
        let kept = ApiStores {
            archive: Arc::new(MemoryArchive::new()),
            logs: Arc::new(NotifyingLogStore::new(Arc::new(MemoryLogs::new()))),
            histories: Arc::new(RunHistories::default()),
            journal: Arc::clone(journal) as Arc<dyn Journal>,
            objects: None,
        };
        let advertise = "http://leader:7700".to_owned();
        let about = ControllerIdentity { cluster: "storm".to_owned(), advertise };
        let api = Api::new(node.handle.clone(), kept, about, || Time::ZERO);
        let (sender, ends) = ShutdownSender::new();
        let server = HttpServer::new(network.doors(), router(Arc::new(api)));
        Self { node, server: tokio::spawn(server.run(ends)), _ends: sender }
    }

    /// Ends as in a crash, without a message.
    pub(super) async fn crash(self, journal: &impl Journal, network: &FaultyNetwork) {
        network.close_doors();
        self.server.abort();
        self.node.crash(journal).await;
    }
}

/// Works for each leader until the test ends.
pub(super) fn join(
    network: &FaultyNetwork,
    number: usize,
    witness: &Arc<NetworkWitness>,
) -> JoinHandle<()> {
    let secret = WorkerSecret::generate().expect("there is chance");
    let worker = Some(secret.clone());
    let client = HttpClient::new(network.way_of(number), ClientCredentials { token: None, worker });
    let link = HttpWorkerLink::new(Arc::new(client), vec!["leader:7700".parse().expect("a place")]);
    let seed = network.chance(|chance| chance.below(u64::MAX));
    let executor =
        NetworkExecutor { witness: Arc::clone(witness), chance: Mutex::new(NetworkRng::new(seed)) };
    let worker = test_worker(&secret, number, (Arc::new(link), Arc::new(executor)));
    tokio::spawn(async move {
        let (_never, ends) = ShutdownSender::new();
        drop(worker.run(ends).await);
    })
}

/// Records what workers really execute.
#[derive(Debug, Default)]
pub(super) struct NetworkWitness(Mutex<NetworkObservations>);

#[derive(Debug, Default)]
struct NetworkObservations {
    started: BTreeSet<Fence>,
    /// Running attempts of steps that hold the lock.
    holders: BTreeSet<Fence>,
    /// How often each step was started.
    times: BTreeMap<(RunId, Box<str>), u32>,
}

impl NetworkWitness {
    fn seen(&self) -> MutexGuard<'_, NetworkObservations> {
        self.0.lock().expect("nobody panics while holding it")
    }

    fn begins(&self, grant: &LeaseGrant) {
        let mut seen = self.seen();
        let fence = grant.lease.fence;
        assert!(seen.started.insert(fence), "{fence} is started twice");
        *seen.times.entry((grant.lease.run, grant.name.clone())).or_default() += 1;
        if grant.name.starts_with("locked") {
            let beside = seen.holders.first().copied();
            assert_eq!(beside, None, "{fence} holds the lock beside it");
            seen.holders.insert(fence);
        }
    }

    fn ends(&self, fence: Fence) {
        self.seen().holders.remove(&fence);
    }

    /// Returns the number of started attempts, and the number of their steps.
    pub(super) fn count(&self) -> (usize, usize) {
        let seen = self.seen();
        (seen.started.len(), seen.times.len())
    }
}

/// Runs attempts that take a while.
#[derive(Debug)]
struct NetworkExecutor {
    witness: Arc<NetworkWitness>,
    chance: Mutex<NetworkRng>,
}

impl Executor for NetworkExecutor {
    fn start(
        &self,
        grant: LeaseGrant,
        mut orders: watch::Receiver<AttemptOrders>,
    ) -> AttemptFuture {
        let takes = self.chance.lock().expect("it is free").millis(8_000);
        let witness = Arc::clone(&self.witness);
        Box::pin(async move {
            witness.begins(&grant);
            let outcome = tokio::select! {
                () = sleep(takes) => Outcome::exit(0),
                () = stopped(&mut orders) => Outcome::plain(OutcomeKind::Cancelled),
            };
            witness.ends(grant.lease.fence);
            outcome
        })
    }
}

/// Waits for a stop order, and ends then.
async fn stopped(orders: &mut watch::Receiver<AttemptOrders>) {
    let told = orders.wait_for(|orders| orders.stop.is_some()).await;
    let how = told.ok().and_then(|orders| orders.stop).map(|stop| stop.how);
    if how == Some(StopMode::Term) {
        let harder =
            orders.wait_for(|orders| orders.stop.is_some_and(|stop| stop.how == StopMode::Kill));
        drop(tokio::time::timeout(Duration::from_millis(100), harder).await);
    }
}
