//! `schema`: what the parser accepts, the schema accepts, and the keys are the same.

use serde_json::{Map, Value};

use super::crew::{Folder, SHIP, repository};

#[test]
fn valid_files_fit_the_schema() {
    let schema: Value = serde_json::from_str(&Folder::empty().data("schema")).unwrap();
    let example =
        |name: &str| std::fs::read_to_string(repository().join("examples").join(name)).unwrap();
    for text in [SHIP, &example("hello.yml"), &example("checks.yml"), &example("release.yml")] {
        let file: Value = serde_json::from_str(&Folder::with(text).data("expand --json")).unwrap();
        fits(&schema, &schema, &file).unwrap_or_else(|problem| panic!("{problem}\n{file:#}"));
    }
}

#[test]
fn files_that_are_wrong_do_not_fit() {
    let schema: Value = serde_json::from_str(&Folder::empty().data("schema")).unwrap();
    for wrong in [
        "{}",
        r#"{"steps": {"a": {"run": "x", "timeot": "1m"}}}"#,
        r#"{"steps": {"a": {"run": ["x"]}}}"#,
        r#"{"steps": {"a": {"run": "x", "retry": -1}}}"#,
        r#"{"steps": {"a": {"run": "x", "pin": "anywhere"}}}"#,
    ] {
        let file: Value = serde_json::from_str(wrong).unwrap();
        assert!(fits(&schema, &schema, &file).is_err(), "{wrong}");
    }
}

#[test]
fn the_parser_knows_every_key_of_the_schema() {
    let schema: Value = serde_json::from_str(&Folder::empty().data("schema")).unwrap();
    let keys = |object: &Value| -> Vec<String> {
        object["properties"].as_object().unwrap().keys().cloned().collect()
    };
    for key in keys(&schema["$defs"]["step"]) {
        let said = Folder::with(&format!("steps:\n  a:\n    {key}: [[]]\n")).run("validate");
        assert!(!said.contains("E041"), "{key}: {said}");
    }
    for key in keys(&schema) {
        let said = Folder::with(&format!("{key}: [[]]\n")).run("validate");
        assert!(!said.contains("E041"), "{key}: {said}");
    }
}

/// As much of JSON Schema as ours uses, without patterns.
fn fits(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let empty = Map::new();
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect("it leads somewhere");
        return fits(root, target, value);
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        let tried: Vec<_> = forms.iter().map(|form| fits(root, form, value)).collect();
        return tried.iter().any(Result::is_ok).then_some(()).ok_or(format!("{tried:?}"));
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.contains(value).then_some(()).ok_or(format!("{value} is none of {words:?}"));
    }
    check_type(schema, value)?;
    for key in schema["required"].as_array().into_iter().flatten() {
        value.get(key.as_str().expect("keys are texts")).ok_or(format!("{key} is missing"))?;
    }
    for item in value.as_array().into_iter().flatten() {
        fits(root, &schema["items"], item)?;
    }
    for (key, inner) in value.as_object().unwrap_or(&empty) {
        let known = &schema["properties"][key];
        let rule = if known.is_null() { &schema["additionalProperties"] } else { known };
        if rule == &Value::Bool(false) {
            return Err(format!("{key} is unknown"));
        }
        fits(root, rule, inner).map_err(|problem| format!("{key}: {problem}"))?;
    }
    Ok(())
}

fn check_type(schema: &Value, value: &Value) -> Result<(), String> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is = |name: &Value| name == kind || (name == "integer" && value.is_i64());
    let known = match &schema["type"] {
        Value::Null => true,
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    };
    let number = value.as_i64();
    let above = schema["minimum"].as_i64().zip(number).is_none_or(|(min, n)| n >= min);
    let below = schema["maximum"].as_i64().zip(number).is_none_or(|(max, n)| n <= max);
    (known && above && below).then_some(()).ok_or(format!("{value} is no {}", schema["type"]))
}
