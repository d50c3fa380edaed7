//! `run --resume` and `rerun`: the results that are reused, and the steps that run again.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{pause, until};

const WAITS: &str = r#"
name: waits
steps:
  first: { run: "echo first >> trace" }
  gate: { needs: first, run: "echo gate >> trace; until test -e go; do sleep 0.02; done" }
  last: { needs: gate, run: "echo last >> trace" }
"#;

#[test]
fn resuming_a_finished_run_starts_nothing_and_has_its_exit_code() {
    let project =
        ProjectFolder::with("name: done\nsteps:\n  a: { run: 'echo a >> trace; test -e ok' }\n");
    let nothing = project.run("run --resume");
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert_eq!(project.run("run").code, Some(1));
    let resumed = project.run("run --resume");
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    assert!(resumed.err.contains("no run was interrupted; the latest"), "{}", resumed.err);
    project.file("ok", "");
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.run("run --resume").code, Some(0));
    assert_eq!(project.lines("trace").len(), 2);
    assert_eq!(project.run("run --resume=nosuch").code, Some(2));
}

#[test]
fn resumed_run_keeps_its_plan_and_reports_the_changed_file() {
    let project = ProjectFolder::with(WAITS);
    let running = project.start("run");
    project.until_lines("trace", 2);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    project.file("windlass.yml", WAITS.replace("echo last", "echo other"));
    project.file("go", "");
    let prefix = project.show()["id"].as_str().expect("it has an id")[..8].to_owned();
    let ended = project.run(&format!("run --resume={prefix}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("the file has changed"), "{}", ended.err);
    assert!(ended.err.contains("interrupted"), "{}", ended.err);
    assert_eq!(project.lines("trace"), ["first", "gate", "gate", "last"]);
}

#[test]
fn a_step_that_failed_stays_failed_when_its_run_is_resumed() {
    let project = ProjectFolder::with(
        "name: fails\nsteps:\n  bad: { run: 'echo bad >> trace; exit 1' }\n  gate: { run: 'echo gate >> trace; until test -e go; do sleep 0.02; done' }\n",
    );
    let running = project.start("run --keep-going --jobs 2");
    project.until_lines("trace", 2);
    until("its failure is recorded", || project.status("bad") == "failed");
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    project.file("go", "");
    assert_eq!(project.run("run --resume").code, Some(1));
    assert_eq!(project.lines("trace").iter().filter(|line| *line == "bad").count(), 1);
    assert_eq!(project.status("gate"), "succeeded");
}

const FLAKY: &str = r#"
name: flaky
steps:
  make: { outputs: [v], run: 'echo make >> trace; echo "v=1" > "$WINDLASS_OUTPUT"' }
  test: { needs: make, run: 'echo "test ${{ steps.make.outputs.v }} $WINDLASS_IDEMPOTENCY_KEY" >> trace; test -e ok' }
  ship: { needs: test, run: "echo ship >> trace" }
"#;

#[test]
fn rerun_runs_unsuccessful_steps_and_reuses_the_others() {
    let project = ProjectFolder::with(FLAKY);
    assert_eq!(project.run("run").code, Some(1));
    project.file("ok", "");
    project.file("windlass.yml", "name: flaky\nsteps:\n  other: { run: 'true' }\n");
    let again = project.run("rerun latest --failed");
    assert_eq!(again.code, Some(0), "{again:?}");
    let trace = project.lines("trace");
    assert_eq!(trace[0], "make");
    assert_eq!(trace[1], trace[2], "its key and the outputs that it sees are the same");
    assert_eq!(trace[3..], ["ship"]);
    assert_eq!(project.status("make"), "cached");

    let from = project.run("rerun latest --from test");
    assert_eq!(from.code, Some(0), "{from:?}");
    assert_eq!(project.lines("trace")[4..], [trace[1].as_str(), "ship"]);
    let all = project.run("rerun latest");
    assert_eq!(all.code, Some(0), "{all:?}");
    assert_eq!(project.lines("trace")[6..], ["make", trace[1].as_str(), "ship"]);
    let wrong = project.run("rerun latest --from tset");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("`test`"), "{}", wrong.err);
}

const CLEANS: &str = r#"
name: cleans
steps:
  server: { run: "echo server >> trace" }
  test: { needs: server, run: "echo test >> trace; test -e ok" }
  alarm: { needs: test, if: failure(), run: "echo alarm >> trace" }
  stop: { needs: server, if: always(), run: "echo stop >> trace" }
  told: { needs: stop, run: "echo told >> trace" }
"#;

#[test]
fn a_rerun_cleans_up_after_itself_and_judges_its_own_failures() {
    let project = ProjectFolder::with(CLEANS);
    assert_eq!(project.run("run --jobs 1").code, Some(1));
    let mut first = project.lines("trace");
    first.sort();
    assert_eq!(first, ["alarm", "server", "stop", "test"], "`told` was kept from running");
    project.file("ok", "");
    let again = project.run("rerun latest --failed");
    assert_eq!(again.code, Some(0), "{again:?}");
    let mut second = project.lines("trace").split_off(4);
    second.sort();
    assert_eq!(second, ["stop", "test", "told"], "what always runs, and what needs it, runs again");
    let status = |step| project.status(step);
    assert_eq!((status("server"), status("alarm")), ("cached".into(), "skipped".into()));
    let nothing = project.run("rerun latest --failed");
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert!(nothing.err.contains("every step succeeded"), "{}", nothing.err);
    assert_eq!(project.lines("trace").len(), 7, "nothing is there to do");
    let from = project.run("rerun latest --from test");
    assert_eq!(from.code, Some(0), "{from:?}");
    let mut third = project.lines("trace").split_off(7);
    third.sort();
    assert_eq!(third, ["stop", "test", "told"]);
}

#[test]
fn idle_time_between_resumes_is_reported() {
    let project = ProjectFolder::with(WAITS);
    let running = project.start("run");
    project.until_lines("trace", 2);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    let took = || project.data("runs").lines().nth(1).map(str::to_owned).unwrap_or_default();
    let wall = || {
        let listed = project.data("runs --json");
        let listed: serde_json::Value =
            serde_json::from_str(listed.lines().next().expect("a run")).unwrap();
        listed["wall_ms"].as_u64().expect("a number")
    };
    let (before, wall_before) = (took(), wall());
    assert!(before.contains("interrupted") && before.ends_with("ms"), "{before}");
    pause(Duration::from_secs(3));
    let ms = |text: &str| text.rsplit(' ').next().unwrap_or_default().to_owned();
    assert_eq!(ms(&took()), ms(&before), "it does not go on");
    assert_eq!(wall(), wall_before, "nor does it for programs");
    project.file("go", "");
    let ended = project.run("run --resume");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("interrupted once, for 3."), "{}", ended.err);
    let run = project.show();
    let number = |value: &serde_json::Value| value.as_u64().expect("it is a number");
    assert!(number(&run["interrupted_ms"]) >= 3_000, "{run}");
    assert!(number(&run["wall_ms"]) >= 3_000, "{run}");
    for step in run["steps"].as_array().expect("it lists steps") {
        assert!(number(&step["wait_ms"]) + number(&step["time_ms"]) < 2_500, "{step}");
    }
}

#[test]
fn named_run_resumes_without_its_file() {
    let project = ProjectFolder::with("name: other\nsteps:\n  a: { run: 'true' }\n");
    project.file("waits.yml", WAITS);
    let running = project.start("run waits.yml --store runs");
    project.until_lines("trace", 2);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    project.file("go", "");
    std::fs::remove_file(project.path().join("waits.yml")).expect("it is there");
    let ended = project.run("watch latest --store runs");
    let resumed = project.pasted(&ended.err, "`windlass run");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert!(!resumed.err.contains("changed"), "another file is none of its business: {resumed:?}");
    assert_eq!(project.lines("trace"), ["first", "gate", "gate", "last"], "where it was started");
    std::fs::remove_file(project.path().join("windlass.yml")).expect("it is there");
    let again = project.pasted(&ended.err, "`windlass run");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.err.contains("cannot be resumed: it succeeded"), "{}", again.err);
}
