//! A plan for programs.

use serde_json::{Value, json};
use windlass_core::plan::{LockOrder, PinTarget, Plan, StatusCondition, StepSpec, ValueCondition};
use windlass_core::requirement::RequirementClause;
use windlass_core::time::Span;

use super::expanded_pipeline::retry_on;
use super::plan_outlook::{CellGroup, PlanOutlook, PredictedSkip, StepOutlook};

/// The whole plan as one object. Durations are `…_ms`; every cell is listed.
pub(crate) fn plan_json(outlook: &PlanOutlook<'_>) -> Value {
    let plan = &outlook.expanded.plan;
    let mut waves: Vec<Vec<&str>> = vec![Vec::new(); outlook.waves];
    for step in &outlook.steps {
        waves[step.wave - 1].push(&step.step.name);
    }
    let steps: Vec<Value> = outlook.steps.iter().map(|of| step(plan, of)).collect();
    json!({
        "pipeline": plan.pipeline(),
        "fingerprint": plan.fingerprint().to_string(),
        "params": outlook.expanded.params,
        "timeout_ms": outlook.expanded.timeout.map(Span::as_millis),
        "count": outlook.size(),
        "waves": waves,
        "critical_path": outlook.critical_path,
        "steps": steps,
    })
}

fn step(plan: &Plan, of: &StepOutlook<'_>) -> Value {
    let groups: Vec<Value> = of.groups.iter().map(|of| group(plan, of)).collect();
    json!({
        "step": of.step.name,
        "about": of.step.about,
        "wave": of.wave,
        "needs": of.step.needs,
        "tags": of.step.tags,
        "matrix": of.matrix,
        "count": of.size(),
        "unavailable": of.step.unavailable,
        "groups": groups,
    })
}

fn group(plan: &Plan, group: &CellGroup<'_>) -> Value {
    let cells: Vec<&str> = group.cells.iter().map(|cell| plan.name(*cell)).collect();
    let (skipped, reason) = match &group.skipped {
        None => (None, None),
        Some(PredictedSkip::FalseCondition(condition)) => (Some("if"), Some(condition)),
        Some(PredictedSkip::UnmetRequirement(why)) => (Some("requirement"), Some(why)),
    };
    let mut value = spec(plan, group.spec);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("cells".into(), json!(cells));
        fields.insert("skipped".into(), json!(skipped));
        fields.insert("reason".into(), json!(reason));
    }
    value
}

fn spec(plan: &Plan, spec: &StepSpec) -> Value {
    let locks = spec.locks.iter().map(|lock| {
        let order = match lock.order {
            LockOrder::Fifo => "fifo",
            LockOrder::NewestFirst => "newest-first",
            LockOrder::CancelOlder => "cancel-older",
        };
        json!({ "name": lock.name, "order": order, "slots": plan.lock_slots(&lock.name) })
    });
    let condition = match spec.condition {
        StatusCondition::Success => "success",
        StatusCondition::Failure => "failure",
        StatusCondition::Always => "always",
    };
    let asked = match &spec.when {
        ValueCondition::Holds => None,
        ValueCondition::Fails(text) => Some(&**text),
        ValueCondition::Asks(expression) => Some(&**expression),
    };
    let texts = |clauses: &[RequirementClause]| -> Vec<String> {
        clauses.iter().map(ToString::to_string).collect()
    };
    json!({
        "requires": texts(&spec.placement.requirement.0),
        "prefers": texts(&spec.placement.preferences),
        "pin": (spec.placement.pin == PinTarget::Leader).then_some("leader"),
        "locks": locks.collect::<Vec<_>>(),
        "retry": {
            "times": spec.retry.times,
            "wait_min_ms": spec.retry.wait_min.as_millis(),
            "wait_max_ms": spec.retry.wait_max.as_millis(),
            "on": spec.retry.on.iter().map(|on| retry_on(*on)).collect::<Vec<_>>(),
            "elsewhere": spec.retry.elsewhere,
            "lost": spec.retry.lost,
        },
        "timeout_ms": spec.timeout.map(Span::as_millis),
        "priority": spec.priority,
        "condition": condition,
        "if": asked,
        "per_worker": spec.per_worker,
        "idempotent": spec.idempotency.as_ref().map(|it| &it.key),
    })
}
