//! Operations about the cluster: its controllers, workers, locks and queue.

use serde_json::Value;
use windlass_core::report::IdempotencyKeyJson;
use windlass_link::http::{ClusterDescription, JOURNAL_TYPE};

use crate::api::cluster::ReadyQuery;
use crate::api::id_body::IdBody;
use crate::api::idempotency_keys::KeyListQuery;
use crate::api::journal::JournalTailQuery;
use crate::api::openapi::operation::{OpenApiOperation, get, post};
use crate::api::workers::{LockBody, QueueClassBody, WorkerBody};

const TEXT: &str = "text/plain; charset=utf-8";

pub(super) fn operations() -> Vec<OpenApiOperation> {
    [of_controllers(), of_work(), for_replicas()].concat()
}

fn of_controllers() -> Vec<OpenApiOperation> {
    vec![
        get("/openapi.json", "Get this document").answers::<Value>(200, "An OpenAPI 3.1 document"),
        get("/healthz", "Check whether the process answers").answers_text(200, "It does", TEXT),
        get("/readyz", "Check whether to send requests to this controller")
            .query::<ReadyQuery>()
            .answers_text(200, "The controller is ready", TEXT)
            .refuses(&["not_leader", "ending", "stalled", "behind"]),
        get("/cluster", "Describe the cluster and the controller that answers")
            .answers::<ClusterDescription>(200, "The cluster"),
        get("/metrics", "Get metrics for Prometheus").answers_text(
            200,
            "The metrics in the text format of Prometheus",
            "text/plain; version=0.0.4; charset=utf-8",
        ),
    ]
}

fn of_work() -> Vec<OpenApiOperation> {
    vec![
        get("/workers", "List all known workers")
            .answers::<Vec<WorkerBody<'_>>>(200, "The workers"),
        post("/workers/{id}/drain", "Grant a worker no more leases")
            .part::<String>("id", "The name or the number of the worker")
            .answers::<IdBody<u64>>(200, "The worker finishes its steps and gets no new ones")
            .refuses(&["no_such_worker", "refused"]),
        get("/locks", "List the locks that active runs name")
            .answers::<Vec<LockBody<'_>>>(200, "The locks"),
        get("/keys", "List the idempotency keys of steps, in order")
            .query::<KeyListQuery>()
            .answers::<Vec<IdempotencyKeyJson<'_>>>(200, "The keys"),
        get("/queue", "List ready steps by requirement")
            .answers::<Vec<QueueClassBody>>(200, "The steps that wait, grouped by requirement"),
    ]
}

fn for_replicas() -> Vec<OpenApiOperation> {
    vec![
        get("/journal", "Get batches of the journal as they are stored, for read-only replicas")
            .query::<JournalTailQuery>()
            .answers_bytes(200, "A page of batches", JOURNAL_TYPE)
            .refuses(&["gone"]),
        get("/journal/snapshot", "Get the newest saved state, from which a replica begins")
            .answers_bytes(
                200,
                "A state; `windlass-position` and `windlass-batch` name the last batch in it",
                JOURNAL_TYPE,
            )
            .answers_nothing(204, "No state is saved yet"),
    ]
}
