//! The clock of the controller's system is set back while it runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::time::Instant;
use windlass::core::time::{Span, Time};
use windlass::embedded::Stores;

use super::access::{by, expired};
use crate::support::http_client::HttpRequest;
use crate::support::in_process_controller::{ControllerSetup, InProcessController, TOKEN};

const SHIP: &str = "name: ship\nsteps: { build: { run: make } }\n";

/// The time of the system, less what a test has set it back by.
fn time(set_back: &AtomicU64) -> Time {
    #[expect(clippy::disallowed_methods, reason = "the system's clock is what the test sets back")]
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let now = Time::from_millis(u64::try_from(since.as_millis()).expect("not for long"));
    now - Span::hours(set_back.load(Ordering::SeqCst))
}

#[tokio::test]
async fn an_expired_token_stays_expired() {
    static SET_BACK: AtomicU64 = AtomicU64::new(0);
    let setup = ControllerSetup {
        token: Some(TOKEN),
        clock: Some(|| time(&SET_BACK)),
        ..ControllerSetup::default()
    };
    let controller = InProcessController::with(setup).await;
    let token = expired(&controller, "short", &["read"]).await;
    SET_BACK.store(24, Ordering::SeqCst);
    // The journal continues past the expiry of the token.
    let deadline = Instant::now() + Duration::from_secs(30);
    while by(&controller, &token, "GET", "/runs").await.refusal() != (401, "expired_token") {
        assert!(Instant::now() < deadline, "a token of a millisecond is valid again");
        let run = controller.post("/runs", &json!({ "text": SHIP })).await;
        assert_eq!(run.status, 201, "{run:?}");
    }
    controller.shut_down().await;
}

#[tokio::test]
async fn submission_key_has_the_age_of_its_run() {
    static SET_BACK: AtomicU64 = AtomicU64::new(24);
    let stores = Stores::in_memory();
    let archive = std::sync::Arc::clone(&stores.archive);
    let setup =
        ControllerSetup { stores, clock: Some(|| time(&SET_BACK)), ..ControllerSetup::default() };
    let began = time(&AtomicU64::new(0));
    let controller = InProcessController::with(setup).await;
    let body = json!({ "text": SHIP }).to_string().into_bytes();
    let headers = vec![("idempotency-key", "once")];
    let taken = controller.ask(HttpRequest { method: "POST", path: "/runs", headers, body }).await;
    assert_eq!(taken.status, 201, "{taken:?}");
    let keys = archive.keys(None, 9).await.expect("it is in memory");
    assert!(
        keys[0].at >= began,
        "{:?} is before {began:?}: it would be pruned too early",
        keys[0].at
    );
    controller.shut_down().await;
}

#[tokio::test]
async fn pauses_between_refusal_logs_do_not_depend_on_the_system_clock() {
    static SET_BACK: AtomicU64 = AtomicU64::new(24);
    let lines = Arc::new(Mutex::new(Vec::new()));
    let setup = ControllerSetup {
        token: Some(TOKEN),
        clock: Some(|| time(&SET_BACK)),
        ..ControllerSetup::default()
    };
    let controller =
        InProcessController::with(ControllerSetup { refusals: Arc::clone(&lines), ..setup }).await;
    let forged = "wl_of_another_cluster";
    assert_eq!(by(&controller, forged, "GET", "/runs").await.status, 401);
    // One day passes for the system clock, and a moment for the other clocks.
    SET_BACK.store(0, Ordering::SeqCst);
    assert_eq!(by(&controller, forged, "GET", "/runs").await.status, 401);
    let texts = lines.lock().expect("no test panics here").clone();
    assert_eq!(texts, ["a request from 127.0.0.1 was refused (401)"]);
    controller.shut_down().await;
}
