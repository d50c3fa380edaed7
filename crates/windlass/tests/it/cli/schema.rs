//! `schema`: an independent validator accepts it, and with it what the parser accepts; the keys are the same.
//!
//! The validator is Python's `jsonschema`, which costs nothing to build: the crates that validate bring 40 packages or
//! more with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_core::problem::ProblemCode;

use crate::cli::ship::SHIP;
use crate::python::python;
use crate::support::project_folder::{ProjectFolder, repository};

/// Every key of the design, available or not.
const EVERY_KEY: &str = include_str!("every_key.yml");

/// Errors in keys and values, by code; an editor with the schema must report them too.
const SEEN_BY_EDITORS: [ProblemCode; 7] = [
    ProblemCode::BareNumber,
    ProblemCode::UnknownKey,
    ProblemCode::WrongType,
    ProblemCode::UnknownWord,
    ProblemCode::BadDuration,
    ProblemCode::BadNumber,
    ProblemCode::ZeroLimit,
];

#[test]
fn files_that_the_parser_accepts_match_the_schema() {
    let Some(validator) = validator() else { return };
    let mut files = BTreeMap::from([
        ("ship.yml".to_owned(), SHIP.to_owned()),
        ("every_key.yml".to_owned(), EVERY_KEY.to_owned()),
    ]);
    for entry in fs::read_dir(repository().join("examples")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|of| of == "yml") {
            let name = entry.file_name().into_string().unwrap();
            files.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
    assert!(files.len() >= 6, "{:?}", files.keys());
    for code in ProblemCode::ALL {
        let right = examples(code.page()).get(1).map(|right| (*right).to_owned());
        files.extend(right.map(|right| (format!("{code}.yml"), right)));
    }
    for (name, text) in validated(validator, &files) {
        assert_eq!(text, "fits", "{name}:\n{}", files[&name]);
    }
}

#[test]
fn wrong_keys_and_values_do_not_match_the_schema() {
    let Some(validator) = validator() else { return };
    let wrong = [
        "{}",
        "steps: []",
        "steps: { a: make }",
        "steps: { a: { run: [make] } }",
        "steps: { a: { run: make, timeot: 1m } }",
        "steps: { a: { run: make, retry: -1 } }",
        "steps: { a: { run: make, retry: { times: 2, backoff: 1s } } }",
        "steps: { a: { run: make, pin: anywhere } }",
        "steps: { a: { run: make, env: [A=1] } }",
        "steps: { a: { run: make, needs: { name: b } } }",
        "steps: { a: { run: make, needs: [1] } }",
        "steps: { a: { run: make, matrix: linux } }",
        "steps: { a: { run: make, idempotent: yes } }",
        "steps: { a: { run: make, lock: { name: x, order: random } } }",
        "steps: { a: { run: make } }\nlocks: { farm: 0 }",
        "steps: { a: { run: make } }\nparams: { x: { choose: beta } }",
        "steps: { a: { run: make } }\njobs: {}",
    ];
    let numbered = wrong.iter().enumerate().map(|(at, text)| (format!("{at}.yml"), (*text).into()));
    let mut files: BTreeMap<String, String> = numbered.collect();
    for code in SEEN_BY_EDITORS {
        files.insert(format!("{code}.yml"), examples(code.page())[0].to_owned());
    }
    for (name, expected) in validated(validator, &files) {
        assert_ne!(expected, "fits", "{name}:\n{}", files[&name]);
    }
    for text in wrong {
        assert!(ProjectFolder::with(text).page("validate").starts_with("exit code 3"), "{text}");
    }
}

#[test]
fn the_parser_knows_every_key_of_the_schema() {
    let schema: Value = serde_json::from_str(&ProjectFolder::empty().data("schema")).unwrap();
    let keys = |object: &Value| -> Vec<String> {
        object["properties"].as_object().unwrap().keys().cloned().collect()
    };
    for key in keys(&schema["$defs"]["step"]) {
        let said =
            ProjectFolder::with(&format!("steps:\n  a:\n    {key}: [[]]\n")).page("validate");
        assert!(!said.contains("E041"), "{key}: {said}");
        assert!(EVERY_KEY.contains(&format!("{key}:")), "{key} is missing in every_key.yml");
    }
    for key in keys(&schema) {
        let said = ProjectFolder::with(&format!("{key}: [[]]\n")).page("validate");
        assert!(!said.contains("E041"), "{key}: {said}");
        assert!(EVERY_KEY.contains(&format!("{key}:")), "{key} is missing in every_key.yml");
    }
}

#[test]
fn every_key_of_the_schema_is_valid_or_unavailable() {
    let report: Value =
        serde_json::from_str(&ProjectFolder::with(EVERY_KEY).data("validate --json")).unwrap();
    for problem in report["problems"].as_array().unwrap() {
        assert_eq!(problem["code"], ProblemCode::NotAvailable.as_str(), "{problem}");
    }
    assert!(
        ProjectFolder::with(EVERY_KEY).page("run").starts_with("exit code 3"),
        "it cannot be run yet"
    );
}

/// Returns the message of the validator for each file.
fn validated(mut command: Command, files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let folder =
        ProjectFolder::empty().with_file("schema.json", ProjectFolder::empty().data("schema"));
    let folder = files.iter().fold(folder, |folder, (name, text)| folder.with_file(name, text));
    command.arg(script()).arg("schema.json").args(files.keys()).current_dir(folder.path());
    let output = command.output().expect("it was there a moment ago");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it prints UTF-8");
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let reported: BTreeMap<String, String> =
        lines.map(|(name, expected)| (name.to_owned(), expected.to_owned())).collect();
    assert_eq!(reported.len(), files.len(), "{text}");
    reported
}

/// A Python that has the validator.
fn validator() -> Option<Command> {
    python("jsonschema, yaml", "python3-jsonschema python3-yaml")
}

fn script() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/cli/schema.py")
}

/// The wrong and the right file on the page of a code.
fn examples(page: &str) -> Vec<&str> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}
