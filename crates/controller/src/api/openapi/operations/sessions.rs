//! The session between a worker of windlass's own and its leader. Its messages are not for others: the protocol's version
//! says whether both ends mean the same by them.

use crate::api::openapi::operation::{OpenApiOperation, post};
use crate::api::openapi::schema::{anything, number};

pub(super) fn operations() -> Vec<OpenApiOperation> {
    vec![
        worker(post("/workers/{id}/join", "A worker of windlass's own joins"))
            .takes(anything())
            .answers(200, "A message of the session", anything())
            .refuses(&["no_worker_secret", "other_worker"]),
        worker(post("/workers/{id}/exchange", "It exchanges news for work"))
            .takes(anything())
            .answers(200, "A message of the session", anything()),
        worker(post("/workers/{id}/ended", "Its guard reports that nothing of it is left"))
            .takes(anything())
            .answers_nothing(200, "It is known"),
        worker(post("/workers/{id}/logs", "It hands over what steps printed"))
            .takes_bytes()
            .answers(200, "A message of the session", anything()),
        worker(post("/workers/{id}/values", "It fetches a result that is too large for a grant"))
            .takes(anything())
            .answers_as(200, "Bytes of it", "application/octet-stream", anything()),
        worker(post("/workers/{id}/cancel", "A step of it has its run end"))
            .takes(anything())
            .answers(200, "It is known", anything()),
    ]
}

fn worker(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part("id", number(0, u64::MAX), "Its number")
        .refuses(&["not_this_life", "no_such_worker"])
}
