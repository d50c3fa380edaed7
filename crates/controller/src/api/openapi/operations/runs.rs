//! Operations on runs, their events and their logs.

use windlass_core::id::RunId;
use windlass_core::report::{EventJson, WhyReport};
use windlass_core::summary::StepJson;
use windlass_link::http::{
    CancelRunBody, EVENTS_TYPE, KEY_HEADER, LogEntryBody, LogSearchBody, RerunBody,
    StepSummaryBody, StepTestsBody, SubmitRunBody, SubmittedRunBody,
};

use crate::api::events::EventsQuery;
use crate::api::id_body::IdBody;
use crate::api::openapi::operation::{OpenApiOperation, get, post, run_part};
use crate::api::runs::{
    IdempotencyKeyHeader, ListedRunBody, LogBytesQuery, LogSearchQuery, RunEventsQuery,
    RunListQuery, RunStepsFromQuery, RunWithSteps, StepListQuery, StepWithWhyBody,
};

const KEY: &str =
    "A key for the request: a repeated request with the same key creates no second run";

const STEP: &str = "The name of the step, or its index in the plan";

/// Refusals of a new run.
const LIMITS: &[&str] =
    &["too_many_runs", "too_many_steps", "too_many_locks", "too_many_demands", "run_exists"];

pub(super) fn operations() -> Vec<OpenApiOperation> {
    [of_runs(), of_events(), of_logs(), of_tests(), changes()].concat()
}

fn of_runs() -> Vec<OpenApiOperation> {
    vec![
        get("/runs", "List runs, newest first")
            .query::<RunListQuery>()
            .answers::<Vec<ListedRunBody>>(200, "A page of runs; `link` names the next page"),
        run_part(get("/runs/{run}", "Get a run with its steps"))
            .query::<RunStepsFromQuery>()
            .answers::<RunWithSteps<'_>>(200, "The run")
            .refuses(&["not_leader"]),
        run_part(get("/runs/{run}/steps", "List the steps of a run, in the order of its plan"))
            .query::<StepListQuery>()
            .answers::<Vec<StepJson<'_>>>(200, "A page of steps; `link` names the next page")
            .refuses(&["not_leader"]),
        run_part(get("/runs/{run}/steps/{step}", "Get a step, and why it is waiting or running"))
            .part::<String>("step", STEP)
            .answers::<StepWithWhyBody<'_>>(200, "The step")
            .refuses(&["no_such_step", "not_leader"]),
        run_part(get("/runs/{run}/steps/{step}/why", "Explain the status of a step"))
            .part::<String>("step", STEP)
            .answers::<WhyReport>(200, "The reason")
            .refuses(&["no_such_step", "not_leader"]),
    ]
}

fn of_events() -> Vec<OpenApiOperation> {
    const EVENTS: &str = "Events, oldest first; a stream if `accept` asks for it";
    let stream = "text/event-stream";
    vec![
        run_part(get("/runs/{run}/events", "Get the events of a run after a position"))
            .query::<RunEventsQuery>()
            .answers::<Vec<EventJson>>(200, EVENTS)
            .answers_text(200, "", stream)
            .answers_bytes(200, "", EVENTS_TYPE)
            .refuses(&["not_leader", "too_many_streams"]),
        get("/events", "Get the events of the cluster, after a position or from now on")
            .query::<EventsQuery>()
            .answers::<Vec<EventJson>>(200, EVENTS)
            .answers_text(200, "", stream)
            .refuses(&["gone", "too_many_streams"]),
    ]
}

fn of_logs() -> Vec<OpenApiOperation> {
    vec![
        run_part(get("/runs/{run}/logs", "List the logs of a run"))
            .answers::<Vec<LogEntryBody>>(200, "The logs"),
        run_part(get("/runs/{run}/summaries", "List the summaries that steps wrote, in Markdown"))
            .answers::<Vec<StepSummaryBody>>(200, "The last summary of each step"),
        run_part(get("/runs/{run}/logs/search", "Find lines that contain a text, literally"))
            .query::<LogSearchQuery>()
            .answers::<LogSearchBody>(200, "The lines, and the limit that ended the search")
            .refuses(&["no_such_step", "not_leader"]),
        of_log_bytes(),
    ]
}

fn of_tests() -> Vec<OpenApiOperation> {
    vec![
        run_part(get("/runs/{run}/tests", "List the results of the tests that steps ran"))
            .answers::<Vec<StepTestsBody>>(200, "The last test report of each step"),
        run_part(get("/runs/{run}/steps/{step}/tests", "List the results of a step's tests"))
            .part::<String>("step", STEP)
            .answers::<Vec<StepTestsBody>>(200, "The test report of each delivery that wrote one")
            .refuses(&["no_such_step", "not_leader"]),
    ]
}

fn of_log_bytes() -> OpenApiOperation {
    let bytes = "application/octet-stream";
    run_part(get("/runs/{run}/logs/{step}/{attempt}/{delivery}", "Get bytes of a log"))
        .part::<u32>("step", "The index of the step in the plan")
        .part::<u16>("attempt", "The attempt number")
        .part::<u16>("delivery", "The delivery number within the attempt")
        .query::<LogBytesQuery>()
        .answers_bytes(200, "At most 1 MiB", bytes)
        .answers_bytes(206, "The requested `range`, at most 1 MiB", bytes)
        .refuses(&["no_such_range"])
}

fn changes() -> Vec<OpenApiOperation> {
    let known = "An earlier request with the same key created the run";
    vec![
        post("/runs", "Submit a pipeline")
            .header::<IdempotencyKeyHeader>(KEY_HEADER, KEY)
            .takes::<SubmitRunBody>()
            .answers::<SubmittedRunBody>(201, "The run is created")
            .answers::<SubmittedRunBody>(200, known)
            .refuses(&["key_conflict", "bad_pipeline", "bad_params", "other_plan"])
            .refuses(LIMITS),
        run_part(post(
            "/runs/{run}/rerun",
            "Run the plan of an earlier run again, or a part of it",
        ))
        .header::<IdempotencyKeyHeader>(KEY_HEADER, KEY)
        .may_take::<RerunBody>()
        .answers::<SubmittedRunBody>(201, "The run is created")
        .answers::<SubmittedRunBody>(200, known)
        .refuses(&["no_such_step", "run_not_ended", "nothing_failed", "key_conflict"])
        .refuses(&["bad_reuse"])
        .refuses(LIMITS),
        run_part(post("/runs/{run}/cancel", "Cancel a run"))
            .may_take::<CancelRunBody>()
            .answers::<IdBody<RunId>>(200, "The run is cancelled")
            .refuses(&["run_ended"]),
    ]
}
