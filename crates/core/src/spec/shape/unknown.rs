//! A key that nothing knows: what it is called here, what it looks like, or where it belongs.

use crate::problem::{Code, Fix, Problem, Source};
use crate::spec::keys::{Key, LOCK, MATRIX, NODES, Object, PIPELINE, RETRY, STEP};
use crate::spec::names::nearest;
use crate::spec::tree::Entry;

/// Tells about an unknown key; `fits` says whether the value could stand behind a key.
pub(super) fn key(
    source: &Source,
    object: &'static Object,
    entry: &Entry<'_>,
    fits: impl Fn(&'static Key) -> bool,
) -> Problem {
    let (text, span) = (&*entry.key.text, &entry.key.span);
    let owner = object.one();
    let problem =
        Problem::new(Code::UnknownKey, span.clone(), format!("`{text}` is no key of {owner}"));
    let renamed = |problem: Problem, key: &'static Key| {
        let fix = fits(key).then(|| Fix::replace(source, span, key.name)).flatten();
        problem.fix(fix)
    };
    if let Some(key) = object.by_foreign(text) {
        if text == "runs-on" {
            // Its values name images of a service, which no machine here has for a label.
            return problem.label("it is called `requires` here").help(
                "`requires` takes labels of machines, such as `linux` or `cpu>=4`; `windlass doctor` lists this one's",
            );
        }
        let doc = key.doc;
        let problem = problem.label(format!("it is called `{}` here", key.name));
        return renamed(problem.help(format!("`{}`: {doc}", key.name)), key);
    }
    let names = object.keys.iter().map(|key| key.name);
    if let Some(key) = nearest(text, names.clone()).and_then(|name| object.key(name)) {
        return renamed(problem.label(format!("did you mean `{}`?", key.name)), key);
    }
    problem.help(elsewhere(object, text).unwrap_or_else(|| {
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

/// Where the key has its place.
fn elsewhere(object: &Object, key: &str) -> Option<String> {
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
