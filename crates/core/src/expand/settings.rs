//! A step's settings, or the defaults in their place, become what the engine knows of it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::condition::{condition, once};
use super::render::Known;
use crate::id::StepIx;
use crate::plan::{LockUse, OnFailure, Placement, REPEATS_MAX, Retry, StepSpec};
use crate::problem::{Code, Problem};
use crate::requirement::{Atom, Clause, Requirement};
use crate::shown::{NAME_MAX, is_plain, quoted};
use crate::spec::{
    Action, Nodes, Setting, Settings, Shape, Step, Text, duration, limit, retry_on, scalar_number,
    wait,
};
use crate::time::Span;

/// What the engine knows of a step, or of one cell of it.
pub(super) fn spec(
    known: &mut Known<'_>,
    step: &Step,
    defaults: &Settings,
    reads: &[StepIx],
) -> StepSpec {
    let base = StepSpec::default();
    let own = &step.settings;
    let (condition, when) = condition(known, step.condition.as_ref());
    let when = once(known, step.once.as_ref(), when);
    let mut span = |own: &Option<Setting<Span>>, default: &Option<Setting<Span>>, key: &str| {
        let setting = own.as_ref().or(default.as_ref());
        known.setting(setting, (key, Shape::Duration), |text| duration(text).ok())
    };
    let kill_grace = span(&own.kill_grace, &defaults.kill_grace, "kill_grace");
    let wait_for_worker = span(&own.wait_for_worker, &defaults.wait_for_worker, "wait_for_worker");
    let wait_for_lock = span(&own.wait_for_lock, &defaults.wait_for_lock, "wait_for_lock");
    let timeout = own.timeout.as_ref().or(defaults.timeout.as_ref());
    let timeout = known.setting(timeout, ("timeout", Shape::Limit), |text| limit(text).ok());
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
        reads: reads.to_vec(),
        on_failure: if ignore { OnFailure::Ignore } else { OnFailure::Fail },
        per_worker: count(known, step.per_worker.as_ref()),
        wait_for_worker: wait_for_worker.unwrap_or(base.wait_for_worker),
        wait_for_lock: wait_for_lock.unwrap_or(base.wait_for_lock),
        on_lost_contact: own.on_lost_contact.or(defaults.on_lost_contact).unwrap_or_default(),
    }
}

/// The labels that a cell's values demand: `os=linux`, or the value itself in the list form.
pub(super) fn route(spec: &mut StepSpec, labels: impl IntoIterator<Item = String>) {
    let clauses = &mut spec.placement.requirement.0;
    for clause in labels.into_iter().map(|label| Clause(vec![Atom::has(&label)])) {
        if !clauses.contains(&clause) {
            clauses.push(clause);
        }
    }
}

fn placement(known: &mut Known<'_>, step: &Step, defaults: &Settings) -> Placement {
    let own = &step.settings;
    let requires = own.requires.as_ref().or(defaults.requires.as_ref());
    let prefers = own.prefers.as_ref().or(defaults.prefers.as_ref());
    let mut clauses = |written: Option<&Vec<Setting<Clause>>>, key| -> Vec<Clause> {
        let read = |text: &str| Requirement::parse(text).ok();
        let shape = (key, Shape::Requirement);
        let written = written.into_iter().flatten();
        written.filter_map(|clause| known.setting(Some(clause), shape, read)).collect()
    };
    let mut demands = Requirement(clauses(requires, "requires"));
    if let Action::Call(call) = &step.action {
        demands.0.push(Clause(vec![Atom::has(&call.target.value.label())]));
    }
    let requirement =
        clauses(prefers, "prefers").into_iter().fold(demands, Requirement::preferring);
    let none = Nodes::default();
    let nodes = step.settings.nodes.as_ref().or(defaults.nodes.as_ref()).unwrap_or(&none);
    let mut names = |texts: &[Text]| -> Vec<Box<str>> {
        let mut names = Vec::new();
        for text in texts {
            match known.text(text) {
                Some(name) if !is_plain(&name) => {
                    Problem::add(known.problems, unfit("worker", &name, &text.span));
                }
                name => names.extend(name.map(Into::into)),
            }
        }
        names
    };
    let (allow, deny) = (names(&nodes.allow), names(&nodes.deny));
    Placement { requirement, pin: step.pin, allow, deny }
}

/// It is shown in tables of locks and workers.
pub(super) fn unfit(what: &str, name: &str, span: &Range<usize>) -> Problem {
    let title = format!("{} is no name for a {what}", quoted(name));
    let help =
        format!("it has 1 to {NAME_MAX} bytes, and no line breaks or other control characters");
    Problem::new(Code::BadName, span.clone(), title).help(help)
}

fn locks(known: &mut Known<'_>, step: &Step) -> Vec<LockUse> {
    let mut locks: Vec<LockUse> = Vec::new();
    let mut seen = BTreeSet::new();
    for lock in &step.locks {
        let Some(name) = known.text(&lock.name) else { continue };
        if name.trim_start_matches("./").is_empty() {
            let problem = Problem::new(Code::Empty, lock.name.span.clone(), "a lock needs a name");
            Problem::add(known.problems, problem);
        } else if !is_plain(&name) {
            Problem::add(known.problems, unfit("lock", &name, &lock.name.span));
        } else if !seen.insert(name.clone()) {
            let title = format!("`{}` takes the lock `{name}` twice", step.name.value);
            Problem::add(known.problems, Problem::new(Code::Twice, lock.name.span.clone(), title));
        } else {
            locks.push(LockUse { name: name.into(), order: lock.order });
        }
    }
    locks
}

fn retry(known: &mut Known<'_>, written: Option<&crate::spec::Retry>) -> Retry {
    let base = Retry::default();
    let Some(written) = written else { return base };
    let waits = (base.wait_min, base.wait_max);
    let wait = known.setting(written.wait.as_ref(), ("wait", Shape::Wait), |text| wait(text).ok());
    let (wait_min, wait_max) = wait.unwrap_or(waits);
    let mut times = |setting: Option<&Setting<u16>>, key: &str| {
        let shape = Shape::Number(0, i64::from(REPEATS_MAX));
        known.setting(setting, (key, shape), |text| scalar_number(text, shape))
    };
    let (lost, again) =
        (times(written.lost.as_ref(), "lost"), times(written.times.as_ref(), "retry"));
    let on = written.on.iter();
    Retry {
        times: again.unwrap_or(0),
        wait_min,
        wait_max,
        on: on.filter_map(|on| known.setting(Some(on), ("on", Shape::RetryOn), retry_on)).collect(),
        elsewhere: written.elsewhere,
        lost: lost.unwrap_or(base.lost),
    }
}

fn priority(known: &mut Known<'_>, setting: Option<&Setting<i32>>) -> i32 {
    let shape = ("priority", Shape::Number(-1_000_000, 1_000_000));
    known.setting(setting, shape, |text| scalar_number(text, shape.1)).unwrap_or(0)
}

fn count(known: &mut Known<'_>, setting: Option<&Setting<u32>>) -> Option<u32> {
    let shape = ("per_worker", Shape::Number(1, 1_000_000));
    known.setting(setting, shape, |text| scalar_number(text, shape.1))
}
