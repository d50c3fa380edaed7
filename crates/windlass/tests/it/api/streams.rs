//! Event streams: each event arrives once, in order, whatever happens to the connection.

use std::num::Wrapping;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpSocket;
use windlass::core::engine::{Event, event};
use windlass::core::id::Term;
use windlass::embedded::Stores;
use windlass_controller::PublishedEvents;
use windlass_controller::api::HttpServerLimits;
use windlass_store::journal::{BatchId, EventBatch, Position};

use super::event_client::{EventStreamClient, StreamedEvent};
use super::step_budget::working;
use crate::support::http_client::HttpRequest;
use crate::support::in_process_controller::{ControllerSetup, InProcessController};
use crate::support::waiting::until_true;

/// A pipeline with a matrix of this many cells.
fn many(cells: usize) -> String {
    let list: Vec<String> = (0..cells).map(|cell| cell.to_string()).collect();
    format!("name: many\nsteps: {{ s: {{ run: make, matrix: {{ n: [{}] }} }} }}", list.join(", "))
}

/// Pseudorandom numbers, the same each time.
struct StreamRng(Wrapping<u64>);

impl StreamRng {
    fn upto(&mut self, most: u64) -> u64 {
        self.0 = self.0 * Wrapping(6_364_136_223_846_793_005) + Wrapping(1_442_695_040_888_963_407);
        (self.0.0 >> 33) % most + 1
    }
}

/// The positions of a run's events, as the pages list them.
async fn positions(controller: &InProcessController, run: &str) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::new();
    loop {
        let after = all.last().copied().unwrap_or(0);
        let page = controller.get(&format!("/runs/{run}/events?limit=10000&after={after}")).await;
        let page = page.json.as_array().expect("a list").clone();
        if page.is_empty() {
            return all;
        }
        all.extend(page.iter().filter_map(|event| event["pos"].as_u64()));
    }
}

fn ids(events: &[StreamedEvent]) -> Vec<u64> {
    events.iter().filter_map(|event| event.id).collect()
}

#[tokio::test]
async fn run_stream_ends_with_the_run() {
    let (controller, allowed) = working().await;
    let run = controller.submit(&many(3)).await;
    let path = format!("/runs/{run}/events");
    let mut client = EventStreamClient::open(controller.address, &path, None).await;
    assert_eq!(client.status, 200);
    assert!(client.head.contains("content-type: text/event-stream"), "{}", client.head);
    assert!(client.head.contains("cache-control: no-store"), "{}", client.head);
    let first = client.next().await.expect("it has begun");
    assert_eq!(first.kind, "run_submitted");
    assert_eq!((&first.data["run"], first.data["pos"].as_u64()), (&json!(run), first.id));
    allowed.add_permits(3);
    let streamed = client.until("end").await;
    let end = streamed.last().expect("it is the last");
    assert_eq!((end.id, &end.data), (None, &json!({ "run": run, "status": "succeeded" })));
    assert_eq!(client.next().await, None, "nothing comes behind the end");
    let all: Vec<u64> = first.id.into_iter().chain(ids(&streamed)).collect();
    assert_eq!(all, positions(&controller, &run).await);
    for it in &streamed[..streamed.len() - 1] {
        assert_eq!(it.data["type"], it.kind);
    }
    // A client that reconnects after the end gets only the end.
    let mut again = EventStreamClient::open(controller.address, &path, client.last).await;
    assert_eq!(again.next().await.map(|it| it.kind).as_deref(), Some("end"));
    assert_eq!(again.next().await, None);
    // A client that connects for the first time gets everything.
    let mut late = EventStreamClient::open(controller.address, &path, None).await;
    assert_eq!(ids(&late.until("end").await), all);
    controller.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_cut_off_two_hundred_times_receives_each_of_ten_thousand_events_once() {
    let (controller, allowed) = working().await;
    let run = controller.submit(&many(5_000)).await;
    let path = format!("/runs/{run}/events");
    let (mut dice, mut heard, mut cuts) = (StreamRng(Wrapping(4)), Vec::new(), 0);
    // The run is a little ahead of its follower, so events come from the history and from memory while the run goes on.
    allowed.add_permits(60);
    'cut: loop {
        let mut client =
            EventStreamClient::open(controller.address, &path, heard.last().copied()).await;
        let until = if cuts < 200 { dice.upto(99) } else { u64::MAX };
        for _ in 0..until {
            let event = client.next().await.expect("it goes on");
            allowed.add_permits(usize::from(event.kind == "lease_ended"));
            if event.kind == "end" {
                break 'cut;
            }
            heard.extend(event.id);
        }
        cuts += 1;
    }
    assert_eq!(cuts, 200);
    assert!(heard.len() >= 10_000, "{}", heard.len());
    assert!(heard.is_sorted_by(|one, next| one < next), "each once, in order");
    assert_eq!(heard, positions(&controller, &run).await);
    controller.shut_down().await;
}

#[tokio::test]
async fn unfiltered_stream_carries_every_event() {
    let (controller, allowed) = working().await;
    let mut from_now = EventStreamClient::open(controller.address, "/events", None).await;
    let mut of_runs =
        EventStreamClient::open(controller.address, "/events?type=run_submitted,run_ended", None)
            .await;
    let mut of_others =
        EventStreamClient::open(controller.address, "/events?pipeline=other", None).await;
    assert_eq!(from_now.status, 200);
    let run = controller.submit(&many(2)).await;
    allowed.add_permits(2);
    let all = from_now.until("run_ended").await;
    assert_eq!(all[0].kind, "run_submitted");
    let begun = from_now.last.expect("it had an id") - all.len() as u64;
    assert_eq!(ids(&all), (begun + 1..=begun + all.len() as u64).collect::<Vec<_>>(), "no gap");
    let kinds: Vec<String> =
        of_runs.until("run_ended").await.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, ["run_submitted", "run_ended"]);
    controller.submit("name: other\nsteps: { a: { run: make, requires: gpu } }").await;
    let other = of_others.next().await.expect("it is of that pipeline");
    assert_eq!(
        (other.kind.as_str(), &other.data["data"]["pipeline"]),
        ("run_submitted", &json!("other"))
    );
    let of_run = format!("/events?after=0&run={run}");
    let mut of_run = EventStreamClient::open(controller.address, &of_run, None).await;
    assert_eq!(of_run.until("run_ended").await, all, "it alone");
    let mut beginning = EventStreamClient::open(controller.address, "/events?after=0", None).await;
    assert_eq!(
        beginning.next().await.map(|event| (event.id, event.kind)),
        Some((Some(1), "led".to_owned()))
    );
    controller.shut_down().await;
}

#[tokio::test]
async fn client_without_events_resumes_at_its_position() {
    let controller = InProcessController::start().await;
    let mut client =
        EventStreamClient::open(controller.address, "/events?type=run_ended", None).await;
    assert_eq!(client.last, None);
    let run = controller.submit("steps: { a: { run: make } }").await;
    controller.post(&format!("/runs/{run}/cancel"), &json!({})).await;
    let event = client.next().await.expect("it has ended");
    assert_eq!(event.kind, "run_ended");
    drop(client);
    // The client received nothing and was cut off; an event happens before it reconnects.
    let mut client = EventStreamClient::open(controller.address, "/events", None).await;
    let quiet = tokio::time::timeout(Duration::from_millis(100), client.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    let last = client.last;
    assert!(last >= event.id, "it was told where it is");
    drop(client);
    controller.submit("steps: { a: { run: make } }").await;
    let mut client = EventStreamClient::open(controller.address, "/events", last).await;
    assert_eq!(client.next().await.map(|event| event.kind).as_deref(), Some("run_submitted"));
    controller.shut_down().await;
}

#[tokio::test]
async fn invalid_position_is_refused() {
    let controller = InProcessController::start().await;
    let run = controller.submit("steps: { a: { run: make } }").await;
    for path in ["/events", &format!("/runs/{run}/events")] {
        for id in ["x", "", "-1", "1e3", "99999999"] {
            let headers = vec![("last-event-id", id), ("accept", "text/event-stream")];
            let answer = controller
                .ask(HttpRequest { method: "GET", path, headers, ..HttpRequest::default() })
                .await;
            assert_eq!(answer.refusal(), (400, "bad_request"), "{path} {id:?}");
        }
    }
    for bad in ["type=nonsense", "run=%00", "after=x", "aftr=1", "after=99999999"] {
        let answer = controller.get(&format!("/events?{bad}")).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{bad}");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn pages_of_all_events_contain_their_last_position() {
    let controller = InProcessController::start().await;
    let run = controller.submit("steps: { a: { run: make } }").await;
    let page = controller.get("/events?after=0&type=run_submitted").await;
    let list = page.json.as_array().expect("a list").clone();
    assert_eq!((list.len(), &list[0]["run"]), (1, &json!(run)));
    let head = controller.node.handle().views().with(|view| view.position);
    assert!(page.head.contains(&format!("windlass-position: {head}")), "{}", page.head);
    assert_eq!(controller.get(&format!("/events?after={head}&wait_ms=50")).await.json, json!([]));
    let waiting = async { controller.get(&format!("/events?after={head}&wait_ms=30000")).await };
    let cancelling = async { controller.post(&format!("/runs/{run}/cancel"), &json!({})).await };
    let (waited, _) = tokio::join!(waiting, cancelling);
    assert_eq!(waited.json[0]["type"], "run_cancelled");
    let one = controller.get("/events?after=0&limit=1").await;
    assert_eq!(one.json.as_array().map(Vec::len), Some(1));
    controller.shut_down().await;
}

#[tokio::test]
async fn pruned_position_is_refused_with_the_oldest_one() {
    let stores = Stores::in_memory();
    let controller = InProcessController::with(ControllerSetup {
        stores: stores.clone(),
        ..ControllerSetup::default()
    })
    .await;
    for _ in 0..4 {
        controller.submit("steps: { a: { run: make } }").await;
    }
    // The journal keeps two snapshots, and the events after the older one.
    let views = controller.node.handle().views();
    let save = || {
        let snapshot = views.snapshot().expect("events are durable");
        stores.journal.save(snapshot)
    };
    save().await.expect("it saves");
    controller.submit("steps: { a: { run: make } }").await;
    save().await.expect("it saves");
    let upto = stores.journal.prune(Position(u64::MAX)).await.expect("it prunes");
    assert!(upto > Position(1), "{upto}");
    let gone = controller.get("/events?after=1").await;
    assert_eq!(gone.refusal(), (410, "gone"));
    assert!(gone.head.contains(&format!("windlass-oldest: {upto}")), "{}", gone.head);
    let headers = vec![("last-event-id", "1"), ("accept", "text/event-stream")];
    let ask = HttpRequest { method: "GET", path: "/events", headers, ..HttpRequest::default() };
    assert_eq!(controller.ask(ask).await.refusal(), (410, "gone"));
    let mut client =
        EventStreamClient::open(controller.address, &format!("/events?after={upto}"), None).await;
    assert_eq!(client.next().await.and_then(|it| it.id), Some(upto.0 + 1));
    controller.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_stream_is_closed_and_resumes_by_id() {
    let bounds =
        HttpServerLimits { read_within: Duration::from_millis(300), ..HttpServerLimits::default() };
    let controller =
        InProcessController::with(ControllerSetup { bounds, ..ControllerSetup::default() }).await;
    // More than fits into the buffers between client and server, and more than the controller keeps in memory.
    for _ in 0..3 {
        let run = controller.submit(&many(10_000)).await;
        controller.post(&format!("/runs/{run}/cancel"), &json!({})).await;
    }
    let socket = TcpSocket::new_v4().expect("there are sockets");
    socket.set_recv_buffer_size(4_096).expect("it can be small");
    let stream = socket.connect(controller.address).await.expect("it listens");
    let mut client = EventStreamClient::over(stream, "/events?after=0", "").await;
    for id in 1..=10 {
        assert_eq!(client.next().await.and_then(|event| event.id), Some(id));
    }
    until_true(|| client.is_cut_off()).await;
    let mut again = EventStreamClient::open(controller.address, "/events", client.last).await;
    for id in 11..=20_000 {
        assert_eq!(again.next().await.and_then(|event| event.id), Some(id));
    }
    controller.shut_down().await;
}

#[test]
fn batch_is_serialized_once_for_all_streams() {
    let lost = Event::WorkerLost(event::WorkerLost { worker: windlass::core::id::WorkerId(1) });
    let events = [(windlass::core::time::Time::ZERO, lost)];
    let batch = EventBatch::new(Term(1), BatchId(1), Position(6), events);
    let published = PublishedEvents::new(Arc::new(batch));
    let one: *const str = published.frames().text();
    let other: *const str = published.frames().text();
    assert!(std::ptr::eq(one, other));
    let data: Vec<&str> = published.frames().text().lines().collect();
    assert_eq!(&data[..2], ["id: 7", "event: worker_lost"]);
    let json: Value = serde_json::from_str(data[2].strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(json["pos"], 7);
}
