//! The table against the parser, the checker and the planner: examples, defaults, and the values that keys can read.

#![expect(clippy::wildcard_enum_match_arm, reason = "all other shapes are scalars")]

use std::collections::{BTreeMap, BTreeSet};

use super::key_spec::{KeyAvailability, KeyDefault, KeyReads, KeySpec, ValueShape};
use super::nested::{LOCK, NEED};
use super::reference::{OBJECTS, pipeline_reference};
use super::retry::RETRY;
use super::step::{DEFAULTS, STEP};
use crate::expand::{ExpandInputs, ExpandedPipeline, expand_pipeline};
use crate::plan::StepSpec;
use crate::problem::{Problem, SourceFile};
use crate::spec::{CallableSet, PipelineReadOptions, read_pipeline_with_callables};

fn problems(text: &str) -> Vec<Problem> {
    let source = SourceFile::new("windlass.yml", text);
    read_pipeline_with_callables(&source, PipelineReadOptions::default(), &CallableSet::Any).1
}

fn planned(text: &str) -> ExpandedPipeline {
    let source = SourceFile::new("windlass.yml", text);
    let options = PipelineReadOptions::default();
    let (pipeline, problems) = read_pipeline_with_callables(&source, options, &CallableSet::Any);
    let titles: Vec<&String> = problems.iter().map(|problem| &problem.title).collect();
    assert!(titles.is_empty(), "{titles:?} in\n{text}");
    let pipeline = pipeline.expect("a file without problems is a pipeline");
    expand_pipeline(
        &pipeline,
        ExpandInputs { name: "example", params: &BTreeMap::new(), workspace: None },
    )
    .unwrap_or_else(|problems| panic!("{problems:?} in\n{text}"))
}

fn spec(text: &str) -> StepSpec {
    let plan = planned(text).plan;
    plan.spec(plan.find("a").expect("the step is there")).expect("it is no join").clone()
}

fn available() -> impl Iterator<Item = (&'static str, &'static KeySpec)> {
    let keys =
        OBJECTS.into_iter().flat_map(|object| object.keys.iter().map(|key| (object.name, key)));
    keys.filter(|(_, key)| key.available == KeyAvailability::Now)
}

#[test]
fn every_key_has_an_example_that_uses_it_and_is_planned() {
    for (object, key) in available() {
        assert!(!key.example.is_empty(), "`{}` of {object} has no example", key.name);
        planned(key.example);
        let used = |end: &str| key.example.contains(&format!("{}{end}", key.name));
        let written = used(": ") || used(":\n");
        assert!(written, "the example of `{}` of {object} does not use it", key.name);
    }
}

#[test]
fn every_default_is_a_key_of_a_step_with_the_same_meaning() {
    for key in DEFAULTS.keys {
        let of_step = STEP.key(key.name).expect("a default is a default of a step's key");
        assert_eq!((key.doc, key.default), (of_step.doc, of_step.default), "{}", key.name);
    }
}

#[test]
fn a_default_written_out_makes_the_same_plan() {
    let bare = spec("steps: { a: { run: make } }");
    for key in STEP.keys {
        let KeyDefault::Value(default) = key.default else { continue };
        let step = format!("steps: {{ a: {{ run: make, {}: {default} }} }}", key.name);
        assert_eq!(spec(&step), bare, "{step}");
        if DEFAULTS.key(key.name).is_some() {
            let below =
                format!("defaults: {{ {}: {default} }}\nsteps: {{ a: {{ run: make }} }}", key.name);
            assert_eq!(spec(&below), bare, "{below}");
        }
    }
}

#[test]
fn a_default_of_a_lock_need_or_retry_written_out_makes_the_same_plan() {
    let step = |entries: &str| {
        spec(&format!("steps: {{ b: {{ run: make }}, a: {{ run: make, {entries} }} }}"))
    };
    for (object, required) in [(&LOCK, "name: x"), (&NEED, "step: b"), (&RETRY, "times: 0")] {
        let of = if object.name == "need" { "needs" } else { object.name };
        for key in object.keys {
            let KeyDefault::Value(default) = key.default else { continue };
            let base = if required.starts_with(key.name) { "" } else { required };
            let comma = if base.is_empty() { "" } else { ", " };
            let written = step(&format!("{of}: {{ {base}{comma}{}: {default} }}", key.name));
            assert_eq!(written, step(&format!("{of}: {{ {required} }}")), "{of}.{}", key.name);
        }
    }
}

/// A value of this shape with an expression in it, as YAML; nothing for a map with keys of its own.
fn with_expression(shape: ValueShape, path: &str) -> Option<String> {
    let template = format!("'${{{{ {path} }}}}'");
    match shape {
        ValueShape::Condition => Some(format!("{path} == \"x\"")),
        ValueShape::Script => Some(format!("'echo ${{{{ {path} }}}}'")),
        ValueShape::Map(ValueShape::Text | ValueShape::Number(..)) => {
            Some(format!("{{ m: {template} }}"))
        }
        ValueShape::Map(_) | ValueShape::Object(_) => None,
        ValueShape::List(_) | ValueShape::ShortOrObject(ValueShape::List(_), _) => {
            Some(format!("[{template}]"))
        }
        ValueShape::OneOrMany(item) => with_expression(*item, path),
        ValueShape::ShortOrObject(short, _) => with_expression(*short, path),
        _ => Some(template),
    }
}

/// The entries of a step, or of the file, in which the key has this value.
fn entries_with(object: &str, key: &str, value: &str) -> String {
    let axes = "matrix: { m: [1] }";
    match (object, key) {
        ("pipeline", _) => format!("{key}: {value}"),
        ("step", "run") => format!("{axes}, run: {value}"),
        ("step", "with") => format!("{axes}, call: x, with: {value}"),
        ("step", "matrix") => format!("run: make, matrix: {value}"),
        ("step", _) => format!("{axes}, run: make, {key}: {value}"),
        ("matrix", _) => format!("run: make, matrix: {{ m: [1], {key}: {value} }}"),
        _ => format!("{axes}, run: make, {object}: {{ {key}: {value} }}"),
    }
}

/// The values that expressions in a key can read, by the checker.
fn readable(object: &str, key: &KeySpec) -> Option<BTreeSet<&'static str>> {
    let paths = [
        ("params", "params.p"),
        ("matrix", "matrix.m"),
        ("steps", "steps.b.outputs.x"),
        ("run", "run.id"),
    ];
    let mut known = BTreeSet::new();
    for (root, path) in paths {
        let step = entries_with(object, key.name, &with_expression(key.shape, path)?);
        let (top, step) = if object == "pipeline" { (&*step, "run: make") } else { ("", &*step) };
        let text = format!(
            "params: {{ p: x }}\n{top}\nsteps:\n  b: {{ run: make }}\n  a: {{ needs: b, {step} }}\n"
        );
        if problems(&text).is_empty() {
            known.insert(root);
        }
    }
    Some(known)
}

#[test]
fn expressions_can_read_what_the_table_says() {
    let mut checked = 0;
    for (object, key) in available() {
        let is_covered =
            ["pipeline", "step", "lock", "retry", "nodes", "matrix", "reports"].contains(&object);
        let wanted: &[&str] = match key.reads {
            KeyReads::Nothing => continue,
            KeyReads::Params => &["params"],
            KeyReads::Run => &["params", "run"],
            KeyReads::PlanTime => &["matrix", "params"],
            KeyReads::Outcomes => &["matrix", "params", "steps"],
            KeyReads::Everything => &["matrix", "params", "run", "steps"],
        };
        let Some(known) = is_covered.then(|| readable(object, key)).flatten() else { continue };
        assert_eq!(known, wanted.iter().copied().collect(), "`{}` of {object}", key.name);
        checked += 1;
    }
    assert!(checked > 20, "only {checked} keys were checked");
}

#[test]
fn links_of_the_reference_lead_to_a_heading() {
    let page = pipeline_reference();
    let slug = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " _-".contains(*c));
        kept.collect::<String>().to_lowercase().replace(' ', "-")
    };
    let headings: Vec<String> = page
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| slug(line.trim_start_matches('#').trim()))
        .collect();
    for link in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(headings.iter().any(|heading| heading == link), "#{link}");
    }
    let distinct: BTreeSet<&String> = headings.iter().collect();
    assert_eq!(distinct.len(), headings.len(), "two headings have the same fragment");
}
