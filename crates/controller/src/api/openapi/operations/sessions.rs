//! Operations of the session between a worker of windlass and its leader. Their messages are internal to windlass: both ends
//! must have the same protocol version.

use crate::api::openapi::operation::{OpenApiOperation, post};

const MESSAGE: &str = "A message of the session";

pub(super) fn operations() -> Vec<OpenApiOperation> {
    vec![
        worker(post("/workers/{id}/join", "Internal: a worker of windlass joins"))
            .takes_message()
            .answers_message(200, MESSAGE)
            .refuses(&["no_worker_secret", "other_worker"]),
        worker(post("/workers/{id}/exchange", "Internal: the worker reports, and gets leases"))
            .takes_message()
            .answers_message(200, MESSAGE),
        worker(post("/workers/{id}/ended", "Internal: the guard reports the end of the worker"))
            .takes_message()
            .answers_nothing(200, "The report is accepted"),
        worker(post("/workers/{id}/logs", "Internal: the worker sends output of steps"))
            .takes_bytes()
            .answers_message(200, MESSAGE),
        worker(post("/workers/{id}/values", "Internal: the worker fetches a large result"))
            .takes_message()
            .answers_bytes(200, "Bytes of the result", "application/octet-stream"),
        worker(post("/workers/{id}/cancel", "Internal: a step of the worker cancels its run"))
            .takes_message()
            .answers_message(200, "The run is cancelled"),
    ]
}

fn worker(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part::<u64>("id", "The number of the worker")
        .refuses(&["not_this_life", "no_such_worker"])
}
