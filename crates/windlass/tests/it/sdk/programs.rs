//! Programs with steps of their own: the whole command line, on one machine.

use serde_json::Value;

use crate::support::project_folder::{ProjectFolder, repository};

fn shown(project: &ProjectFolder, example: &str) -> Value {
    let shown = project.run_example(example, "show latest --json");
    serde_json::from_str(&shown.out).unwrap_or_else(|_| panic!("{shown:?}"))
}

fn outputs<'a>(run: &'a Value, step: &str) -> &'a Value {
    let mut steps = run["steps"].as_array().expect("it lists steps").iter();
    &steps.find(|it| it["name"] == step).expect("it has that step")["outputs"]
}

/// The path of a file beside the examples in Rust.
fn example_file(name: &str) -> String {
    repository().join("examples/rust").join(name).display().to_string()
}

#[test]
fn hello_example_is_run_planned_and_drawn() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("hello", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("hello, world") || ended.err.contains("hello, world"), "{ended:?}");
    let plan = project.run_example("hello", "plan");
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(plan.out.contains("Returns the name to greet"), "{plan:?}");
    assert!(!plan.out.contains("skipped"), "{plan:?}");
    let graph = project.run_example("hello", "graph");
    assert!(graph.out.contains("greet"), "{graph:?}");
    let log = project.run_example("hello", "logs latest greet");
    assert_eq!(log.out, "hello, world\n");
    let rerun = project.run_example("hello", "rerun latest");
    assert_eq!(rerun.code, Some(0), "{rerun:?}");
    assert_eq!(shown(&project, "hello")["status"], "succeeded");
}

#[test]
fn help_and_hints_are_those_of_the_program() {
    let project = ProjectFolder::empty();
    let help = project.run_example("release", "--help").out;
    assert!(help.contains("Usage: release COMMAND"), "{help}");
    assert!(!help.contains("windlass init"), "{help}");
    let help = project.run_example("release", "run --help").out;
    assert!(help.contains("Usage: release run"), "{help}");
    let failed = project.run_example("release", "run -p broken=true --label compiler --label lab");
    assert!(failed.err.contains("release run -p broken=true"), "{failed:?}");
    assert!(failed.err.contains("release logs "), "{failed:?}");
    assert!(project.run("--help").out.contains("Usage: windlass COMMAND"));
}

#[test]
fn fan_out_counts_the_distributed_words() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("fan_out", "run -p text=a_b");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = project.run_example("fan_out", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let counts = serde_json::json!({ "be": 2, "not": 1, "or": 1, "to": 2 });
    assert_eq!(*outputs(&shown(&project, "fan_out"), "gather"), counts);
}

#[test]
fn matrix_runs_placeable_cells_and_reports_the_others() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("matrix", "run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let log = project.run_example("matrix", "logs latest tell").out;
    let text = "linux,sqlite succeeded\nlinux,postgres succeeded\n\
        windows,sqlite skipped\nwindows,postgres skipped\n";
    assert_eq!(log, text);
    let log = project.run_example("matrix", "logs latest test[linux,postgres]").out;
    assert_eq!(log, "thorough suite on linux\n");
}

#[test]
fn a_file_calls_steps_of_the_program_with_values() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("python", &format!("run {}", example_file("python.yml")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let shown = shown(&project, "python");
    assert_eq!(outputs(&shown, "sum")["value"], "30");
    let log = project.run_example("python", "logs latest tell").out;
    assert_eq!(log, "the sum is 30\n");
}

#[test]
fn a_file_is_run_by_an_executor_and_a_probe_of_the_program() {
    let project = ProjectFolder::empty();
    let ended = project.run_example("executor", &format!("run {}", example_file("executor.yml")));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let outputs = outputs(&shown(&project, "executor"), "sums").clone();
    assert_eq!(outputs, serde_json::json!({ "half": 0.5, "total": 20.0 }));
    assert_eq!(project.run_example("executor", "logs latest tell").out, "the total is 20\n");
    let text = "steps: { a: { shell: rpn, run: x 1 +, outputs: [y] }, b: { shell: rpn, run: x 1, outputs: [y] } }";
    let wrong = ProjectFolder::with(text);
    let ended = wrong.run_example("executor", "run windlass.yml --keep-going");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let log = wrong.run_example("executor", "logs latest a").out;
    assert_eq!(log, "windlass: in `x 1 +`\n  because: `+` takes two numbers\n");
    let log = wrong.run_example("executor", "logs latest b").out;
    assert!(log.contains("declares the output y"), "{log}");
    // The program without it cannot run them.
    let plain = project.run(&format!("run {}", example_file("executor.yml")));
    assert!(plain.err.contains("executor=rpn"), "{plain:?}");
}

#[test]
fn file_with_a_wrong_call_is_rejected_before_any_step_runs() {
    let project = ProjectFolder::with("steps: { a: { call: pyhton }, b: { call: python } }");
    let ended = project.run_example("python", "run windlass.yml");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("did you mean `python`?"), "{ended:?}");
    assert!(ended.err.contains("`python` requires the value `code`"), "{ended:?}");
    // The program without these steps cannot run them, and reports that.
    let plain = project.run("run windlass.yml");
    assert_eq!(plain.code, Some(3), "{plain:?}");
    assert!(plain.err.contains("there is no built-in step `python`"), "{plain:?}");
}

#[test]
fn a_failure_is_shown_with_its_causes() {
    let project = ProjectFolder::empty();
    let line = "run -p broken=true --label compiler --label lab";
    let ended = project.run_example("release", line);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("1 of 4 tests failed"), "{ended:?}");
    let log = project.run_example("release", "logs latest test").out;
    let text = "testing 1.2.3\nwindlass: 1 of 4 tests failed\n  because: the lamp is out\n";
    assert_eq!(log, text);
    let log = project.run_example("release", "logs latest tell").out;
    assert_eq!(log, "not released: blocked\n");
}

/// A guard is the program started again: without `windlass::init()` it would run the pipeline a second time.
#[test]
fn a_program_without_init_never_runs_its_pipeline_twice() {
    let project = ProjectFolder::with("");
    let ended = project.run_example("uninitialized", "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("ran").len(), 1, "its steps ran once");
    assert!(project.lines("commanded").is_empty(), "its command did not run");
    let error = project.lines("error").join("\n");
    assert!(error.contains("does not call it: call it first in `main`"), "{error}");
}

/// The call comes after the first pipeline, which a guard would run again before it becomes one.
#[test]
fn a_program_that_calls_init_too_late_never_runs_its_pipeline_twice() {
    let project = ProjectFolder::with("");
    for (line, expected) in [("late", 1), ("runtime", 2)] {
        let ended = project.run_example("late_init", line);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
        assert_eq!(project.lines("ran").len(), expected, "{line}: its steps ran once");
        assert!(project.lines("commanded").is_empty(), "{line}: its command did not run");
        let error = project.read("error");
        assert!(error.contains("calls it too late: call it first in `main`"), "{line}: {error}");
    }
}

/// A program may start a guard on one path through its `main` and run its pipeline at once on another.
#[test]
fn a_program_that_skips_init_in_its_guard_runs_nothing_there() {
    let project = ProjectFolder::with("");
    let ended = project.run_example("late_init", "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("ran").len(), 1, "its steps ran once");
    assert!(ended.err.contains("calls it too late, or not at all"), "{ended:?}");
    assert!(project.read("error").contains("did not become a guard"), "{}", project.read("error"));
}
