//! Renders a step's settings and defaults to the spec for the engine.

use std::collections::BTreeSet;
use std::ops::Range;

use super::condition::{condition, idempotency};
use super::plan_time_renderer::PlanTimeRenderer;
use crate::display_text::{NAME_MAX, is_displayable, quoted};
use crate::id::StepIx;
use crate::plan::{LockUse, OnFailure, Placement, REPEATS_MAX, RetryPolicy, StepSpec};
use crate::problem::{Problem, ProblemCode};
use crate::requirement::{Requirement, RequirementAtom, RequirementClause};
use crate::spec::{
    ActionDecl, NodeFilter, PER_WORKER, PRIORITY, SpannedSetting, SpannedTemplate, StepDecl,
    StepSettings, ValueShape, duration_range, parse_duration, parse_positive_duration, retry_on,
    scalar_number,
};
use crate::time::Span;

/// Creates the spec of a step or of one of its cells.
pub(super) fn step_spec(
    known: &mut PlanTimeRenderer<'_>,
    step: &StepDecl,
    defaults: &StepSettings,
    reads: &[StepIx],
) -> StepSpec {
    let base = StepSpec::default();
    let own = &step.settings;
    let (condition, when) = condition(known, step.condition.as_ref());
    let idempotency = idempotency(known, step.idempotency_key.as_ref(), &when);
    let mut span =
        |own: &Option<SpannedSetting<Span>>, default: &Option<SpannedSetting<Span>>, key: &str| {
            let setting = own.as_ref().or(default.as_ref());
            known.setting(setting, (key, ValueShape::Duration), |text| parse_duration(text).ok())
        };
    let kill_grace = span(&own.kill_grace, &defaults.kill_grace, "kill_grace");
    let wait_for_worker = span(&own.wait_for_worker, &defaults.wait_for_worker, "wait_for_worker");
    let wait_for_lock = span(&own.wait_for_lock, &defaults.wait_for_lock, "wait_for_lock");
    let timeout = own.timeout.as_ref().or(defaults.timeout.as_ref());
    let timeout = known.setting(timeout, ("timeout", ValueShape::PositiveDuration), |text| {
        parse_positive_duration(text).ok()
    });
    let ignore = own.ignore_failure.or(defaults.ignore_failure).unwrap_or(false);
    StepSpec {
        placement: placement(known, step, defaults),
        locks: locks(known, step),
        retry: retry(known, own.retry.as_ref().or(defaults.retry.as_ref())),
        timeout,
        kill_grace: kill_grace.unwrap_or(base.kill_grace),
        priority: priority(known, own.priority.as_ref().or(defaults.priority.as_ref())),
        condition,
        when,
        idempotency,
        reads: reads.to_vec(),
        on_failure: if ignore { OnFailure::Ignore } else { OnFailure::Fail },
        per_worker: count(known, step.per_worker.as_ref()),
        wait_for_worker: wait_for_worker.unwrap_or(base.wait_for_worker),
        wait_for_lock: wait_for_lock.unwrap_or(base.wait_for_lock),
        on_lost_contact: own.on_lost_contact.or(defaults.on_lost_contact).unwrap_or_default(),
        carries_files: false,
    }
}

/// Adds the labels that a cell requires: `os=linux`, or the value itself in the list form.
pub(super) fn require_labels(spec: &mut StepSpec, labels: impl IntoIterator<Item = String>) {
    let clauses = &mut spec.placement.requirement.0;
    for clause in
        labels.into_iter().map(|label| RequirementClause(vec![RequirementAtom::has(&label)]))
    {
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    }
}

fn placement(
    known: &mut PlanTimeRenderer<'_>,
    step: &StepDecl,
    defaults: &StepSettings,
) -> Placement {
    let own = &step.settings;
    let requires = own.requires.as_ref().or(defaults.requires.as_ref());
    let prefers = own.prefers.as_ref().or(defaults.prefers.as_ref());
    let mut clauses =
        |written: Option<&Vec<SpannedSetting<RequirementClause>>>, key| -> Vec<RequirementClause> {
            let read = |text: &str| Requirement::parse(text).ok();
            let shape = (key, ValueShape::Requirement);
            let written = written.into_iter().flatten();
            written.filter_map(|clause| known.setting(Some(clause), shape, read)).collect()
        };
    let mut requirement = Requirement(clauses(requires, "requires"));
    if let ActionDecl::Call(call) = &step.action {
        requirement
            .0
            .push(RequirementClause(vec![RequirementAtom::has(&call.target.value.label())]));
    }
    let preferences = clauses(prefers, "prefers");
    let none = NodeFilter::default();
    let nodes = step.settings.nodes.as_ref().or(defaults.nodes.as_ref()).unwrap_or(&none);
    let mut names = |texts: &[SpannedTemplate]| -> Vec<Box<str>> {
        let mut names = Vec::new();
        for text in texts {
            match known.text(text) {
                Some(name) if !is_displayable(&name) => {
                    Problem::add(known.problems, bad_rendered_name("worker", &name, &text.span));
                }
                name => names.extend(name.map(Into::into)),
            }
        }
        names
    };
    let (allow, deny) = (names(&nodes.allow), names(&nodes.deny));
    Placement { requirement, preferences, pin: step.pin, allow, deny }
}

/// Reports an invalid rendered name; such names are displayed in tables of locks and workers.
pub(super) fn bad_rendered_name(what: &str, name: &str, span: &Range<usize>) -> Problem {
    let title = format!("{} is not a valid name for a {what}", quoted(name));
    let help =
        format!("a name has 1 to {NAME_MAX} bytes, without line breaks and control characters");
    Problem::new(ProblemCode::BadName, span.clone(), title).help(help)
}

fn locks(known: &mut PlanTimeRenderer<'_>, step: &StepDecl) -> Vec<LockUse> {
    let mut locks: Vec<LockUse> = Vec::new();
    let mut seen = BTreeSet::new();
    for lock in &step.locks {
        let Some(name) = known.text(&lock.name) else { continue };
        if name.trim_start_matches("./").is_empty() {
            let problem =
                Problem::new(ProblemCode::Empty, lock.name.span.clone(), "a lock requires a name");
            Problem::add(known.problems, problem);
        } else if !is_displayable(&name) {
            Problem::add(known.problems, bad_rendered_name("lock", &name, &lock.name.span));
        } else if !seen.insert(name.clone()) {
            let title = format!("`{}` takes the lock `{name}` twice", step.name.value);
            Problem::add(
                known.problems,
                Problem::new(ProblemCode::Twice, lock.name.span.clone(), title),
            );
        } else {
            locks.push(LockUse { name: name.into(), order: lock.order });
        }
    }
    locks
}

fn retry(
    known: &mut PlanTimeRenderer<'_>,
    written: Option<&crate::spec::RetryDecl>,
) -> RetryPolicy {
    let base = RetryPolicy::default();
    let Some(written) = written else { return base };
    let waits = (base.wait_min, base.wait_max);
    let wait = known.setting(written.wait.as_ref(), ("wait", ValueShape::DurationRange), |text| {
        duration_range(text).ok()
    });
    let (wait_min, wait_max) = wait.unwrap_or(waits);
    let mut times = |setting: Option<&SpannedSetting<u16>>, key: &str| {
        let shape = ValueShape::Number(0, i64::from(REPEATS_MAX));
        known.setting(setting, (key, shape), |text| scalar_number(text, shape))
    };
    let (lost, again) =
        (times(written.lost.as_ref(), "lost"), times(written.times.as_ref(), "retry"));
    let on = written.on.iter();
    RetryPolicy {
        times: again.unwrap_or(0),
        wait_min,
        wait_max,
        on: on
            .filter_map(|on| known.setting(Some(on), ("on", ValueShape::RetryOn), retry_on))
            .collect(),
        elsewhere: written.elsewhere,
        lost: lost.unwrap_or(base.lost),
    }
}

fn priority(known: &mut PlanTimeRenderer<'_>, setting: Option<&SpannedSetting<i32>>) -> i32 {
    let shape = (PRIORITY.name, PRIORITY.shape);
    known.setting(setting, shape, |text| scalar_number(text, shape.1)).unwrap_or(0)
}

fn count(known: &mut PlanTimeRenderer<'_>, setting: Option<&SpannedSetting<u32>>) -> Option<u32> {
    let shape = (PER_WORKER.name, PER_WORKER.shape);
    known.setting(setting, shape, |text| scalar_number(text, shape.1))
}
