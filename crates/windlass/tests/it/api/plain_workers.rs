//! Plain HTTP workers: registration, claims, reports, and leases that expire.

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use windlass::core::report::UtcTime;
use windlass::core::time::Span;

use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::in_process_controller::{ControllerSetup, InProcessController};

const CHAIN: &str = r#"
name: chain
steps:
  build: { run: make all, outputs: [version], requires: linux }
  ship:
    needs: build
    env: { CHANNEL: beta }
    secrets: [TOKEN]
    dir: site
    timeout: 10m
    run: ./ship "${{ steps.build.outputs.version }}"
"#;

/// A worker as a program in any language implements it.
struct PlainApiWorker {
    id: String,
    secret: String,
}

impl PlainApiWorker {
    async fn join(controller: &InProcessController, name: &str) -> Self {
        let joining = json!({ "hostname": name, "capabilities": ["linux"], "slots": 2 });
        let answer = controller.post("/workers/register", &joining).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let text = |key: &str| answer.json[key].as_str().expect("it is a text").to_owned();
        Self { id: text("worker_id"), secret: text("secret") }
    }

    async fn tell(&self, controller: &InProcessController, path: &str, body: Value) -> HttpAnswer {
        let headers = vec![("windlass-worker", &*self.secret)];
        let body = body.to_string().into_bytes();
        controller.ask(HttpRequest { method: "POST", path, headers, body }).await
    }

    async fn claim(&self, controller: &InProcessController, request: &str) -> HttpAnswer {
        let path = format!("/workers/{}/claim", self.id);
        self.tell(controller, &path, json!({ "request_id": request })).await
    }

    /// Claims a step that must be available. Returns the id of the delivery and its fence.
    async fn claimed(&self, controller: &InProcessController) -> (String, u64) {
        let answer = self.tell(controller, &format!("/workers/{}/claim", self.id), json!({})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let step = answer.json["step_id"].as_str().expect("an id").to_owned();
        (step, answer.json["fence"].as_u64().expect("a fence"))
    }

    async fn beat(&self, controller: &InProcessController, body: Value) -> HttpAnswer {
        self.tell(controller, &format!("/workers/{}/heartbeat", self.id), body).await
    }

    async fn succeed(
        &self,
        controller: &InProcessController,
        (step, _): &(String, u64),
    ) -> HttpAnswer {
        let done = json!({ "status": "succeeded", "exit_code": 0 });
        self.tell(controller, &format!("/steps/{step}/complete"), done).await
    }
}

/// Formats the id of a delivery as `RUN.INDEX`.
fn step_part((id, _): &(String, u64)) -> &str {
    id.rsplit_once('.').expect("it ends with its fence").0
}

async fn status(controller: &InProcessController, step: usize) -> Value {
    controller.get("/runs/latest").await.json["steps"][step]["status"].clone()
}

#[tokio::test]
async fn a_program_in_any_language_can_run_a_pipeline() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    assert_eq!(worker.claim(&controller, "r0").await.status, 204, "there is nothing to do");
    let id = controller.submit(CHAIN).await;
    let build = worker.claim(&controller, "r1").await.json;
    assert_eq!(build["step_id"], format!("{id}.0.{}", build["fence"]));
    assert_eq!(build["stop_on_lost_contact"], false, "it holds no lock");
    assert_eq!((&build["run_id"], &build["phase"]), (&json!(id), &json!("build")));
    assert_eq!(build["run"], "make all");
    assert_eq!(build["env"]["WINDLASS_STEP"], "build");
    assert_eq!(build["env"]["WINDLASS_WORKER"], "build-7");
    assert!(build["lease_expires_at"].as_str().expect("a time").ends_with('Z'));
    assert_eq!(status(&controller, 0).await, "running");
    assert_eq!(worker.claim(&controller, "r1").await.json, build, "the same request again");
    assert_eq!(worker.claim(&controller, "r2").await.status, 204, "the other one waits");
    let done = json!({
        "status": "succeeded", "exit_code": 0, "output_path": "out/",
        "artifact_refs": ["a.tar"], "outputs": { "version": "1.2" },
    });
    let path = format!("/steps/{id}.0.{}/complete", build["fence"]);
    for _ in 0..2 {
        let answer = worker.tell(&controller, &path, done.clone()).await;
        assert_eq!((answer.status, answer.json), (200, json!({ "accepted": true })));
    }
    let ship = worker.claim(&controller, "r3").await.json;
    let words = ship["run"].as_str().expect("a script");
    let variable = words.split('$').nth(1).expect("a variable").trim_matches(['{', '}', '"']);
    assert_eq!(ship["env"][variable], "1.2", "{ship}");
    assert_eq!(ship["env"]["CHANNEL"], "beta");
    assert_eq!((&ship["secrets"], &ship["dir"]), (&json!(["TOKEN"]), &json!("site")));
    assert_eq!(ship["timeout_ms"], 600_000);
    let failed = json!({ "status": "failed", "exit_code": 3 });
    let path = format!("/steps/{id}.1.{}/complete", ship["fence"]);
    assert_eq!(worker.tell(&controller, &path, failed).await.status, 200);
    let run = controller.get(&format!("/runs/{id}")).await.json;
    assert_eq!(run["status"], "failed");
    assert_eq!(
        run["steps"][0]["outputs"],
        json!({ "output_path": "out/", "artifact_refs": ["a.tar"], "version": "1.2" })
    );
    assert_eq!(run["steps"][1]["attempts"][0]["exit_code"], 3);
    controller.shut_down().await;
}

#[tokio::test]
async fn lease_that_a_heartbeat_does_not_list_is_lost_at_once() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    controller.submit("steps: { a: { run: make }, b: { run: make } }").await;
    let (a, b) = (worker.claimed(&controller).await, worker.claimed(&controller).await);
    let answer = worker.beat(&controller, json!({ "status": "busy", "metrics": {} })).await;
    assert_eq!((answer.status, &answer.json["stop"]), (200, &json!([])));
    assert_eq!(status(&controller, 0).await, "running");
    let answer = worker.beat(&controller, json!({ "leases": [b.1] })).await;
    assert_eq!(answer.json["stop"], json!([]));
    assert_eq!(status(&controller, 0).await, "ready", "it is to be handed out again");
    let answer = worker.beat(&controller, json!({ "leases": [a.1, b.1] })).await;
    assert_eq!(answer.json["stop"], json!([a.1]), "it still runs what is not its own");
    for _ in 0..2 {
        let answer = worker.succeed(&controller, &a).await;
        assert_eq!(answer.status, 200, "it was not handed out again: {answer:?}");
    }
    assert_eq!(worker.succeed(&controller, &b).await.status, 200);
    assert_eq!(controller.get("/runs/latest").await.json["status"], "succeeded");
    controller.shut_down().await;
}

#[tokio::test]
async fn stop_order_repeats_until_the_worker_obeys() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    let id = controller.submit("steps: { a: { run: make } }").await;
    let (step, fence) = worker.claimed(&controller).await;
    assert_eq!(controller.post(&format!("/runs/{id}/cancel"), &json!({})).await.status, 200);
    for _ in 0..3 {
        let answer = worker.beat(&controller, json!({ "leases": [fence] })).await;
        assert_eq!(answer.json["stop"], json!([fence]));
    }
    let done = json!({ "status": "cancelled" });
    assert_eq!(
        worker.tell(&controller, &format!("/steps/{step}/complete"), done).await.status,
        200
    );
    assert_eq!(worker.beat(&controller, json!({ "leases": [] })).await.json["stop"], json!([]));
    assert_eq!(controller.get("/runs/latest").await.json["status"], "cancelled");
    controller.shut_down().await;
}

#[tokio::test]
async fn worker_cannot_act_for_another_worker() {
    let controller = InProcessController::start().await;
    let holder = PlainApiWorker::join(&controller, "build-7").await;
    let thief = PlainApiWorker::join(&controller, "build-8").await;
    let id = controller.submit("steps: { a: { run: make } }").await;
    let lease = holder.claimed(&controller).await;
    let forged = PlainApiWorker { id: holder.id.clone(), secret: thief.secret.clone() };
    for request in ["claim", "heartbeat"] {
        let path = format!("/workers/{}/{request}", holder.id);
        assert_eq!(
            forged.tell(&controller, &path, json!({})).await.refusal(),
            (403, "other_worker")
        );
        assert_eq!(controller.post(&path, &json!({})).await.refusal(), (401, "no_worker_secret"));
    }
    assert_eq!(thief.succeed(&controller, &lease).await.refusal(), (403, "other_worker"));
    let said = json!({ "event_type": "output", "payload": "ha" });
    let events = format!("/steps/{}/events", lease.0);
    assert_eq!(thief.tell(&controller, &events, said.clone()).await.refusal(), (409, "stale"));
    assert_eq!(controller.post(&events, &said).await.refusal(), (401, "no_worker_secret"));
    let guessed = (format!("{}.{}", step_part(&lease), lease.1 + 1), lease.1 + 1);
    assert_eq!(holder.succeed(&controller, &guessed).await.refusal(), (409, "stale"));
    let nobody = PlainApiWorker { id: "7".to_owned(), secret: "ab".repeat(32) };
    assert_eq!(nobody.beat(&controller, json!({})).await.refusal(), (403, "other_worker"));
    assert_eq!(nobody.succeed(&controller, &lease).await.refusal(), (403, "other_worker"));
    let steps = [
        ("nonsense", 400, "bad_request"),
        ("0.0", 400, "bad_request"),
        ("0.0.1", 404, "no_such_run"),
    ];
    for (step, status, code) in steps {
        let answer = holder.succeed(&controller, &(step.to_owned(), lease.1)).await;
        assert_eq!(answer.refusal(), (status, code), "{step}");
    }
    let answer = holder.succeed(&controller, &(format!("{id}.9.{}", lease.1), lease.1)).await;
    assert_eq!(answer.refusal(), (404, "no_such_step"));
    assert_eq!(status(&controller, 0).await, "running", "nothing of it had an effect");
    assert_eq!(holder.succeed(&controller, &lease).await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn invalid_worker_name_is_refused() {
    let controller = InProcessController::start().await;
    for name in ["", "a\nb", "../a", "a/b", "\u{1b}[2J"] {
        let joining = json!({ "hostname": name });
        let answer = controller.post("/workers/register", &joining).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{name:?}");
    }
    let unfit = [
        json!({ "hostname": "a", "capabilities": ["a b"] }),
        json!({ "hostname": "a", "slots": 0 }),
        json!({ "hostname": "a", "slots": 4_000_000_000_u64 }),
        json!({ "host": "a" }),
    ];
    for joining in unfit {
        let answer = controller.post("/workers/register", &joining).await;
        assert_eq!(answer.refusal(), (400, "bad_request"), "{joining}");
    }
    let first = PlainApiWorker::join(&controller, "build-7").await;
    let taken = controller.post("/workers/register", &json!({ "hostname": "build-7" })).await;
    assert_eq!(taken.refusal(), (409, "refused"));
    let again =
        first.tell(&controller, "/workers/register", json!({ "hostname": "build-7" })).await;
    assert_eq!(again.json["worker_id"], json!(first.id), "with its secret it takes over");
    let workers = controller.get("/workers").await.json;
    assert_eq!(workers.as_array().map(Vec::len), Some(1), "{workers}");
    assert_eq!(workers[0]["name"], "build-7");
    controller.shut_down().await;
}

/// A former incarnation with a larger number than the clock gives, as after the clock was set back.
#[tokio::test]
async fn registration_supersedes_an_incarnation_from_the_future() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    let id: u64 = worker.id.parse().expect("a number");
    let ahead = json!({
        "worker": id, "name": "build-7", "incarnation": 99_000_000_000_000_u64, "labels": [],
        "slots": 1, "home": "Apart", "spooled": [],
    });
    let joined = worker.tell(&controller, &format!("/workers/{id}/join"), ahead).await;
    assert_eq!(joined.status, 200, "{joined:?}");
    let again =
        worker.tell(&controller, "/workers/register", json!({ "hostname": "build-7" })).await;
    assert_eq!(again.json["worker_id"], json!(worker.id), "{again:?}");
    controller.shut_down().await;
}

#[tokio::test]
async fn drained_worker_gets_no_more_leases() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    controller.submit("steps: { a: { run: make, lock: press }, b: { run: make } }").await;
    let lease = worker.claimed(&controller).await;
    let locks = controller.get("/locks").await.json;
    assert_eq!(
        (&locks[0]["name"], &locks[0]["holders"][0]["worker"]),
        (&json!("press"), &json!("build-7"))
    );
    let queue = controller.get("/queue").await.json;
    assert_eq!((&queue[0]["ready"], &queue[0]["workers"]), (&json!(1), &json!(1)), "{queue}");
    assert_eq!(
        controller.post("/workers/build-9/drain", &json!({})).await.refusal(),
        (404, "no_such_worker")
    );
    assert_eq!(controller.post("/workers/build-7/drain", &json!({})).await.status, 200);
    assert_eq!(worker.claim(&controller, "r").await.status, 204);
    assert_eq!(worker.succeed(&controller, &lease).await.status, 200, "what it has it finishes");
    assert_eq!(controller.get("/workers").await.json[0]["status"], "draining");
    controller.shut_down().await;
}

#[tokio::test]
async fn a_lease_outlives_the_controller_that_gave_it() {
    let folder = TempDir::new().expect("a folder");
    let first = InProcessController::start_in(folder.path()).await;
    let worker = PlainApiWorker::join(&first, "build-7").await;
    first.submit("steps: { a: { run: make }, b: { run: make }, c: { run: make } }").await;
    let (a, b) = (worker.claimed(&first).await, worker.claimed(&first).await);
    assert_eq!(worker.succeed(&first, &a).await.status, 200);
    first.shut_down().await;

    let second = InProcessController::start_in(folder.path()).await;
    assert_eq!(worker.succeed(&second, &a).await.status, 200, "the answer is the one from before");
    assert_eq!(worker.beat(&second, json!({ "leases": [b.1] })).await.json["stop"], json!([]));
    let c = worker.claimed(&second).await;
    assert!(c.1 > b.1);
    for lease in [&b, &c] {
        assert_eq!(worker.succeed(&second, lease).await.status, 200);
    }
    assert_eq!(second.get("/runs/latest").await.json["status"], "succeeded");
    second.shut_down().await;
}

#[tokio::test]
async fn silent_worker_loses_its_lease_and_is_notified() {
    let setup = ControllerSetup { ttl: Span::millis(500), ..ControllerSetup::default() };
    let controller = InProcessController::with(setup).await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    let other = PlainApiWorker::join(&controller, "build-8").await;
    let id = controller.submit("steps: { a: { run: make } }").await;
    let lost = worker.claimed(&controller).await;
    let mut after = 0;
    loop {
        let path = format!("/runs/{id}/events?after={after}&wait_ms=30000");
        let events = controller.get(&path).await.json;
        let events = events.as_array().expect("a list");
        after = events.last().expect("it goes on")["pos"].as_u64().expect("a position");
        if events.iter().any(|event| event["data"]["outcome"] == "lost") {
            break;
        }
        assert!(!events.is_empty());
    }
    let taken = other.claimed(&controller).await;
    assert!(step_part(&taken) == step_part(&lost) && taken.1 > lost.1);
    assert_eq!(worker.succeed(&controller, &lost).await.refusal(), (409, "stale"));
    assert_eq!(other.succeed(&controller, &taken).await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn lines_reported_by_a_worker_are_in_the_step_log() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    let id = controller.submit(CHAIN).await;
    let lease = worker.claimed(&controller).await;
    let path = format!("/steps/{}/events", lease.0);
    let told = [
        json!({ "event_type": "output", "payload": "making…\n" }),
        json!({ "event_type": "progress", "payload": { "percent": 50 } }),
    ];
    for value in told {
        assert_eq!(worker.tell(&controller, &path, value).await.status, 200);
    }
    let log = controller.get(&format!("/runs/{id}/logs/0/1/1")).await;
    assert_eq!(String::from_utf8_lossy(&log.body), "making…\nprogress {\"percent\":50}\n");
    let bad = json!({ "event_type": "a\nb", "payload": "" });
    assert_eq!(worker.tell(&controller, &path, bad).await.refusal(), (400, "bad_request"));
    assert_eq!(worker.succeed(&controller, &lease).await.status, 200);
    let late = json!({ "event_type": "output", "payload": "and more\n" });
    assert_eq!(worker.tell(&controller, &path, late).await.refusal(), (409, "stale"));

    // The result that the next step reads was never written, so the step fails with that reason.
    assert_eq!(worker.claim(&controller, "r").await.status, 204);
    assert_eq!(status(&controller, 1).await, "failed");
    let log = controller.get(&format!("/runs/{id}/logs/1/1/1")).await;
    let said = String::from_utf8_lossy(&log.body);
    assert!(said.starts_with("windlass: ") && said.contains("version"), "{said}");
    controller.shut_down().await;
}

#[tokio::test]
async fn one_of_many_claimants_gets_the_step() {
    let controller = InProcessController::start().await;
    let mut workers = Vec::new();
    for number in 0..5 {
        workers.push(PlainApiWorker::join(&controller, &format!("build-{number}")).await);
    }
    controller.submit("steps: { a: { run: make } }").await;
    let [first, second, third, fourth, fifth] = &workers[..] else { panic!("there are five") };
    let claims = tokio::join!(
        first.claim(&controller, "r"),
        second.claim(&controller, "r"),
        third.claim(&controller, "r"),
        fourth.claim(&controller, "r"),
        fifth.claim(&controller, "r"),
    );
    let claims = [claims.0, claims.1, claims.2, claims.3, claims.4];
    assert_eq!(claims.iter().filter(|claim| claim.status == 200).count(), 1, "{claims:?}");
    assert_eq!(claims.iter().filter(|claim| claim.status == 204).count(), 4, "{claims:?}");
    controller.shut_down().await;
}

#[tokio::test]
async fn repeated_claim_after_a_lost_answer_returns_the_same_lease() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    controller.submit("steps: { a: { run: make }, b: { run: make }, c: { run: make } }").await;
    for request in ["r1", "r2"] {
        let path = format!("/workers/{}/claim", worker.id);
        let headers = vec![("windlass-worker", &*worker.secret)];
        let body = json!({ "request_id": request }).to_string().into_bytes();
        let bytes = HttpRequest { method: "POST", path: &path, headers, body }.bytes();
        let mut gone = controller.connect().await;
        gone.write_all(&bytes).await.expect("it listens");
        drop(gone);
        let answer = worker.claim(&controller, request).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(controller.get("/workers").await.json[0]["leases"], 2, "each was claimed once");
    assert_eq!(worker.claim(&controller, "r3").await.status, 204, "it has two slots");
    controller.shut_down().await;
}

/// Between the two claims the worker reported that it holds nothing, so another worker may have the step.
#[tokio::test]
async fn repeated_claim_never_returns_an_ended_lease() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    controller.submit("steps: { a: { run: make } }").await;
    let first = worker.claim(&controller, "r1").await;
    assert_eq!(first.status, 200, "{first:?}");
    assert_eq!(worker.claim(&controller, "r1").await.json["fence"], first.json["fence"]);
    assert_eq!(worker.beat(&controller, json!({ "leases": [] })).await.status, 200);
    let again = worker.claim(&controller, "r1").await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(again.json["phase"], first.json["phase"]);
    assert_ne!(again.json["fence"], first.json["fence"], "it was handed out anew");
    assert_eq!(worker.claim(&controller, "r1").await.json["fence"], again.json["fence"]);
    controller.shut_down().await;
}

/// The controller has no proof that the first process with that secret is dead.
#[tokio::test]
async fn a_plain_worker_that_registers_again_does_not_free_its_locks() {
    let controller = InProcessController::start().await;
    let first = PlainApiWorker::join(&controller, "build-7").await;
    let other = PlainApiWorker::join(&controller, "build-8").await;
    controller.submit("name: ship\nsteps:\n  deploy: { lock: prod, run: ./deploy }\n").await;
    first.claimed(&controller).await;
    let joining = json!({ "hostname": "build-7", "capabilities": ["linux"], "slots": 2 });
    let answer = first.tell(&controller, "/workers/register", joining).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(first.claim(&controller, "r1").await.status, 204, "its own step may still run");
    assert_eq!(other.claim(&controller, "r1").await.status, 204);
    assert_eq!(status(&controller, 0).await, "running");
}

#[tokio::test]
async fn delayed_report_does_not_finish_a_later_delivery() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    controller.submit("steps: { a: { run: make } }").await;
    let first = worker.claimed(&controller).await;
    assert_eq!(worker.beat(&controller, json!({ "leases": [] })).await.status, 200, "it is lost");
    let second = worker.claimed(&controller).await;
    assert_eq!(step_part(&first), step_part(&second));
    assert_eq!(worker.succeed(&controller, &first).await.refusal(), (409, "stale"));
    assert_eq!(status(&controller, 0).await, "running");
    assert_eq!(worker.succeed(&controller, &second).await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn a_repeated_report_with_another_status_is_refused() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    controller.submit("steps: { a: { run: make }, b: { run: make, retry: 1 } }").await;
    let (a, b) = (worker.claimed(&controller).await, worker.claimed(&controller).await);
    let report = async |(id, _): &(String, u64), status: &str| {
        let path = format!("/steps/{id}/complete");
        worker.tell(&controller, &path, json!({ "status": status })).await
    };
    assert_eq!(report(&a, "succeeded").await.status, 200);
    for other in ["failed", "timed_out", "cancelled"] {
        assert_eq!(report(&a, other).await.refusal(), (409, "other_outcome"), "{other}");
    }
    assert_eq!(report(&a, "succeeded").await.status, 200, "the first verdict stands");
    assert_eq!(report(&b, "failed").await.status, 200);
    assert_eq!(report(&b, "succeeded").await.refusal(), (409, "other_outcome"), "it is retried");
    assert_eq!(report(&b, "failed").await.status, 200, "the first verdict stands");
    controller.shut_down().await;
}

#[tokio::test]
async fn a_lease_expires_for_its_worker_before_it_does_for_the_leader() {
    let setup = ControllerSetup { ttl: Span::secs(60), ..ControllerSetup::default() };
    let controller = InProcessController::with(setup).await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    let id = controller.submit("steps: { a: { run: make, lock: press } }").await;
    let claimed = worker.claim(&controller, "r").await.json;
    assert_eq!(claimed["stop_on_lost_contact"], true);
    let moment = |text: &Value| UtcTime::parse(text.as_str().expect("a time")).expect("a time").0;
    let events = controller.get(&format!("/runs/{id}/events?after=0")).await.json;
    let events = events.as_array().expect("a list");
    let granted = events.iter().find(|event| event["type"] == "granted").expect("it was granted");
    let expires = moment(&granted["data"]["expires_at"]);
    assert_eq!(expires.since(moment(&granted["at"])), Span::secs(60), "{granted}");
    let beat = worker.beat(&controller, json!({ "leases": [claimed["fence"]] })).await.json;
    let heard = moment(&controller.get("/workers").await.json[0]["heard"]);
    // A tenth of the TTL and half a second; the clocks of engine and API may differ by milliseconds.
    let sooner = Span::millis(6_400);
    for value in [&claimed["lease_expires_at"], &beat["lease_expires_at"]] {
        let told = moment(value);
        assert!(told <= heard + Span::secs(60).saturating_sub(sooner), "{told:?} and {heard:?}");
        assert!(told > heard, "{told:?} and {heard:?}");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn heartbeat_reports_the_state_of_its_worker() {
    let controller = InProcessController::start().await;
    let worker = PlainApiWorker::join(&controller, "build-7").await;
    assert_eq!(controller.get("/workers").await.json[0]["reported"], Value::Null);
    let metrics = json!({ "load": 0.5, "disk": "ok", "warm": true });
    let beat = json!({ "status": "busy", "metrics": metrics });
    assert_eq!(worker.beat(&controller, beat).await.status, 200);
    assert_eq!(worker.beat(&controller, json!({})).await.status, 200, "it says nothing new");
    let reported = &controller.get("/workers").await.json[0]["reported"];
    assert_eq!((&reported["status"], &reported["metrics"]), (&json!("busy"), &metrics));
    let many: serde_json::Map<String, Value> =
        (0..65).map(|number| (format!("m{number}"), json!(1))).collect();
    let unfit = [
        json!({ "status": "a\nb" }),
        json!({ "status": 7 }),
        json!({ "metrics": many }),
        json!({ "metrics": { "load": [1] } }),
        json!({ "metrics": { "load": "x".repeat(257) } }),
        json!({ "metrics": { "a\nb": 1 } }),
    ];
    for beat in unfit {
        assert_eq!(worker.beat(&controller, beat).await.refusal(), (400, "bad_request"));
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn worker_that_deregisters_frees_its_locks_at_once() {
    let controller = InProcessController::start().await;
    let leaving = PlainApiWorker::join(&controller, "build-7").await;
    let other = PlainApiWorker::join(&controller, "build-8").await;
    controller.submit("steps: { a: { run: make, lock: press } }").await;
    let held = leaving.claimed(&controller).await;
    let path = format!("/workers/{}/goodbye", leaving.id);
    let answer = leaving.tell(&controller, &path, json!({})).await;
    assert_eq!(
        answer.json,
        json!({ "ended": true, "stop": [], "leases_expire_at": null }),
        "{answer:?}"
    );
    let workers = controller.get("/workers").await.json;
    let gone = workers.as_array().expect("a list").iter().find(|it| it["name"] == "build-7");
    assert_eq!(gone.expect("it is known")["status"], "ended");
    let taken = other.claimed(&controller).await;
    assert_eq!(step_part(&taken), step_part(&held));
    assert_eq!(leaving.claim(&controller, "r").await.refusal(), (409, "not_this_life"));
    assert_eq!(other.succeed(&controller, &taken).await.status, 200);
    controller.shut_down().await;
}

#[tokio::test]
async fn a_worker_that_leaves_steps_running_keeps_their_locks_until_they_expire() {
    let controller = InProcessController::start().await;
    let leaving = PlainApiWorker::join(&controller, "build-7").await;
    let other = PlainApiWorker::join(&controller, "build-8").await;
    controller.submit("steps: { a: { run: make, lock: press }, b: { run: make } }").await;
    let (held, done) = (leaving.claimed(&controller).await, leaving.claimed(&controller).await);
    let path = format!("/workers/{}/goodbye", leaving.id);
    let answer = leaving.tell(&controller, &path, json!({ "leases": [held.1] })).await;
    assert_eq!((answer.status, &answer.json["ended"]), (200, &json!(false)), "{answer:?}");
    assert!(answer.json["leases_expire_at"].is_string(), "{answer:?}");
    assert_eq!(answer.json["stop"], json!([]), "{answer:?}");
    let taken = other.claimed(&controller).await;
    assert_eq!(step_part(&taken), step_part(&done), "what runs no more is free");
    assert_eq!(other.claim(&controller, "r").await.status, 204, "the lock is not");
    assert_eq!(leaving.claim(&controller, "r").await.status, 204, "it gets nothing more");
    assert_eq!(controller.get("/locks").await.json[0]["holders"][0]["worker"], "build-7");
    controller.shut_down().await;
}

/// A lease with a stop order can expire before the others; its worker gets no further order.
#[tokio::test]
async fn a_worker_that_leaves_learns_which_of_its_steps_to_stop() {
    let controller = InProcessController::start().await;
    let leaving = PlainApiWorker::join(&controller, "build-7").await;
    let cancelled = controller.submit("steps: { a: { run: make, lock: press } }").await;
    let ordered = leaving.claimed(&controller).await;
    controller.submit("steps: { b: { run: make } }").await;
    let other = leaving.claimed(&controller).await;
    assert_eq!(controller.post(&format!("/runs/{cancelled}/cancel"), &json!({})).await.status, 200);
    let path = format!("/workers/{}/goodbye", leaving.id);
    let answer = leaving.tell(&controller, &path, json!({ "leases": [ordered.1, other.1] })).await;
    assert_eq!(answer.json["stop"], json!([ordered.1]), "{answer:?}");
    controller.shut_down().await;
}
