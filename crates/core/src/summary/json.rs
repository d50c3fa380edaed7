//! The JSON form of a summary: one object for the run, one for each step.
//!
//! ```text
//! run   {id, pipeline, fingerprint, status, created_at, ended_at, wall_ms, counts, cancelled?, interruptions,
//!        interrupted_ms, root_causes, workers}
//! step  {run, step, name, status, reason?, key?, origin?, needs, ready_at, ended_at, wait_ms, time_ms, attempts, outputs}
//! ```
//!
//! A compact object is one line, for NDJSON. A plan does not contain its params; callers that have them add `params`.

use serde_json::{Map, Value, json};

use super::cause::RootCause;
use super::run_summary::RunSummary;
use super::step_summary::{DeliverySummary, StepSummary};
use super::worker_share::WorkerShare;
use crate::engine::{CancelLevel, CancelReason};
use crate::outcome::StepOutput;
use crate::report::UtcTime;
use crate::time::Time;

impl RunSummary {
    /// Returns the run as an object. `now` is the end time for an unfinished run.
    pub fn to_json(&self, now: Time) -> Value {
        let counts: Map<String, Value> = self
            .status_counts
            .iter()
            .map(|(status, count)| (status.word().to_owned(), count.into()))
            .collect();
        let causes = self.root_causes();
        let causes: Vec<Value> = causes.iter().map(|cause| self.cause_json(cause)).collect();
        let mut object = json!({
            "id": self.run.to_string(),
            "pipeline": self.plan.pipeline(),
            "fingerprint": self.plan.fingerprint().to_string(),
            "status": self.status.to_string(),
            "created_at": utc(self.submitted_at),
            "ended_at": self.ended_at.map(utc),
            "wall_ms": self.wall_time(now).as_millis(),
            "steps": self.plan.step_count(),
            "counts": counts,
            "interruptions": self.interruptions(),
            "interrupted_ms": self.interrupted_time().as_millis(),
            "root_causes": causes,
            "workers": self.worker_shares(now).iter().map(share_json).collect::<Vec<Value>>(),
        });
        if let Some((level, reason)) = self.cancel {
            object["cancelled"] =
                json!({ "level": level_word(level), "reason": reason_word(reason) });
        }
        object
    }

    fn cause_json(&self, cause: &RootCause) -> Value {
        json!({
            "step": cause.step.0,
            "name": self.plan.name(cause.step),
            "reason": self.step(cause.step).and_then(|step| step.reason()),
            "blocked": cause.blocked,
            "cancelled": cause.cancelled,
            "ignored": cause.ignored,
        })
    }
}

/// The share of a worker; `use_percent` is null if its slots are unknown.
fn share_json(share: &WorkerShare<'_>) -> Value {
    json!({
        "worker": share.worker,
        "attempts": share.deliveries,
        "busy_ms": share.busy.as_millis(),
        "use_percent": share.percent,
    })
}

impl StepSummary<'_> {
    /// Returns the step as an object. `now` is the end time for an unfinished step.
    pub fn to_json(self, now: Time) -> Value {
        let plan = &self.summary.plan;
        let needs = plan.needs(self.step).iter().map(|edge| plan.name(edge.step()));
        let tries: Vec<Value> =
            self.deliveries().iter().map(|one| delivery_json(one, now)).collect();
        let mut object = json!({
            "run": self.summary.run.to_string(),
            "step": self.step.0,
            "name": self.name(),
            "status": self.status().word(),
            "needs": needs.collect::<Vec<&str>>(),
            "ready_at": self.ready_at().map(utc),
            "ended_at": self.ended_at().map(utc),
            "wait_ms": self.wait(now).as_millis(),
            "time_ms": self.time(now).as_millis(),
            "attempts": tries,
            "outputs": self.output().map_or(Value::Null, output_json),
        });
        if let Some(reason) = self.reason() {
            object["reason"] = reason.into();
        }
        if let Some(from) = self.reused_from() {
            object["reused_from"] = from.to_string().into();
        }
        if let Some(key) = self.idempotency_key() {
            object["key"] = key.into();
        }
        if let Some(origin) = self.idempotency_origin() {
            object["origin"] = origin.to_json();
        }
        object
    }
}

fn delivery_json(one: &DeliverySummary<'_>, now: Time) -> Value {
    let mut object = json!({
        "attempt": one.attempt,
        "delivery": one.delivery,
        "worker": one.worker,
        "fence": one.fence.0,
        "granted_at": utc(one.granted_at),
        "started_at": one.started_at.map(utc),
        "ended_at": one.ended_at.map(utc),
        "time_ms": one.time(now).as_millis(),
        "outcome": one.outcome.map(|kind| kind.to_string()),
    });
    if let Some(code) = one.exit_code {
        object["exit_code"] = code.into();
    }
    if let Some(why) = one.stop {
        object["stopped"] = why.word().into();
    }
    object
}

/// The outputs as JSON, or as a string if they are not JSON.
fn output_json(output: &StepOutput) -> Value {
    match output {
        StepOutput::None => Value::Null,
        StepOutput::Inline(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()))
        }
        StepOutput::Digest { hash, size } => {
            let hash = blake3::Hash::from_bytes(*hash).to_hex();
            json!({ "blake3": hash.as_str(), "bytes": size })
        }
        StepOutput::Kept(kept) => kept.to_json(),
    }
}

fn utc(at: Time) -> Value {
    UtcTime(at).to_string().into()
}

const fn level_word(level: CancelLevel) -> &'static str {
    match level {
        CancelLevel::Stop => "stop",
        CancelLevel::Kill => "kill",
    }
}

const fn reason_word(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Asked => "asked",
        CancelReason::Deadline => "deadline",
        CancelReason::Defect => "defect",
        CancelReason::Condemned => "condemned",
    }
}
