//! Workers of another make.

use serde_json::{Value, json};

use crate::api::openapi::operation::{OpenApiOperation, post};
use crate::api::openapi::schema::{
    anything, body, count, flag, list, map, moment, named, number, object, or_null, text, word,
};

pub(super) fn operations() -> Vec<OpenApiOperation> {
    [of_workers(), of_steps()].concat()
}

fn of_workers() -> Vec<OpenApiOperation> {
    let joining = body(
        [("hostname", text())],
        [("capabilities", list(text())), ("slots", or_null(number(1, u32::MAX.into())))],
    );
    let joined = object([
        ("worker_id", text()),
        ("secret", text()),
        ("lease_ttl_ms", count()),
        ("heartbeat_ms", count()),
    ]);
    let beat = body(
        [],
        [
            ("status", or_null(text())),
            ("metrics", or_null(map(anything()))),
            ("leases", or_null(list(fence()))),
        ],
    );
    let renewed = object([("stop", list(fence())), ("lease_expires_at", moment())]);
    let left = object([("ended", flag()), ("leases_expire_at", or_null(moment()))]);
    vec![
        post(
            "/workers/register",
            "Join as a worker; who shows its secret takes over from its former life",
        )
        .takes(joining)
        .answers(200, "It is one", joined)
        .refuses(&["no_worker_secret", "refused", "no_chance"]),
        worker(post("/workers/{id}/heartbeat", "Renew leases: those listed, or all"))
            .may_take(beat)
            .answers(200, "What must be stopped", renewed),
        worker(post("/workers/{id}/claim", "Ask for a step"))
            .may_take(body([], [("request_id", or_null(text()))]))
            .answers(200, "A lease of a step", named("Offer"))
            .answers_nothing(204, "There is nothing to do"),
        worker(post("/workers/{id}/goodbye", "Leave; list the steps that may still run"))
            .may_take(body([], [("leases", list(fence()))]))
            .answers(200, "Whether all leases have ended, else when they do", left),
    ]
}

fn of_steps() -> Vec<OpenApiOperation> {
    let completed = body(
        [("status", word(&["succeeded", "failed", "timed_out", "cancelled"]))],
        [
            (
                "exit_code",
                or_null(json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX })),
            ),
            ("outputs", map(anything())),
            ("output_path", anything()),
            ("artifact_refs", anything()),
        ],
    );
    let happened = body([("event_type", text())], [("payload", anything())]);
    vec![
        step(post("/steps/{id}/complete", "Report how an attempt ended"))
            .takes(completed)
            .answers(200, "It counts", object([("accepted", flag())]))
            .refuses(&["other_outcome"]),
        step(post("/steps/{id}/events", "Add to the log of a step")).takes(happened).answers(
            200,
            "How long the log is now",
            object([("size", count())]),
        ),
    ]
}

fn worker(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part("id", number(0, u64::MAX), "Its number, as it was told when it registered")
        .refuses(&["no_such_worker", "refused", "not_this_life", "failed"])
}

fn step(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part("id", text(), "`RUN.INDEX.FENCE`, as the claim gave it")
        .refuses(&["no_such_run", "no_such_step", "no_such_worker", "stale"])
        .refuses(&["refused", "not_this_life", "failed"])
}

/// The number of a lease.
fn fence() -> Value {
    number(0, u64::MAX)
}
