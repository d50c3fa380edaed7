//! What the plan says about a step beside its name.

use std::collections::BTreeMap;

use windlass_core::plan::{
    LockOrder, OnFailure, PinTarget, Plan, RetryPolicy, StatusCondition, StepSpec,
};

use super::expanded_pipeline::retry_on;
use super::number_text::{count, listed};
use super::plan_outlook::StepOutlook;
use super::plan_text::DOT;

/// The facts about a step, in the order of a reader's questions.
pub(super) fn step_facts(plan: &Plan, step: &StepOutlook<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    if step.matrix {
        parts.push(count(step.size(), "cell", "cells"));
    }
    if !step.step.needs.is_empty() {
        parts.push(format!("needs {}", listed(&step.step.needs)));
    }
    let aspects: [(&str, CellAspect); 9] = [
        ("", asked),
        ("requires ", requires),
        ("prefers ", prefers),
        ("lock ", locks),
        ("once as ", once),
        ("", retries),
        ("timeout ", timeout),
        ("priority ", priority),
        ("", others),
    ];
    let texts = aspects
        .iter()
        .filter_map(|(word, aspect)| Some(format!("{word}{}", of_groups(plan, step, *aspect)?)));
    parts.extend(texts);
    parts
}

/// A fact about equal cells.
type CellAspect = fn(&Plan, &StepSpec) -> Option<String>;

/// The fact for all groups; where they differ, each with the number of its cells.
fn of_groups(plan: &Plan, step: &StepOutlook<'_>, aspect: CellAspect) -> Option<String> {
    const SHOWN: usize = 4;
    let mut variants: BTreeMap<String, usize> = BTreeMap::new();
    for group in &step.groups {
        if let Some(text) = aspect(plan, group.spec) {
            *variants.entry(text).or_default() += group.cells.len();
        }
    }
    let size = step.size();
    let text = |(text, cells): (&String, &usize)| {
        if *cells == size {
            text.clone()
        } else {
            format!("{text} ({})", count(*cells, "cell", "cells"))
        }
    };
    let mut shown: Vec<String> = variants.iter().take(SHOWN).map(text).collect();
    if variants.len() > SHOWN {
        shown.push(format!("{} more", variants.len() - SHOWN));
    }
    (!shown.is_empty()).then(|| shown.join(" or "))
}

pub(super) fn asked(_: &Plan, spec: &StepSpec) -> Option<String> {
    let status = match spec.condition {
        StatusCondition::Success => None,
        StatusCondition::Failure => Some("only after a failure".to_owned()),
        StatusCondition::Always => Some("always".to_owned()),
    };
    let value = spec.when.expression().map(|question| format!("if {question}"));
    let parts: Vec<String> = status.into_iter().chain(value).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

pub(super) fn requires(_: &Plan, spec: &StepSpec) -> Option<String> {
    let requirement = &spec.placement.requirement;
    (!requirement.0.is_empty()).then(|| requirement.to_string())
}

pub(super) fn prefers(_: &Plan, spec: &StepSpec) -> Option<String> {
    let clauses: Vec<String> = spec.placement.preferences.iter().map(ToString::to_string).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

pub(super) fn once(_: &Plan, spec: &StepSpec) -> Option<String> {
    spec.idempotency.as_ref().map(|it| it.key.to_string())
}

pub(super) fn locks(plan: &Plan, spec: &StepSpec) -> Option<String> {
    let lock = |of: &windlass_core::plan::LockUse| {
        let order = match of.order {
            LockOrder::Fifo => "",
            LockOrder::NewestFirst => ", newest first",
            LockOrder::CancelOlder => ", cancels older",
        };
        let slots = match plan.lock_slots(&of.name) {
            1 => String::new(),
            slots => format!(", {slots} slots"),
        };
        let more = format!("{slots}{order}");
        let more = more.trim_start_matches(", ");
        if more.is_empty() { of.name.to_string() } else { format!("{} ({more})", of.name) }
    };
    let names: Vec<String> = spec.locks.iter().map(lock).collect();
    (!names.is_empty()).then(|| listed(&names))
}

fn retries(_: &Plan, spec: &StepSpec) -> Option<String> {
    let (retry, base) = (&spec.retry, RetryPolicy::default());
    let mut parts = Vec::new();
    if retry.times > 0 {
        let (min, max) = (retry.wait_min, retry.wait_max);
        let wait = if min == max { min.to_string() } else { format!("{min}..{max}") };
        let waits = (min, max) != (base.wait_min, base.wait_max);
        parts.push(
            format!("retry {}", retry.times)
                + &if waits { format!(" after {wait}") } else { String::new() },
        );
        let on: Vec<String> = retry.on.iter().map(|on| retry_on(*on)).collect();
        if !on.is_empty() {
            parts.push(format!("on {}", on.join(" or ")));
        }
        if retry.elsewhere {
            parts.push("on another worker".to_owned());
        }
    }
    if retry.lost == 0 {
        parts.push("never dispatched twice".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

pub(super) fn timeout(_: &Plan, spec: &StepSpec) -> Option<String> {
    spec.timeout.map(|span| span.to_string())
}

pub(super) fn priority(_: &Plan, spec: &StepSpec) -> Option<String> {
    (spec.priority != 0).then(|| spec.priority.to_string())
}

pub(super) fn others(_: &Plan, spec: &StepSpec) -> Option<String> {
    let pinned = (spec.placement.pin == PinTarget::Leader).then(|| "on the leader".to_owned());
    let ignored = (spec.on_failure == OnFailure::Ignore).then(|| "failure ignored".to_owned());
    let limited = spec.per_worker.map(|count| format!("{count} per worker"));
    let parts: Vec<String> = [pinned, ignored, limited].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(DOT))
}
