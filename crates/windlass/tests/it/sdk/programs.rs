//! Programs with steps of their own: the whole command line, on one machine.

use serde_json::Value;

use super::arrange::{file, run};
use crate::run::arrange::RunFolder;

/// A folder without a pipeline.
fn empty() -> RunFolder {
    let place = RunFolder::with("");
    std::fs::remove_file(place.path().join("windlass.yml")).expect("it was just written");
    place
}

fn shown(place: &RunFolder, example: &str) -> Value {
    let shown = run(place, example, "show latest --json");
    serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"))
}

fn outputs<'a>(run: &'a Value, step: &str) -> &'a Value {
    let mut steps = run["steps"].as_array().expect("it lists steps").iter();
    &steps.find(|it| it["name"] == step).expect("it has that step")["outputs"]
}

#[test]
fn hello_is_run_planned_and_drawn() {
    let place = empty();
    let ended = run(&place, "hello", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("hello, world") || ended.err.contains("hello, world"), "{ended:?}");
    let plan = run(&place, "hello", "plan");
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(plan.out.contains("Finds out whom to greet"), "{plan:?}");
    assert!(!plan.out.contains("skipped"), "{plan:?}");
    let graph = run(&place, "hello", "graph");
    assert!(graph.out.contains("greet"), "{graph:?}");
    let log = run(&place, "hello", "logs latest greet");
    assert_eq!(log.out, "hello, world\n");
    let rerun = run(&place, "hello", "rerun latest");
    assert_eq!(rerun.code, Some(0), "{rerun:?}");
    assert_eq!(shown(&place, "hello")["status"], "succeeded");
}

#[test]
fn help_and_hints_are_those_of_the_program() {
    let place = empty();
    let help = run(&place, "release", "--help").out;
    assert!(help.contains("Usage: release COMMAND"), "{help}");
    assert!(!help.contains("windlass init"), "{help}");
    let help = run(&place, "release", "run --help").out;
    assert!(help.contains("Usage: release run"), "{help}");
    let failed = run(&place, "release", "run -p broken=true --label compiler --label lab");
    assert!(failed.err.contains("release run -p broken=true"), "{failed:?}");
    assert!(failed.err.contains("release logs "), "{failed:?}");
    assert!(place.run("--help").out.contains("Usage: windlass COMMAND"));
}

#[test]
fn a_fan_out_counts_what_was_dealt() {
    let place = empty();
    let ended = run(&place, "fan_out", "run -p text=a_b");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = run(&place, "fan_out", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let counts = serde_json::json!({ "be": 2, "not": 1, "or": 1, "to": 2 });
    assert_eq!(*outputs(&shown(&place, "fan_out"), "gather"), counts);
}

#[test]
fn a_matrix_runs_where_it_can_and_says_the_rest() {
    let place = empty();
    let ended = run(&place, "matrix", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = run(&place, "matrix", "logs latest tell").out;
    let told = "linux,sqlite succeeded\nlinux,postgres succeeded\n\
        windows,sqlite skipped\nwindows,postgres skipped\n";
    assert_eq!(log, told);
    let log = run(&place, "matrix", "logs latest test[linux,postgres]").out;
    assert_eq!(log, "thorough suite on linux\n");
}

#[test]
fn a_file_calls_steps_of_the_program_with_values() {
    let place = empty();
    let ended = run(&place, "python", &format!("run {}", file("python.yml")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = shown(&place, "python");
    assert_eq!(outputs(&shown, "sum")["value"], "30");
    let log = run(&place, "python", "logs latest tell").out;
    assert_eq!(log, "the sum is 30\n");
}

#[test]
fn a_file_is_run_by_an_executor_and_a_probe_of_the_program() {
    let place = empty();
    let ended = run(&place, "executor", &format!("run {}", file("executor.yml")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outputs = outputs(&shown(&place, "executor"), "sums").clone();
    assert_eq!(outputs, serde_json::json!({ "half": 0.5, "total": 20.0 }));
    assert_eq!(run(&place, "executor", "logs latest tell").out, "the total is 20\n");
    let text = "steps: { a: { shell: rpn, run: x 1 +, outputs: [y] }, b: { shell: rpn, run: x 1, outputs: [y] } }";
    let wrong = RunFolder::with(text);
    let ended = run(&wrong, "executor", "run windlass.yml --keep-going");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let log = run(&wrong, "executor", "logs latest a").out;
    assert_eq!(log, "windlass: in `x 1 +`\n  because: `+` takes two numbers\n");
    let log = run(&wrong, "executor", "logs latest b").out;
    assert!(log.contains("declares the output y"), "{log}");
    // The program without it cannot run them.
    let plain = place.run(&format!("run {}", file("executor.yml")));
    assert!(plain.err.contains("executor=rpn"), "{plain:?}");
}

#[test]
fn file_with_a_wrong_call_is_rejected_before_any_step_runs() {
    let place = RunFolder::with("steps: { a: { call: pyhton }, b: { call: python } }");
    let ended = run(&place, "python", "run windlass.yml");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("did you mean `python`?"), "{ended:?}");
    assert!(ended.err.contains("`python` requires the value `code`"), "{ended:?}");
    // The program without these steps cannot run them, and says so.
    let plain = place.run("run windlass.yml");
    assert_eq!(plain.code, Some(3), "{plain:?}");
    assert!(plain.err.contains("there is no built-in step `python`"), "{plain:?}");
}

#[test]
fn a_failure_is_shown_with_its_causes() {
    let place = empty();
    let line = "run -p broken=true --label compiler --label lab";
    let ended = run(&place, "release", line);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("1 of 4 tests failed"), "{ended:?}");
    let log = run(&place, "release", "logs latest test").out;
    let told = "testing 1.2.3\nwindlass: 1 of 4 tests failed\n  because: the lamp is out\n";
    assert_eq!(log, told);
    let log = run(&place, "release", "logs latest tell").out;
    assert_eq!(log, "not released: blocked\n");
}

/// A guard is the program executed anew: without `windlass::init()` that would run the pipeline a second time.
#[test]
fn a_program_without_init_never_runs_its_pipeline_twice() {
    let place = RunFolder::with("");
    let ended = run(&place, "uninitialized", "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.lines("ran").len(), 1, "its steps ran once");
    assert!(place.lines("commanded").is_empty(), "its command did not run");
    let error = place.lines("error").join("\n");
    assert!(error.contains("does not call it: call it first in `main`"), "{error}");
}

/// It is called behind the first pipeline, which a guard would run again before it becomes one.
#[test]
fn a_program_that_calls_init_too_late_never_runs_its_pipeline_twice() {
    let place = RunFolder::with("");
    for (line, expected) in [("late", 1), ("runtime", 2)] {
        let ended = run(&place, "late_init", line);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        assert_eq!(place.lines("ran").len(), expected, "{line}: its steps ran once");
        assert!(place.lines("commanded").is_empty(), "{line}: its command did not run");
        let error = place.read("error");
        assert!(error.contains("calls it too late: call it first in `main`"), "{line}: {error}");
    }
}

/// A program may ask for a guard on one way through its `main` and run its pipeline at once on the other.
#[test]
fn a_program_that_skips_init_in_its_guard_runs_nothing_there() {
    let place = RunFolder::with("");
    let ended = run(&place, "late_init", "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(place.lines("ran").len(), 1, "its steps ran once");
    assert!(ended.err.contains("calls it too late, or not at all"), "{ended:?}");
    assert!(place.read("error").contains("did not become a guard"), "{}", place.read("error"));
}
