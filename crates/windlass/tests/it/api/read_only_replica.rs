//! A replica that missed events which left the journal, and one whose leader is down.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass::core::engine::{EngineAnswer, EngineConfig, EngineRequest};
use windlass::core::id::RunId;
use windlass::core::time::Span;
use windlass::embedded::Stores;
use windlass_controller::replica::UpstreamCluster;
use windlass_controller::{ControllerNode, NodeConfig, NodeHandle, StandbyPolicy};
use windlass_net::clock::ProcessClock;
use windlass_net::http::{ControllerAddresses, TcpDialer};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::journal::{LeaderCandidate, Position};

use crate::support::cluster::free_port;
use crate::support::http_client::HttpRequest;
use crate::support::in_process_controller::{ControllerSetup, InProcessController};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{until, until_true};

const PIPELINE: &str = "steps: { a: { run: make } }";

/// Longer than any step of these tests takes on an overloaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A node that replicates a controller up to the present. It continues when it is run again.
async fn observer_of(controller: &InProcessController) -> (ControllerNode, NodeHandle) {
    let places: ControllerAddresses =
        format!("http://{}", controller.address).parse().expect("an address");
    let upstream = Arc::new(UpstreamCluster::new(places, Arc::new(TcpDialer), None));
    let cluster = upstream.cluster().await.expect("it answers").id;
    let config = NodeConfig {
        candidate: LeaderCandidate { node: "looker".to_owned(), address: None },
        engine: EngineConfig::default(),
        ttl: Span::secs(15),
        own: None,
        stand_by: StandbyPolicy::Wait,
        clock: ProcessClock::runtime(),
        leader_socket: None,
    };
    ControllerNode::open(Stores::observing(upstream, cluster).journal, config)
        .await
        .expect("it opens")
}

fn position(handle: &NodeHandle) -> Position {
    handle.views().with(|view| view.position)
}

async fn until_it_has_read_all(handle: &NodeHandle, controller: &InProcessController) {
    until_true(|| position(handle) == position(controller.node.handle())).await;
}

fn knows(handle: &NodeHandle, run: &str) -> bool {
    let run = RunId::parse(run).expect("an id");
    handle.views().with(|view| view.engine.run_status(run)).is_some()
}

#[tokio::test]
async fn replica_behind_pruned_events_continues_from_the_newest_state() {
    let stores = Stores::in_memory();
    let controller = InProcessController::with(ControllerSetup {
        stores: stores.clone(),
        ..ControllerSetup::default()
    })
    .await;
    let before = controller.submit(PIPELINE).await;
    let (node, observer) = observer_of(&controller).await;
    assert!(knows(&observer, &before));
    // The replica is down and the leader continues: the journal keeps two snapshots and the events after the older one.
    let mut missed = Vec::new();
    for _ in 0..3 {
        missed.push(controller.submit(PIPELINE).await);
        let views = controller.node.handle().views();
        let snapshot = views.snapshot().expect("events are durable");
        stores.journal.save(snapshot).await.expect("it saves");
    }
    let upto = stores.journal.prune(Position(u64::MAX)).await.expect("it prunes");
    let had = position(&observer);
    assert!(upto > had, "what comes next has left: {upto} and {had}");
    let gone = controller.get(&format!("/journal?after={}", had.0 - 1)).await;
    assert_eq!(gone.refusal(), (410, "gone"));
    assert!(!knows(&observer, &missed[0]));

    let (end, shutdown) = ShutdownSender::new();
    let running = tokio::spawn(node.run(shutdown));
    until_it_has_read_all(&observer, &controller).await;
    for run in missed.iter().chain([&before]) {
        assert!(knows(&observer, run), "{run}");
    }
    let after = controller.submit(PIPELINE).await;
    until_it_has_read_all(&observer, &controller).await;
    assert!(knows(&observer, &after), "it follows as before");
    end.shut_down();
    running.await.expect("it does not panic").expect("it ends in good order");
    controller.shut_down().await;
}

/// The engine has forgotten the run, and only the leader has the archive.
#[tokio::test(flavor = "multi_thread")]
async fn replica_lists_a_sealed_run_after_its_leader_is_gone() {
    let controller = InProcessController::start().await;
    let project = ProjectFolder::with("");
    let port = free_port();
    let leader = format!("http://{}", controller.address);
    let serve = format!("serve --observe {leader} --listen 127.0.0.1:{port} --no-token");
    let _observer = project.start(&serve);
    let get = |path: &str| HttpRequest::get(path).send(port, PATIENCE);
    let run = controller.submit(PIPELINE).await;
    let cancelled = controller.post(&format!("/runs/{run}/cancel"), &json!({})).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    let own = controller.node.handle();
    let sealed = own.ask(EngineRequest::Seal { run: RunId::parse(&run).expect("an id") }).await;
    assert_eq!(sealed, Ok(EngineAnswer::Done));
    assert!(!knows(own, &run), "it is sealed");
    let upto = position(own).0;
    until("the observer has read all", || {
        let there = get("/cluster").filter(|there| there.status == 200);
        there.is_some_and(|there| there.json["position"].as_u64() >= Some(upto))
    });
    controller.shut_down().await;
    let answer = get("/runs").expect("the observer answers");
    assert_eq!(answer.status, 200, "{answer:?}");
    let listed = &answer.json[0];
    assert_eq!(
        (listed["id"].as_str(), listed["status"].as_str()),
        (Some(&*run), Some("cancelled"))
    );
    let since = answer.header("windlass-stale-since");
    assert!(since.is_some_and(|at| at.ends_with('Z')), "{answer:?}");
}
