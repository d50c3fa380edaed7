//! Fills the JSON form of a run from its summary: one object for the run, one for each step.

use serde_json::{Value, json};

use super::cause::RootCause;
use super::delivery_summary::DeliverySummary;
use super::run_json::{AttemptJson, CancelJson, RootCauseJson, RunJson, StepJson, WorkerShareJson};
use super::run_summary::RunSummary;
use super::step_summary::StepSummary;
use super::worker_share::WorkerShare;
use crate::json_form::{AsText, AsWord};
use crate::outcome::{StepOutput, StepValue};
use crate::report::{IdempotencyOriginJson, UtcTime};
use crate::time::Time;

impl RunSummary {
    /// The run as a JSON object, with the number of its steps. `now` is the end time for an unfinished run.
    pub fn to_json(&self, now: Time) -> Value {
        json!(self.json_form(self.plan.step_count(), now))
    }

    /// The JSON form of the run with these steps. `now` is the end time for an unfinished run.
    pub fn json_form<S>(&self, steps: S, now: Time) -> RunJson<'_, S> {
        let counts = self.status_counts.iter().map(|(status, count)| (AsWord(status), count));
        let causes = self.root_causes();
        let cancelled =
            |(level, reason)| CancelJson { level: AsWord(level), reason: AsWord(reason) };
        RunJson {
            id: AsText(self.run),
            pipeline: self.plan.pipeline(),
            fingerprint: AsText(self.plan.fingerprint()),
            status: AsWord(self.status),
            created_at: UtcTime(self.submitted_at),
            ended_at: self.ended_at.map(UtcTime),
            wall_ms: self.wall_time(now).as_millis(),
            steps,
            counts: counts.collect(),
            interruptions: self.interruptions(),
            interrupted_ms: self.interrupted_time().as_millis(),
            root_causes: causes.iter().map(|cause| self.cause_json(cause)).collect(),
            workers: self.worker_shares(now).iter().map(share_json).collect(),
            cancelled: self.cancel.map(cancelled),
        }
    }

    fn cause_json(&self, cause: &RootCause) -> RootCauseJson<'_> {
        RootCauseJson {
            step: cause.step.0,
            name: self.plan.name(cause.step),
            reason: self.step(cause.step).and_then(|step| step.reason()),
            blocked: cause.blocked,
            cancelled: cause.cancelled,
            ignored: cause.ignored,
        }
    }
}

const fn share_json<'a>(share: &WorkerShare<'a>) -> WorkerShareJson<'a> {
    WorkerShareJson {
        worker: share.worker,
        attempts: share.deliveries,
        busy_ms: share.busy.as_millis(),
        use_percent: share.percent,
    }
}

impl<'a> StepSummary<'a> {
    /// The step as a JSON object. `now` is the end time for an unfinished step.
    pub fn to_json(self, now: Time) -> Value {
        json!(self.json_form(now))
    }

    /// The JSON form of the step. `now` is the end time for an unfinished step.
    pub fn json_form(self, now: Time) -> StepJson<'a> {
        let plan = &self.summary.plan;
        StepJson {
            run: AsText(self.summary.run),
            step: self.step.0,
            name: self.name(),
            status: AsWord(self.status()),
            reason: self.reason(),
            reused_from: self.reused_from().map(AsText),
            key: self.idempotency_key(),
            origin: self.idempotency_origin().map(IdempotencyOriginJson::of),
            needs: plan.needs(self.step).iter().map(|edge| plan.name(edge.step())).collect(),
            ready_at: self.ready_at().map(UtcTime),
            ended_at: self.ended_at().map(UtcTime),
            wait_ms: self.wait(now).as_millis(),
            time_ms: self.time(now).as_millis(),
            attempts: self.deliveries().iter().map(|one| attempt_json(one, now)).collect(),
            outputs: self.output().map_or(Value::Null, output_json),
        }
    }
}

fn attempt_json<'a>(one: &DeliverySummary<'a>, now: Time) -> AttemptJson<'a> {
    AttemptJson {
        attempt: one.attempt,
        delivery: one.delivery,
        worker: one.worker,
        fence: one.fence.0,
        granted_at: UtcTime(one.granted_at),
        started_at: one.started_at.map(UtcTime),
        ended_at: one.ended_at.map(UtcTime),
        time_ms: one.time(now).as_millis(),
        outcome: one.outcome.map(AsWord),
        exit_code: one.exit_code,
        stopped: one.stop.map(AsWord),
    }
}

/// The outputs as JSON, or as a string if they are not JSON.
fn output_json(output: &StepOutput) -> Value {
    match &output.value {
        StepValue::None => Value::Null,
        StepValue::Inline(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()))
        }
        StepValue::Kept(kept) => kept.to_json(),
    }
}
