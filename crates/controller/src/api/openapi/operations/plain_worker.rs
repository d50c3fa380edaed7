//! Operations of plain workers.

use crate::api::openapi::operation::{OpenApiOperation, post};
use crate::api::plain_worker::{
    PlainClaimBody, PlainCompleteBody, PlainCompleteReply, PlainEventBody, PlainEventReply,
    PlainGoodbyeBody, PlainGoodbyeReply, PlainHeartbeatBody, PlainHeartbeatReply, PlainOfferBody,
    PlainRegisterBody, PlainRegisteredBody,
};

pub(super) fn operations() -> Vec<OpenApiOperation> {
    [of_workers(), of_steps()].concat()
}

fn of_workers() -> Vec<OpenApiOperation> {
    vec![
        post(
            "/workers/register",
            "Join as a worker; with the secret of a worker, replace its former incarnation",
        )
        .takes::<PlainRegisterBody>()
        .answers::<PlainRegisteredBody>(200, "The worker has joined")
        .refuses(&["no_worker_secret", "refused", "no_chance"]),
        worker(post("/workers/{id}/heartbeat", "Renew the listed leases, or all"))
            .may_take::<PlainHeartbeatBody>()
            .answers::<PlainHeartbeatReply>(200, "The steps that the worker has to stop"),
        worker(post("/workers/{id}/claim", "Request a step"))
            .may_take::<PlainClaimBody>()
            .answers::<PlainOfferBody>(200, "A lease of a step")
            .answers_nothing(204, "No step is ready for this worker"),
        worker(post("/workers/{id}/goodbye", "Leave, and list the steps that may still run"))
            .may_take::<PlainGoodbyeBody>()
            .answers::<PlainGoodbyeReply>(
                200,
                "Whether all leases have ended, or when they expire",
            ),
    ]
}

fn of_steps() -> Vec<OpenApiOperation> {
    vec![
        step(post("/steps/{id}/complete", "Report the end of an attempt"))
            .takes::<PlainCompleteBody>()
            .answers::<PlainCompleteReply>(200, "The outcome counts")
            .refuses(&["other_outcome"]),
        step(post("/steps/{id}/events", "Append to the log of a step"))
            .takes::<PlainEventBody>()
            .answers::<PlainEventReply>(200, "The size of the log"),
    ]
}

fn worker(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part::<u64>("id", "The number of the worker, from the answer to its registration")
        .refuses(&["no_such_worker", "refused", "not_this_life", "failed"])
}

fn step(operation: OpenApiOperation) -> OpenApiOperation {
    operation
        .part::<String>("id", "The `step_id` of the claim: `RUN.INDEX.FENCE`")
        .refuses(&["no_such_run", "no_such_step", "no_such_worker", "stale"])
        .refuses(&["refused", "not_this_life", "failed"])
}
