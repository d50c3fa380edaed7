//! Nodes of one host: a standby passes requests to the leader.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinHandle;
use windlass::core::engine::{EngineAnswer, EngineRequest, SubmitRun};
use windlass::core::outcome::RunStatus;
use windlass_controller::{EngineView, NodeConfig, NotLeader, PeerServer};
use windlass_net::shutdown::ShutdownSender;

use super::test_node::{TestJournal, TestNode, TestWorker, config, journal, plan, run, start_with};

/// Nodes with one journal, and a socket in a folder of their own.
struct Host {
    folder: tempfile::TempDir,
    journal: Arc<TestJournal>,
}

/// The server of a leader. Dropping it ends every connection.
struct Served {
    shutdown: ShutdownSender,
    serving: JoinHandle<()>,
}

impl Host {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder"), journal: journal() }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("nodes.sock")
    }

    async fn start(&self, name: &str) -> TestNode {
        let config = NodeConfig { leader_socket: Some(self.socket()), ..config(name) };
        start_with(&self.journal, config).await
    }

    fn serve(&self, node: &TestNode) -> Served {
        let server = PeerServer::bind(&self.socket(), node.handle.clone()).expect("it listens");
        let (shutdown, ends) = ShutdownSender::new();
        Served { shutdown, serving: tokio::spawn(server.run(ends)) }
    }
}

impl Served {
    async fn end(self) {
        self.shutdown.shut_down();
        self.serving.await.expect("it does not panic");
    }
}

/// Waits until requests to the node reach a leader.
async fn connected(node: &TestNode) {
    node.handle.views().wait_for(EngineView::reaches_leader).await;
}

fn is_private(socket: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = std::fs::metadata(socket).expect("it is there").permissions().mode();
    mode & 0o777 == 0o600
}

#[tokio::test]
async fn standby_passes_requests_to_the_leader_and_finds_their_events_in_its_view() {
    let (host, plan) = (Host::new(), plan(["build"]));
    let leader = host.start("ann").await;
    leader.led().await;
    let _served = host.serve(&leader);
    assert!(is_private(&host.socket()));
    let standby = host.start("bob").await;
    connected(&standby).await;

    standby.submit(run(1), &plan).await;
    assert_eq!(standby.run_status(run(1)), Some(RunStatus::Running), "it reads its own write");
    let mut worker = TestWorker::join(&standby, 7).await;
    worker.exchange(&standby, 1).await;
    worker.finish_all();
    worker.exchange(&standby, 0).await;
    assert_eq!(standby.run_status(run(1)), Some(RunStatus::Succeeded));
    assert_eq!(leader.run_status(run(1)), Some(RunStatus::Succeeded));
    assert!(leader.leads() && !standby.leads());
}

#[tokio::test]
async fn request_without_an_answer_is_answered_when_the_connection_ends_and_the_standby_leads() {
    let (host, plan) = (Host::new(), plan(["build"]));
    let leader = host.start("ann").await;
    leader.led().await;
    let served = host.serve(&leader);
    let standby = host.start("bob").await;
    connected(&standby).await;
    let mut worker = TestWorker::join(&standby, 7).await;
    // The exchange is parked: there is no work.
    let (handle, exchange) = (standby.handle.clone(), worker.next(1));
    let parked = tokio::spawn(async move { handle.exchange(exchange).await });

    served.end().await;
    leader.crash(&*host.journal).await;
    assert_eq!(parked.await.unwrap(), Err(NotLeader));
    standby.led().await;
    let submit = EngineRequest::Submit(SubmitRun::new(run(1), plan));
    let answer = standby.handle.ask(submit).await.unwrap();
    assert!(matches!(answer, EngineAnswer::Submitted { .. }), "{answer:?}");
    // The first reply has the term; a leader grants nothing before the worker knows it.
    worker.exchange(&standby, 0).await;
    worker.exchange(&standby, 1).await;
    assert_eq!(worker.held.len(), 1, "the worker continues with the next leader");
}

#[tokio::test]
async fn socket_of_a_dead_leader_is_replaced() {
    let host = Host::new();
    let first = host.start("ann").await;
    first.led().await;
    drop(std::os::unix::net::UnixListener::bind(host.socket()).unwrap());
    let second = host.start("bob").await;
    assert!(!second.handle.views().with(EngineView::reaches_leader));
    let _served = host.serve(&first);
    connected(&second).await;
}
