//! Unknown keys: suggests the windlass name, a similar key, or the right location.

use super::command_forms;
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::keys::{KeySpec, LOCK, MATRIX, NODES, ObjectKeys, PIPELINE, RETRY, STEP};
use crate::spec::names::nearest_name;
use crate::spec::yaml::{YamlEntry, YamlNode};

/// Builds the problem of an unknown key; `fits` tells whether the value is valid for a key.
pub(super) fn unknown_key(
    source: &SourceFile,
    object: &'static ObjectKeys,
    entry: &YamlEntry<'_>,
    fits: impl Fn(&'static KeySpec) -> bool,
) -> Problem {
    let (text, span) = (&*entry.key.text, &entry.key.span);
    let owner = object.with_article();
    let problem = Problem::new(
        ProblemCode::UnknownKey,
        span.clone(),
        format!("unknown key `{text}` in {owner}"),
    );
    let renamed = |problem: Problem, key: &'static KeySpec| {
        let fix = fits(key).then(|| SuggestedFix::replace(source, span, key.name)).flatten();
        problem.fix(fix)
    };
    if let Some(help) = alternative_hint(object, entry) {
        return problem.help(help);
    }
    if let Some(key) = object.by_foreign_name(text) {
        let doc = key.doc;
        let problem = problem.label(format!("windlass calls it `{}`", key.name));
        let problem = renamed(problem.help(format!("`{}`: {doc}", key.name)), key);
        let fix = rewritten(source, entry, key);
        return if fix.is_some() { problem.fix(fix) } else { problem };
    }
    let names = object.keys.iter().map(|key| key.name);
    if let Some(key) = nearest_name(text, names.clone()).and_then(|name| object.key(name)) {
        return renamed(problem.label(format!("did you mean `{}`?", key.name)), key);
    }
    problem.help(right_place(object, text).unwrap_or_else(|| {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        match names.len() {
            0..=LISTED_MAX => {
                format!("the keys are {}; keys that begin with `x-` are free for your own use", names.join(", "))
            }
            _ => {
                "`windlass schema` lists all keys; keys that begin with `x-` are free for your own use".to_owned()
            }
        }
    }))
}

/// Maximum keys listed in a help text.
const LISTED_MAX: usize = 12;

/// Rewrites a value that has another form in windlass: a number whose unit was in the key, or a list of commands.
fn rewritten(
    source: &SourceFile,
    entry: &YamlEntry<'_>,
    key: &'static KeySpec,
) -> Option<SuggestedFix> {
    let word = entry.key.text.to_lowercase();
    match key.name {
        "run" => command_forms::one_command_per_line(source, &entry.key.text, &entry.value),
        "timeout" => {
            let unit = if word.contains("sec") { "s" } else { "m" };
            let named = word.contains("sec") || word.contains("min");
            let number = entry.value.as_text()?.parse::<u32>().ok().filter(|_| named)?;
            let whole = entry.key.span.start..entry.value.span.end;
            SuggestedFix::replace(source, &whole, &format!("timeout: {number}{unit}"))
        }
        _ => None,
    }
}

/// Help for features of other tools that windlass does differently.
fn alternative_hint(object: &ObjectKeys, entry: &YamlEntry<'_>) -> Option<&'static str> {
    Some(match (object.name, &*entry.key.text) {
        ("pipeline", "on" | "schedule" | "trigger" | "triggers" | "cron") => {
            "`windlass run` starts a run: call it from cron, a hook or a CI service"
        }
        ("pipeline", "version") => "remove it: the file needs no version",
        ("pipeline", "stages") => "windlass has no stages: list the `needs` of each step",
        ("pipeline", key) if is_unknown_everywhere(key) && is_like_a_step(&entry.value) => {
            "this looks like a step: move it under `steps:`"
        }
        ("step", "stage") => "windlass has no stages: list the `needs` of the step",
        ("step", "steps") => {
            "steps cannot be nested: put the commands under `run: |`, or make each a step with `needs`"
        }
        ("step", "strategy") => "put the axes directly under `matrix:`, without `strategy`",
        ("step", "with") => "pass values in `env:`, and read the variables",
        ("step" | "defaults", "before_script" | "after_script") => {
            "put these commands into `run: |`, before or after the others"
        }
        // Its values name images of a CI service; no worker has them as labels.
        ("step" | "defaults", "runs-on") => {
            "windlass calls it `requires`; it takes labels of workers, such as `linux` or `cpu>=4`; `windlass doctor` lists the labels of this machine"
        }
        ("lock", "slots" | "limit" | "max") => {
            "set the slots of a lock at the top of the file: `locks: { NAME: 2 }`"
        }
        ("matrix", "fail-fast" | "fail_fast") => {
            "a run stops at its first failure; use `--keep-going` to continue"
        }
        ("matrix", "max-parallel" | "max_parallel") => {
            "add a `lock:` to the step, and set its slots at the top of the file: `locks: { NAME: 2 }`"
        }
        _ => return None,
    })
}

/// Whether the key looks like an axis but is a known option of other tools.
pub(super) fn is_no_axis(object: &ObjectKeys, entry: &YamlEntry<'_>) -> bool {
    object.name == MATRIX.name && alternative_hint(object, entry).is_some()
}

/// Whether no key at any level has this name.
fn is_unknown_everywhere(key: &str) -> bool {
    PIPELINE.by_foreign_name(key).is_none() && STEP.key(key).is_none()
}

fn is_like_a_step(value: &YamlNode<'_>) -> bool {
    let does =
        |key: &str| STEP.by_foreign_name(key).is_some_and(|key| STEP_ONLY_KEYS.contains(&key.name));
    value.entries().iter().any(|entry| does(&entry.key.text))
}

/// Keys that only steps have.
const STEP_ONLY_KEYS: &[&str] = &["run", "call", "needs", "image"];

/// Describes where the key belongs.
fn right_place(object: &ObjectKeys, key: &str) -> Option<String> {
    let below = [&RETRY, &LOCK, &MATRIX, &NODES].into_iter().find(|other| other.key(key).is_some());
    match (object.name, below) {
        ("pipeline", _) if STEP.key(key).is_some() => {
            Some(format!("`{key}` belongs into a step, under `steps:`"))
        }
        ("step", _) if PIPELINE.key(key).is_some() => {
            Some(format!("`{key}` belongs at the top of the file"))
        }
        ("defaults", _) if STEP.key(key).is_some() => {
            Some(format!("`{key}` cannot have a default: write it in the step"))
        }
        ("step" | "defaults", Some(other)) => Some(format!(
            "`{key}` belongs under `{name}`: write `{name}: {{ {key}: … }}`",
            name = other.name
        )),
        _ => None,
    }
}
