//! Leaders and workers on the network, and a witness of what the workers do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass::archive::MemoryArchive;
use windlass::conformance::mate;
use windlass::controller::Histories;
use windlass::controller::api::{About, Api, Kept, Server, router};
use windlass::core::id::{Fence, RunId};
use windlass::core::outcome::{Outcome, OutcomeKind};
use windlass::core::session::{Grant, StopHow};
use windlass::core::time::Time;
use windlass::journal::Journal;
use windlass::link::WorkerSecret;
use windlass::link::http::{Client, Credentials, HttpLink};
use windlass::logs::{Announced, MemoryLogs};
use windlass::shutdown::ShutdownSender;
use windlass::worker::{Attempt, Executor, Orders};

use super::super::crew::{TestJournal, TestNode, start};
use super::weather::{Chance, Network};

/// A leader that listens.
pub(super) struct Leader {
    pub(super) node: TestNode,
    server: JoinHandle<()>,
    _ends: ShutdownSender,
}

impl Leader {
    /// Leads the journal, and is reached by everybody from now on.
    pub(super) async fn start(journal: &Arc<TestJournal>, network: &Network) -> Self {
        let node = start(journal, "leader").await;
        node.led().await;
        let kept = Kept {
            archive: Arc::new(MemoryArchive::new()),
            logs: Arc::new(Announced::new(Arc::new(MemoryLogs::new()))),
            histories: Arc::new(Histories::default()),
            journal: Arc::clone(journal) as Arc<dyn Journal>,
        };
        let advertise = "http://leader:7700".to_owned();
        let about = About { cluster: "storm".to_owned(), advertise };
        let api = Api::new(node.handle.clone(), kept, about, || Time::ZERO);
        let (sender, ends) = ShutdownSender::new();
        let server = Server::new(network.doors(), router(Arc::new(api)));
        Self { node, server: tokio::spawn(server.run(ends)), _ends: sender }
    }

    /// Ends as a crash would: nobody is told anything.
    pub(super) async fn crash(self, journal: &impl Journal, network: &Network) {
        network.close_doors();
        self.server.abort();
        self.node.crash(journal).await;
    }
}

/// Works for whoever leads, until the story is over.
pub(super) fn join(network: &Network, number: usize, witness: &Arc<Witness>) -> JoinHandle<()> {
    let secret = WorkerSecret::generate().expect("there is chance");
    let worker = Some(secret.clone());
    let client = Client::new(network.way_of(number), Credentials { token: None, worker });
    let link = HttpLink::new(Arc::new(client), vec!["leader:7700".parse().expect("a place")]);
    let seed = network.chance(|chance| chance.below(u64::MAX));
    let executor = Hand { witness: Arc::clone(witness), chance: Mutex::new(Chance::new(seed)) };
    let worker = mate(&secret, number, (Arc::new(link), Arc::new(executor)));
    tokio::spawn(async move {
        let (_never, ends) = ShutdownSender::new();
        drop(worker.run(ends).await);
    })
}

/// Sees what workers really do.
#[derive(Debug, Default)]
pub(super) struct Witness(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    started: BTreeSet<Fence>,
    /// Attempts of steps that hold the lock, under way.
    holders: BTreeSet<Fence>,
    /// How often each step was started.
    times: BTreeMap<(RunId, Box<str>), u32>,
}

impl Witness {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("nobody panics while holding it")
    }

    fn begins(&self, grant: &Grant) {
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

    /// How many attempts were started, of how many steps.
    pub(super) fn count(&self) -> (usize, usize) {
        let seen = self.seen();
        (seen.started.len(), seen.times.len())
    }
}

/// Runs attempts that take a while.
#[derive(Debug)]
struct Hand {
    witness: Arc<Witness>,
    chance: Mutex<Chance>,
}

impl Executor for Hand {
    fn start(&self, grant: Grant, mut orders: watch::Receiver<Orders>) -> Attempt {
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

/// Waits until it is told to stop, and has done so.
async fn stopped(orders: &mut watch::Receiver<Orders>) {
    let told = orders.wait_for(|orders| orders.stop.is_some()).await;
    let how = told.ok().and_then(|orders| orders.stop).map(|stop| stop.how);
    if how == Some(StopHow::Term) {
        let harder =
            orders.wait_for(|orders| orders.stop.is_some_and(|stop| stop.how == StopHow::Kill));
        drop(tokio::time::timeout(Duration::from_millis(100), harder).await);
    }
}
