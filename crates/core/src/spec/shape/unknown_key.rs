//! A key that nothing knows: what it is called here, what it looks like, or where it belongs.

use super::command_forms;
use crate::problem::{Problem, ProblemCode, SourceFile, SuggestedFix};
use crate::spec::keys::{KeySpec, LOCK, MATRIX, NODES, ObjectKeys, PIPELINE, RETRY, STEP};
use crate::spec::names::nearest_name;
use crate::spec::yaml::{YamlEntry, YamlNode};

/// Tells about an unknown key; `fits` says whether the value could stand behind a key.
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
        format!("`{text}` is no key of {owner}"),
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
        let problem = problem.label(format!("it is called `{}` here", key.name));
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
                format!("{owner} has {}; keys that begin with `x-` are yours", names.join(", "))
            }
            _ => {
                "`windlass schema` lists every key; keys that begin with `x-` are yours".to_owned()
            }
        }
    }))
}

/// Keys that are still a help when all are listed.
const LISTED_MAX: usize = 12;

/// The line where the value has another form here: a number that the key gave its unit, or a list of commands.
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

/// What other tools have and windlass does in another way.
fn alternative_hint(object: &ObjectKeys, entry: &YamlEntry<'_>) -> Option<&'static str> {
    Some(match (object.name, &*entry.key.text) {
        ("pipeline", "on" | "schedule" | "trigger" | "triggers" | "cron") => {
            "a run begins when `windlass run` is called: let cron, a hook or a CI service do that"
        }
        ("pipeline", "version") => "leave it out: the file needs no version",
        ("pipeline", "stages") => "there are no stages: each step says what it `needs`",
        ("pipeline", key) if is_unknown_everywhere(key) && is_like_a_step(&entry.value) => {
            "this looks like a step: put it below `steps:`"
        }
        ("step", "stage") => "there are no stages: a step says what it `needs`",
        ("step", "steps") => {
            "a step has no steps: put its commands behind `run: |`, or make each a step with `needs`"
        }
        ("step", "strategy") => {
            "put the axes right below `matrix:`, without a `strategy` around it"
        }
        ("step", "with") => "hand values over as `env:`, and read the variables",
        ("step" | "defaults", "before_script" | "after_script") => {
            "put these commands into `run: |`, before or behind the others"
        }
        // Its values name images of a service, which no machine here has for a label.
        ("step" | "defaults", "runs-on") => {
            "it is called `requires` here, and takes labels of machines, such as `linux` or `cpu>=4`; `windlass doctor` lists this one's"
        }
        ("lock", "slots" | "limit" | "max") => {
            "the slots of a lock stand at the top of the file: `locks: { NAME: 2 }`"
        }
        ("matrix", "fail-fast" | "fail_fast") => {
            "a run ends at its first failure unless it is called with `--keep-going`"
        }
        ("matrix", "max-parallel" | "max_parallel") => {
            "give the step a `lock:`, and the lock as many slots: `locks: { NAME: 2 }`"
        }
        _ => return None,
    })
}

/// Whether the name is taken for an axis though it is none.
pub(super) fn is_no_axis(object: &ObjectKeys, entry: &YamlEntry<'_>) -> bool {
    object.name == MATRIX.name && alternative_hint(object, entry).is_some()
}

/// Whether nothing in the file is called so, here or elsewhere.
fn is_unknown_everywhere(key: &str) -> bool {
    PIPELINE.by_foreign_name(key).is_none() && STEP.key(key).is_none()
}

fn is_like_a_step(value: &YamlNode<'_>) -> bool {
    let does =
        |key: &str| STEP.by_foreign_name(key).is_some_and(|key| STEP_ONLY_KEYS.contains(&key.name));
    value.entries().iter().any(|entry| does(&entry.key.text))
}

/// Keys that nothing but a step has.
const STEP_ONLY_KEYS: &[&str] = &["run", "call", "needs", "image"];

/// Where the key has its place.
fn right_place(object: &ObjectKeys, key: &str) -> Option<String> {
    let below = [&RETRY, &LOCK, &MATRIX, &NODES].into_iter().find(|other| other.key(key).is_some());
    match (object.name, below) {
        ("pipeline", _) if STEP.key(key).is_some() => {
            Some(format!("`{key}` belongs into a step, below `steps:`"))
        }
        ("step", _) if PIPELINE.key(key).is_some() => {
            Some(format!("`{key}` belongs to the top of the file"))
        }
        ("defaults", _) if STEP.key(key).is_some() => {
            Some(format!("`{key}` has no default: write it in the step"))
        }
        ("step" | "defaults", Some(other)) => Some(format!(
            "`{key}` belongs below `{name}`: write `{name}: {{ {key}: … }}`",
            name = other.name
        )),
        _ => None,
    }
}
