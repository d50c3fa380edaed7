//! A pipeline in Rust as the equivalent pipeline file.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use windlass_core::spec::is_name;

use super::options::Options;
use super::pipeline::{AddedStep, Pipeline};
use super::takes::NeedDemand;

/// The text of the file. Values are JSON, which is YAML as well.
pub(super) fn pipeline_text(pipeline: &Pipeline) -> String {
    let mut text = String::new();
    for (key, value) in &pipeline.top {
        line(&mut text, 0, key, value);
    }
    section(&mut text, "params", &pipeline.params);
    section(&mut text, "locks", &pipeline.locks);
    section(&mut text, "env", &pipeline.env);
    if let Some(defaults) = &pipeline.defaults {
        section(&mut text, "defaults", &all_keys(defaults));
    }
    text.push_str(if pipeline.steps.is_empty() { "steps: {}\n" } else { "steps:\n" });
    for step in &pipeline.steps {
        let _ = writeln!(text, "  {}:", name(step.name));
        for (key, value) in keys(pipeline, step) {
            line(&mut text, 4, &key, &value);
        }
        if !step.options.axes.is_empty() {
            let _ = writeln!(text, "    matrix: {}", matrix(&step.options.axes));
        }
    }
    text
}

/// The defaults. A key that only a step can have is written as well, so that the check reports it.
fn all_keys(defaults: &Options) -> Map<String, Value> {
    let mut keys = defaults.keys.clone();
    if !defaults.needs.is_empty() {
        keys.insert("needs".to_owned(), json!(defaults.needs));
    }
    if !defaults.axes.is_empty() {
        keys.insert("matrix".to_owned(), json!(defaults.axes));
    }
    keys
}

/// The axes in their order, which a JSON map would lose.
fn matrix(axes: &[(String, Vec<String>)]) -> String {
    let written = axes.iter().map(|(axis, values)| format!("{}: {}", name(axis), json!(values)));
    format!("{{ {} }}", written.collect::<Vec<_>>().join(", "))
}

fn section(text: &mut String, name: &str, entries: &Map<String, Value>) {
    if !entries.is_empty() {
        let _ = writeln!(text, "{name}:");
        entries.iter().for_each(|(key, value)| line(text, 2, key, value));
    }
}

fn line(text: &mut String, indent: usize, key: &str, value: &Value) {
    let _ = writeln!(text, "{:indent$}{}: {value}", "", name(key));
}

/// A name as a plain scalar; any other text quoted, so that the check rejects it as a name.
fn name(name: &str) -> String {
    if is_name(name) { name.to_owned() } else { json!(name).to_string() }
}

/// The keys of a step.
fn keys(pipeline: &Pipeline, step: &AddedStep) -> Map<String, Value> {
    let mut keys = Map::new();
    keys.insert("call".to_owned(), format!("{}@{}", step.name, step.signature).into());
    let needs = needs(step);
    if !needs.is_empty() {
        keys.insert("needs".to_owned(), needs.into());
    }
    // With these, a program without the step can check expressions that read a result by name.
    let outputs = step.output.fields();
    if !outputs.is_empty() && outputs.iter().all(|name| is_name(name)) {
        keys.insert("outputs".to_owned(), json!(outputs));
    }
    keys.extend(step.options.keys.clone());
    let mut with = keys.remove("with").unwrap_or_else(|| json!({}));
    for (name, ..) in &step.takes.values {
        if with.get(name).is_none() && pipeline.params.contains_key(name) {
            with[name] = format!("${{{{ params.{name} }}}}").into();
        }
    }
    if with.as_object().is_some_and(|with| !with.is_empty()) {
        keys.insert("with".to_owned(), with);
    }
    keys
}

fn needs(step: &AddedStep) -> Vec<Value> {
    let taken = step.takes.needs.iter().map(|taken| match taken.demand {
        NeedDemand::Required => json!(taken.need.step),
        NeedDemand::Optional => json!({ "step": taken.need.step, "optional": true }),
    });
    let known = |name: &String| step.takes.needs.iter().any(|taken| taken.need.step == *name);
    let after = step.options.needs.iter().filter(|name| !known(name));
    taken.chain(after.map(|name| json!(name))).collect()
}
