//! Events as JSON: the form in the API, the event stream and the SQL tables.
//!
//! ```text
//! {v, pos, run?, at, type, step?, attempt?, delivery?, worker?, fence?, data}
//! ```
//!
//! The envelope is the same for all types; `data` has the fields that only this type has. It contains neither a plan,
//! which is as large as a run, nor an output, which belongs to the user. `step` is the index of the step in its run.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::idempotency_keys::IdempotencyOriginJson;
use super::utc_time::UtcTime;
use crate::access::{AuditEntry, NewToken};
use crate::engine::{
    AncestorStep, CancelLevel, CancelReason, Event, LeaseEndKind, RunOptions, RunOwner,
    RunProgress, StepFollowUp, StepSettlement, UnplaceablePolicy, event,
};
use crate::id::{Fence, RunId, StepIx, TokenId, WorkerId};
use crate::idempotency::IdempotencyOrigin;
use crate::json_form::AsText;
use crate::outcome::{Outcome, StepValue};
use crate::plan::Plan;
use crate::time::{Span, Time};

/// Returns words as a JSON list.
pub fn json_list<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    Value::from_iter(words).to_string()
}

/// The version of the JSON form.
const VERSION: u32 = 1;

/// An event of the journal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Event"))]
pub struct EventJson {
    /// The version of this form.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub v: u32,
    /// The position in the journal.
    pub pos: u64,
    /// When it happened.
    pub at: UtcTime,
    /// The type of the event; `docs/reference/events.md` lists all types with their data.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The id of the run that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<AsText<RunId>>,
    /// The index of the step that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The attempt number of a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u16>,
    /// The delivery number of a grant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<u16>,
    /// The number of the worker that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<AsText<u64>>,
    /// The number of the lease that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<u64>,
    /// The data of this type of event.
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    pub data: Value,
}

impl Event {
    /// Returns the event at a position of the journal, as a JSON object.
    pub fn to_json(&self, position: u64, at: Time) -> Value {
        json!(self.json_form(position, at))
    }

    /// Returns the JSON form of the event at a position of the journal.
    pub fn json_form(&self, position: u64, at: Time) -> EventJson {
        let (step, worker, fence) = self.references();
        let (attempt, delivery) =
            if let Self::Granted(event::Granted { attempt, delivery, .. }) = self {
                (Some(*attempt), Some(*delivery))
            } else {
                (None, None)
            };
        EventJson {
            v: VERSION,
            pos: position,
            at: UtcTime(at),
            kind: self.kind(),
            run: self.run().map(AsText),
            step: step.map(|step| step.0),
            attempt,
            delivery,
            worker: worker.map(|worker| AsText(worker.0)),
            fence: fence.map(|fence| fence.0),
            data: self.data(),
        }
    }

    /// Every word that [`kind`](Self::kind) can return.
    pub const KINDS: [&'static str; 32] = [
        "led",
        "worker_registered",
        "worker_lost",
        "worker_returned",
        "worker_drained",
        "worker_ended",
        "worker_forgotten",
        "braked",
        "run_submitted",
        "run_cancelled",
        "run_ended",
        "run_sealed",
        "run_interrupted",
        "run_resumed",
        "granted",
        "confirmed",
        "started",
        "stop_ordered",
        "lease_ended",
        "backoff_ended",
        "condition_held",
        "step_settled",
        "late_outcome",
        "lock_forced",
        "worker_enrolled",
        "worker_revoked",
        "token_created",
        "token_revoked",
        "acted",
        "key_taken",
        "key_awaited",
        "key_recalled",
    ];

    /// Returns the word for the type of the event.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Led(_) => "led",
            Self::WorkerRegistered(_) => "worker_registered",
            Self::WorkerLost(_) => "worker_lost",
            Self::WorkerReturned(_) => "worker_returned",
            Self::WorkerDrained(_) => "worker_drained",
            Self::WorkerEnded(_) => "worker_ended",
            Self::WorkerForgotten(_) => "worker_forgotten",
            Self::Braked(_) => "braked",
            Self::RunSubmitted(_) => "run_submitted",
            Self::RunCancelled(_) => "run_cancelled",
            Self::RunEnded(_) => "run_ended",
            Self::RunSealed(_) => "run_sealed",
            Self::RunInterrupted(_) => "run_interrupted",
            Self::RunResumed(_) => "run_resumed",
            Self::Granted(_) => "granted",
            Self::Confirmed(_) => "confirmed",
            Self::Started(_) => "started",
            Self::StopOrdered(_) => "stop_ordered",
            Self::LeaseEnded(_) => "lease_ended",
            Self::BackoffEnded(_) => "backoff_ended",
            Self::ConditionHeld(_) => "condition_held",
            Self::StepSettled(_) => "step_settled",
            Self::LateOutcome(_) => "late_outcome",
            Self::LockForced(_) => "lock_forced",
            Self::WorkerEnrolled(_) => "worker_enrolled",
            Self::WorkerRevoked(_) => "worker_revoked",
            Self::TokenCreated(_) => "token_created",
            Self::TokenRevoked(_) => "token_revoked",
            Self::Acted(_) => "acted",
            Self::KeyTaken(_) => "key_taken",
            Self::KeyAwaited(_) => "key_awaited",
            Self::KeyRecalled(_) => "key_recalled",
        }
    }

    /// Adds the step, the worker and the lease that the event names.
    pub const fn references(&self) -> (Option<StepIx>, Option<WorkerId>, Option<Fence>) {
        match self {
            Self::Granted(event::Granted { step, worker, fence, .. }) => {
                (Some(*step), Some(*worker), Some(*fence))
            }
            Self::Confirmed(event::Confirmed { step, fence, .. })
            | Self::Started(event::Started { step, fence, .. })
            | Self::StopOrdered(event::StopOrdered { step, fence, .. })
            | Self::LeaseEnded(event::LeaseEnded { step, fence, .. })
            | Self::LateOutcome(event::LateOutcome { step, fence, .. }) => {
                (Some(*step), None, Some(*fence))
            }
            Self::BackoffEnded(event::BackoffEnded { step, .. })
            | Self::ConditionHeld(event::ConditionHeld { step, .. })
            | Self::StepSettled(event::StepSettled { step, .. })
            | Self::KeyTaken(event::KeyTaken { step, .. })
            | Self::KeyAwaited(event::KeyAwaited { step, .. })
            | Self::KeyRecalled(event::KeyRecalled { step, .. }) => (Some(*step), None, None),
            Self::WorkerRegistered(event::WorkerRegistered { worker, .. })
            | Self::WorkerLost(event::WorkerLost { worker })
            | Self::WorkerReturned(event::WorkerReturned { worker })
            | Self::WorkerDrained(event::WorkerDrained { worker })
            | Self::WorkerEnded(event::WorkerEnded { worker, .. })
            | Self::WorkerForgotten(event::WorkerForgotten { worker })
            | Self::WorkerEnrolled(event::WorkerEnrolled { worker, .. })
            | Self::WorkerRevoked(event::WorkerRevoked { worker }) => (None, Some(*worker), None),
            Self::LockForced(event::LockForced { fence, .. }) => (None, None, Some(*fence)),
            Self::Led(_)
            | Self::Braked(_)
            | Self::RunSubmitted(_)
            | Self::RunCancelled(_)
            | Self::RunEnded(_)
            | Self::RunSealed(_)
            | Self::RunInterrupted(_)
            | Self::RunResumed(_)
            | Self::TokenCreated(_)
            | Self::TokenRevoked(_)
            | Self::Acted(_) => (None, None, None),
        }
    }

    /// Returns the step that the event is about, if it is about one.
    pub const fn step(&self) -> Option<StepIx> {
        self.references().0
    }

    fn data(&self) -> Value {
        match self {
            Self::Led(led) => led_json(led),
            Self::WorkerRegistered(registered) => registered_json(registered),
            Self::WorkerEnded(it) => json!({ "incarnation": it.incarnation.0 }),
            Self::Braked(it) => json!({ "late": it.late, "of": it.of }),
            Self::RunSubmitted(it) => run_submitted_json(&it.plan, &it.options, it.reused.len()),
            Self::RunResumed(it) => run_resumed_json(&it.options, &it.progress),
            Self::RunCancelled(it) => run_cancelled_json(it.level, it.reason),
            Self::RunEnded(it) => json!({ "status": it.status.to_string() }),
            Self::Granted(event::Granted { seq, expires, .. }) => {
                json!({ "seq": seq.0, "expires_at": expires.map(|at| UtcTime(at).to_string()) })
            }
            Self::StopOrdered(it) => json!({ "why": it.why.word() }),
            Self::LeaseEnded(it) => lease_ended_json(&it.outcome, it.next, it.ended),
            Self::StepSettled(it) => settlement_json(&it.settled),
            Self::LateOutcome(it) => Value::Object(outcome_json(&it.outcome)),
            Self::LockForced(it) => json!({ "lock": it.lock }),
            Self::WorkerEnrolled(it) => json!({ "by": it.by.json_form() }),
            Self::TokenCreated(it) => token_json(it.id, &it.token),
            Self::TokenRevoked(it) => json!({ "token": it.id.to_string() }),
            Self::Acted(it) => AuditEntry::data(&it.by, it.act, &it.about),
            Self::KeyTaken(it) => json!({ "key": it.key }),
            Self::KeyAwaited(it) => json!({ "key": it.key, "by": it.by.to_string() }),
            Self::KeyRecalled(it) => key_recalled_json(&it.key, &it.origin),
            Self::WorkerLost(_)
            | Self::WorkerReturned(_)
            | Self::WorkerDrained(_)
            | Self::WorkerForgotten(_)
            | Self::WorkerRevoked(_)
            | Self::RunSealed(_)
            | Self::RunInterrupted(_)
            | Self::Confirmed(_)
            | Self::Started(_)
            | Self::BackoffEnded(_)
            | Self::ConditionHeld(_) => json!({}),
        }
    }
}

fn led_json(led: &event::Led) -> Value {
    let event::Led { term, ttl, generation, own, embargo, .. } = led;
    json!({
        "term": term.0,
        "ttl_ms": ttl.as_millis(),
        "generation": generation,
        "own": own.map(|own| own.0.to_string()),
        "embargo": embargo.map(|until| UtcTime(until).to_string()),
    })
}

fn registered_json(registered: &event::WorkerRegistered) -> Value {
    let event::WorkerRegistered { name, incarnation, labels, slots, locality, scope, .. } =
        registered;
    json!({
        "name": name,
        "incarnation": incarnation.0,
        "labels": labels.iter().collect::<Vec<_>>(),
        "slots": slots,
        "home": locality.word(),
        "scope": scope.word(),
    })
}

/// Returns the description of a token, without the digest of its secret.
fn token_json(id: TokenId, token: &NewToken) -> Value {
    json!({
        "token": id.to_string(),
        "name": token.name,
        "scopes": token.scopes.iter().map(|scope| scope.to_string()).collect::<Vec<_>>(),
        "expires_at": token.expires.map(|at| UtcTime(at).to_string()),
    })
}

fn key_recalled_json(key: &str, origin: &IdempotencyOrigin) -> Value {
    json!({ "key": key, "origin": IdempotencyOriginJson::of(origin) })
}

fn run_submitted_json(plan: &Plan, options: &RunOptions, reused: usize) -> Value {
    let RunOptions { root, keep_going, unplaceable, timeout, owner, parent } = options;
    json!({
        "pipeline": plan.pipeline(),
        "fingerprint": plan.fingerprint().to_string(),
        "steps": plan.step_count(),
        "reused": reused,
        "root": root.map(|root: RunId| root.to_string()),
        "keep_going": keep_going,
        "unplaceable": match unplaceable {
            UnplaceablePolicy::Wait => "wait",
            UnplaceablePolicy::Skip => "skip",
            UnplaceablePolicy::Fail => "fail",
        },
        "timeout_ms": timeout.map(Span::as_millis),
        "owner": owner.map(owner_json),
        "parent": parent.map(|it| json!({ "run": it.run.to_string(), "step": it.step.0 })),
    })
}

/// Returns the data of a resumption. `restored` is the number of steps that had ended.
fn run_resumed_json(options: &RunOptions, progress: &RunProgress) -> Value {
    let ended = progress.steps.iter().filter(|step| step.status.is_terminal());
    json!({
        "submitted_at": UtcTime(progress.submitted_at).to_string(),
        "interrupted_at": UtcTime(progress.interrupted_at).to_string(),
        "restored": ended.count(),
        "timeout_ms": options.timeout.map(Span::as_millis),
        "owner": options.owner.map(owner_json),
    })
}

fn owner_json(owner: RunOwner) -> Value {
    json!({
        "worker": owner.worker.0.to_string(),
        "incarnation": owner.incarnation.0,
        "shares": owner.shares,
    })
}

fn run_cancelled_json(level: CancelLevel, reason: CancelReason) -> Value {
    json!({ "level": level.word(), "reason": reason.word() })
}

fn lease_ended_json(outcome: &Outcome, next: StepFollowUp, ended: LeaseEndKind) -> Value {
    let mut data = outcome_json(outcome);
    let next = match next {
        StepFollowUp::Done(status) => json!({ "done": status.word() }),
        StepFollowUp::Retry { at, avoid } => json!({
            "retry_at": UtcTime(at).to_string(),
            "avoid": avoid.map(|worker| worker.0.to_string()),
        }),
        StepFollowUp::Again { charged } => json!({ "again": { "charged": charged } }),
    };
    data.insert("next".to_owned(), next);
    data.insert("reported".to_owned(), ended.is_reported().into());
    if ended.is_late() {
        data.insert("late".to_owned(), true.into());
    }
    if let Some(ran) = ended.ran() {
        data.insert("ran_ms".to_owned(), ran.as_millis().into());
    }
    data.into()
}

/// Returns how an attempt ended. Of its output it contains only the size, and the location if the output is stored
/// elsewhere.
fn outcome_json(outcome: &Outcome) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("outcome".to_owned(), outcome.kind.to_string().into());
    if let Some(code) = outcome.exit_code {
        data.insert("exit_code".to_owned(), code.into());
    }
    let output = match &outcome.output.value {
        StepValue::None => None,
        StepValue::Inline(text) => Some(json!({ "bytes": text.len() })),
        StepValue::Kept(kept) => Some(kept.to_json()),
    };
    let artifacts = outcome.output.artifacts.map(|manifest| manifest.to_string().into());
    data.extend(output.map(|output| ("output".to_owned(), output)));
    data.extend(artifacts.map(|manifest| ("artifacts".to_owned(), manifest)));
    data
}

fn ancestor_json(step: &AncestorStep) -> Value {
    json!({ "run": step.run.to_string(), "step": step.step.0, "name": step.name })
}

fn settlement_json(settled: &StepSettlement) -> Value {
    let status = settled.status().word();
    let (reason, about) = match settled {
        StepSettlement::SkippedByCondition => ("condition", json!({})),
        StepSettlement::SkippedByValues { why } | StepSettlement::FailedCondition { why } => {
            ("values", json!({ "why": why }))
        }
        StepSettlement::SkippedUnplaceable => ("unplaceable", json!({})),
        StepSettlement::Blocked { cause } => ("need_failed", json!({ "cause": cause.0 })),
        StepSettlement::Withheld { cause } => ("need_could_not_run", json!({ "cause": cause.0 })),
        StepSettlement::CancelledWithRun => ("run_cancelled", json!({})),
        StepSettlement::CancelledByFailure { cause } => ("fail_fast", json!({ "cause": cause.0 })),
        StepSettlement::Superseded { by } => ("superseded", json!({ "by": by.to_string() })),
        StepSettlement::FailedNoWorker => ("no_worker", json!({})),
        StepSettlement::FailedNoLock => ("no_lock", json!({})),
        StepSettlement::FailedTooLarge { bytes } => ("too_large", json!({ "bytes": bytes })),
        StepSettlement::FailedKey { why } => ("bad_key", json!({ "why": why })),
        StepSettlement::FailedNoKey { by } => ("no_key", json!({ "by": by.to_string() })),
        StepSettlement::FailedAncestorLock { lock, holder } => {
            ("ancestor_lock", json!({ "lock": lock, "holder": ancestor_json(holder) }))
        }
        StepSettlement::FailedAncestorKey { key, holder } => {
            ("ancestor_key", json!({ "key": key, "holder": ancestor_json(holder) }))
        }
    };
    let mut data = json!({ "status": status, "reason": reason });
    if let (Value::Object(data), Value::Object(about)) = (&mut data, about) {
        data.extend(about);
    }
    data
}
