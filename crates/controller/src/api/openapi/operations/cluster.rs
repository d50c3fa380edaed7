//! The cluster: how it is, who works, what is held and what waits.

use windlass_link::http::JOURNAL_TYPE;

use crate::api::openapi::operation::{OpenApiOperation, get, post};
use crate::api::openapi::schema::{anything, count, list, named, object, text, word};
use crate::api::openapi::schemas::KEY_STATUS;

pub(super) fn operations() -> Vec<OpenApiOperation> {
    let mut operations = shown();
    operations.extend(observed());
    operations
}

/// What controllers read that observe.
fn observed() -> Vec<OpenApiOperation> {
    vec![
        get("/journal", "What the leader wrote, as it is kept, for controllers that observe")
            .query("after", count(), "Batches behind this position")
            .query("limit", count(), "About so many events, at most 16,384")
            .answers_as(200, "A page of batches", JOURNAL_TYPE, anything())
            .refuses(&["gone"]),
        get("/journal/snapshot", "The newest state that was saved, to begin with")
            .answers_as(
                200,
                "A state; `windlass-position` and `windlass-batch` name the last batch in it",
                JOURNAL_TYPE,
                anything(),
            )
            .answers_nothing(204, "None was saved yet"),
    ]
}

fn shown() -> Vec<OpenApiOperation> {
    vec![
        get("/openapi.json", "This document").answers(200, "OpenAPI 3.1", anything()),
        get("/healthz", "Whether the process answers").answers_as(
            200,
            "It does",
            "text/plain; charset=utf-8",
            text(),
        ),
        get("/readyz", "Whether to send it requests")
            .query("leader", text(), "Present, with whatever value: only if it leads")
            .answers_as(200, "It is ready", "text/plain; charset=utf-8", text())
            .refuses(&["not_leader", "ending", "stalled", "behind"]),
        get("/cluster", "Which cluster this is").answers(200, "The cluster", named("Cluster")),
        get("/metrics", "Numbers for Prometheus").answers_as(
            200,
            "In its text format",
            "text/plain; version=0.0.4; charset=utf-8",
            text(),
        ),
        get("/workers", "Every worker that is known").answers(
            200,
            "Workers",
            list(named("Worker")),
        ),
        post("/workers/{id}/drain", "Give a worker no more leases")
            .part("id", text(), "Its name or its number")
            .answers(200, "It is drained", object([("id", text())]))
            .refuses(&["no_such_worker", "refused"]),
        get("/locks", "Every lock that an active run names").answers(
            200,
            "Locks",
            list(named("Lock")),
        ),
        get("/keys", "What is done once: keys of steps with `idempotent`, sorted")
            .query("status", word(KEY_STATUS), "Only in this status")
            .query("prefix", text(), "Only those that begin so")
            .query("after", text(), "Only those that sort behind this one")
            .query("limit", count(), "1,000 unless given, at most 10,000")
            .answers(200, "Keys", list(named("Key"))),
        get("/queue", "What is ready and waits, by requirement").answers(
            200,
            "The queue",
            list(named("Waiting")),
        ),
    ]
}
