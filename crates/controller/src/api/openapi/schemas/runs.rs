//! Runs, steps, events and logs.

use serde_json::{Value, json};

use crate::api::openapi::schema::{
    and_perhaps, anything, count, flag, list, map, moment, named, object, or_null, text, word,
};

/// What a run can be.
pub(in crate::api::openapi) const RUN_STATUS: &[&str] =
    &["running", "cancelling", "succeeded", "failed", "cancelled"];

/// What a step can be.
pub(in crate::api::openapi) const STEP_STATUS: &[&str] = &[
    "waiting",
    "ready",
    "leased",
    "running",
    "succeeded",
    "failed",
    "timed_out",
    "cancelled",
    "skipped",
    "blocked",
    "cached",
];

const OUTCOME: &[&str] = &["succeeded", "failed", "timed_out", "cancelled", "lost", "released"];

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Run", listed_run()),
        ("RunWithSteps", run_with_steps()),
        ("Step", step()),
        ("Attempt", attempt()),
        ("Event", event()),
        ("Log", log()),
        ("Written", written()),
        ("Found", found()),
        ("Why", why()),
    ]
}

fn run() -> Value {
    object([
        ("id", text()),
        ("pipeline", text()),
        ("status", word(RUN_STATUS)),
        ("created_at", moment()),
        ("ended_at", or_null(moment())),
    ])
}

/// In a list `steps` says how many there are; of a run that has left the engine less is told.
fn listed_run() -> Value {
    and_perhaps(run(), [("steps", count()), ("fingerprint", text()), ("counts", map(count()))])
}

fn run_with_steps() -> Value {
    let cause = object([
        ("step", count()),
        ("name", text()),
        ("reason", or_null(text())),
        ("blocked", count()),
        ("cancelled", count()),
        ("ignored", flag()),
    ]);
    let cancelled = object([
        ("level", word(&["stop", "kill"])),
        ("reason", word(&["asked", "deadline", "defect", "condemned"])),
    ]);
    let share = object([
        ("worker", text()),
        ("attempts", count()),
        ("busy_ms", count()),
        ("use_percent", or_null(count())),
    ]);
    let told = object([
        ("fingerprint", text()),
        ("wall_ms", count()),
        ("steps", list(named("Step"))),
        ("counts", map(count())),
        ("interruptions", count()),
        ("interrupted_ms", count()),
        ("root_causes", list(cause)),
        ("workers", list(share)),
    ]);
    json!({ "allOf": [run(), and_perhaps(told, [("cancelled", cancelled)])] })
}

fn step() -> Value {
    let told = object([
        ("run", text()),
        ("step", count()),
        ("name", text()),
        ("status", word(STEP_STATUS)),
        ("needs", list(text())),
        ("ready_at", or_null(moment())),
        ("ended_at", or_null(moment())),
        ("wait_ms", count()),
        ("time_ms", count()),
        ("attempts", list(named("Attempt"))),
        ("outputs", anything()),
    ]);
    let origin = object([("run", text()), ("step", count()), ("name", text()), ("at", moment())]);
    and_perhaps(
        told,
        [
            ("reason", text()),
            ("reused_from", text()),
            ("key", text()),
            ("origin", origin),
            ("why", or_null(named("Why"))),
        ],
    )
}

fn attempt() -> Value {
    let told = object([
        ("attempt", count()),
        ("delivery", count()),
        ("worker", text()),
        ("fence", count()),
        ("granted_at", moment()),
        ("started_at", or_null(moment())),
        ("ended_at", or_null(moment())),
        ("time_ms", count()),
        ("outcome", or_null(word(OUTCOME))),
    ]);
    and_perhaps(told, [("exit_code", json!({ "type": "integer" })), ("stopped", text())])
}

fn event() -> Value {
    let told = object([
        ("v", json!({ "const": 1 })),
        ("pos", count()),
        ("at", moment()),
        ("type", text()),
        ("data", json!({ "type": "object" })),
    ]);
    let about = [
        ("run", text()),
        ("step", count()),
        ("attempt", count()),
        ("delivery", count()),
        ("worker", text()),
        ("fence", count()),
    ];
    and_perhaps(told, about)
}

fn log() -> Value {
    object([("step", count()), ("attempt", count()), ("delivery", count()), ("size", count())])
}

fn written() -> Value {
    object([("step", count()), ("attempt", count()), ("delivery", count()), ("text", text())])
}

fn found() -> Value {
    let line = object([
        ("step", count()),
        ("name", text()),
        ("attempt", count()),
        ("delivery", count()),
        ("line", count()),
        ("at", count()),
        ("text", text()),
    ]);
    let cut = or_null(word(&["limit", "bytes", "time"]));
    object([("lines", list(line)), ("bytes", count()), ("cut", cut)])
}

/// One word for why, alone or with what it is about. What that is follows the engine, and grows with it.
fn why() -> Value {
    json!({
        "description": "Ids in it are numbers, times milliseconds since 1970",
        "anyOf": [{ "type": "string" }, { "type": "object", "minProperties": 1, "maxProperties": 1 }],
    })
}
