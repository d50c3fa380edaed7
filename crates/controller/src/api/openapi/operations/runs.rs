//! Runs: submitted, looked at, followed, ended.

use serde_json::{Value, json};
use windlass_link::http::{EVENTS_TYPE, KEY_HEADER};

use crate::api::openapi::operation::{OpenApiOperation, get, post, run_part};
use crate::api::openapi::schema::{
    anything, body, count, flag, list, map, moment, named, number, object, or_null, text, word,
};
use crate::api::openapi::schemas::{RUN_STATUS, STEP_STATUS};

/// The longest that an answer waits, in milliseconds; more is taken for it.
const WAIT: &str = "How long to wait for the first, in milliseconds; at most 30 s are waited";

const KEY: &str = "Names the submission, so that repeating it makes no second run";

const MOST: &str = "How many at most";

const STEP: &str = "Its name or its index";

pub(super) fn operations() -> Vec<OpenApiOperation> {
    [looking(), following(), logs(), doing()].concat()
}

fn looking() -> Vec<OpenApiOperation> {
    vec![
        get("/runs", "Runs, the newest first")
            .query("pipeline", text(), "Only runs of this pipeline")
            .query("status", words(RUN_STATUS), "Only runs that are so: words between commas")
            .query("since", moment(), "Only runs submitted then or later")
            .query("until", moment(), "Only runs submitted before")
            .query("text", text(), "Only runs whose id has this part")
            .query("before", text(), "The id of the last run of the page before")
            .query("limit", count(), MOST)
            .answers(200, "Runs; `link` says where the next page is", list(named("Run"))),
        run_part(get("/runs/{run}", "One run with its steps"))
            .query("from", number(0, u32::MAX.into()), "Steps from this index on")
            .answers(200, "The run", named("RunWithSteps"))
            .refuses(&["not_leader"]),
        run_part(get("/runs/{run}/steps", "The steps of a run, in the order of its plan"))
            .query("status", words(STEP_STATUS), "Only steps that are so: words between commas")
            .query("after", number(0, u32::MAX.into()), "The last index of the page before")
            .query("limit", count(), MOST)
            .answers(200, "Steps; `link` says where the next page is", list(named("Step")))
            .refuses(&["not_leader"]),
        run_part(get("/runs/{run}/steps/{step}", "One step, and why it waits if it does"))
            .part("step", text(), STEP)
            .answers(200, "The step", named("Step"))
            .refuses(&["no_such_step", "not_leader"]),
        run_part(get("/runs/{run}/steps/{step}/why", "Why a step stands where it stands"))
            .part("step", text(), STEP)
            .answers(200, "As the engine says it", named("Why"))
            .refuses(&["no_such_step", "not_leader"]),
    ]
}

fn following() -> Vec<OpenApiOperation> {
    let after = "The position of the last event that is known";
    let stream = "As they come, if `accept` asks for it";
    vec![
        run_part(get("/runs/{run}/events", "What happened in a run, behind a position"))
            .query("after", count(), after)
            .query("wait_ms", count(), WAIT)
            .query("limit", count(), MOST)
            .answers(200, "Events, the oldest first", list(named("Event")))
            .answers_as(200, stream, "text/event-stream", text())
            .answers_as(200, "As windlass keeps them", EVENTS_TYPE, anything())
            .refuses(&["not_leader", "too_many_streams"]),
        get("/events", "What happens in the whole cluster, behind a position or from now on")
            .query("after", count(), after)
            .query("wait_ms", count(), WAIT)
            .query("limit", count(), MOST)
            .query("type", text(), "Only these types: words between commas")
            .query("run", text(), "Only events of this run, by its whole id")
            .query("pipeline", text(), "Only events of runs of this pipeline")
            .answers(200, "Events, the oldest first", list(named("Event")))
            .answers_as(200, stream, "text/event-stream", text())
            .refuses(&["gone", "too_many_streams"]),
    ]
}

fn logs() -> Vec<OpenApiOperation> {
    let bytes = "application/octet-stream";
    vec![
        run_part(get("/runs/{run}/logs", "The logs of a run")).answers(
            200,
            "Logs",
            list(named("Log")),
        ),
        run_part(get("/runs/{run}/summaries", "What steps wrote for people, in Markdown")).answers(
            200,
            "Of each step the last",
            list(named("Written")),
        ),
        run_part(get("/runs/{run}/logs/search", "Lines that have a text, as it is written"))
            .needed("text", text(), "What is looked for")
            .query("step", text(), "Only in logs of this step: its name or its index")
            .query("limit", count(), MOST)
            .answers(200, "What was found, and where the search ended", named("Found"))
            .refuses(&["no_such_step", "not_leader"]),
        run_part(get("/runs/{run}/logs/{step}/{attempt}/{delivery}", "Bytes of a log"))
            .part("step", number(0, u32::MAX.into()), "The step's index")
            .part("attempt", number(0, u16::MAX.into()), "Which attempt")
            .part("delivery", number(0, u16::MAX.into()), "Which hand-out of it")
            .query("from", count(), "From which byte on")
            .query("wait_ms", count(), WAIT)
            .answers_as(200, "At most 1 MiB", bytes, anything())
            .answers_as(206, "What `range` asks for, at most 1 MiB", bytes, anything())
            .refuses(&["no_such_range"]),
    ]
}

fn doing() -> Vec<OpenApiOperation> {
    vec![
        post("/runs", "Submit a pipeline")
            .header(KEY_HEADER, key(), KEY)
            .takes(submission())
            .answers(201, "A run was made of it", submitted())
            .answers(200, "The key was seen before with the same body", submitted())
            .refuses(&["key_conflict", "bad_pipeline", "bad_params", "other_plan"])
            .refuses(&[
                "too_many_runs",
                "too_many_steps",
                "too_many_locks",
                "too_many_demands",
                "run_exists",
            ]),
        run_part(post(
            "/runs/{run}/rerun",
            "Run the plan of an earlier run again, or a part of it",
        ))
        .header(KEY_HEADER, key(), KEY)
        .may_take(body([], [("failed", flag()), ("from", list(text())), ("again", flag())]))
        .answers(201, "A run was made of it", submitted())
        .answers(200, "The key was seen before with the same body", submitted())
        .refuses(&["no_such_step", "run_not_ended", "nothing_failed", "key_conflict"])
        .refuses(&[
            "bad_reuse",
            "too_many_runs",
            "too_many_steps",
            "too_many_locks",
            "too_many_demands",
            "run_exists",
        ]),
        run_part(post("/runs/{run}/cancel", "End a run"))
            .may_take(body([], [("level", word(&["stop", "kill"]))]))
            .answers(200, "It ends", object([("id", text())]))
            .refuses(&["run_ended"]),
    ]
}

/// Any of these words, between commas; none of them asks for all.
fn words(words: &[&str]) -> Value {
    let one = words.join("|");
    json!({ "type": "string", "pattern": format!("^({one})?(,({one})?)*$") })
}

fn key() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": windlass_store::archive::KEY_MAX, "pattern": "^[!-~]+$" })
}

fn submission() -> Value {
    let names = || list(text());
    let selection =
        body([], [("steps", names()), ("only", names()), ("from", names()), ("tags", names())]);
    let param = json!({ "type": ["string", "number", "boolean"] });
    body(
        [("text", text())],
        [
            ("file", or_null(text())),
            ("name", or_null(text())),
            ("params", map(param)),
            ("selection", selection),
            ("keep_going", flag()),
            ("again", flag()),
            ("timeout_ms", or_null(count())),
            ("fingerprint", or_null(text())),
        ],
    )
}

fn submitted() -> Value {
    object([("id", text()), ("warnings", list(text())), ("known", flag())])
}
