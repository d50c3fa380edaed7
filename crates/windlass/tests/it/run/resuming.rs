//! `run --resume` and `rerun`: what is taken over, what is done again.

use rustix::process::Signal;

use super::arrange::Place;

const WAITS: &str = r#"
name: waits
steps:
  first: { run: "echo first >> trace" }
  gate: { needs: first, run: "echo gate >> trace; until test -e go; do sleep 0.02; done" }
  last: { needs: gate, run: "echo last >> trace" }
"#;

#[test]
fn resuming_what_is_finished_runs_nothing_and_ends_as_the_latest_did() {
    let place = Place::with("name: done\nsteps:\n  a: { run: 'echo a >> trace; test -e ok' }\n");
    let nothing = place.run("run --resume");
    assert_eq!(nothing.code, Some(0), "{nothing:?}");
    assert_eq!(place.run("run").code, Some(1));
    let resumed = place.run("run --resume");
    assert_eq!(resumed.code, Some(1), "{resumed:?}");
    assert!(resumed.err.contains("no run of done is unfinished"), "{}", resumed.err);
    place.file("ok", "");
    assert_eq!(place.run("run").code, Some(0));
    assert_eq!(place.run("run --resume").code, Some(0));
    assert_eq!(place.lines("trace").len(), 2);
    assert_eq!(place.run("run --resume=nosuch").code, Some(2));
}

#[test]
fn a_resumed_run_keeps_its_plan_and_says_that_the_file_changed() {
    let place = Place::with(WAITS);
    let running = place.start("run");
    place.until_lines("trace", 2);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    place.file("windlass.yml", WAITS.replace("echo last", "echo other"));
    place.file("go", "");
    let prefix = place.show()["id"].as_str().expect("it has an id")[..8].to_owned();
    let ended = place.run(&format!("run --resume={prefix}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("the file has changed"), "{}", ended.err);
    assert!(ended.err.contains("interrupted"), "{}", ended.err);
    assert_eq!(place.lines("trace"), ["first", "gate", "gate", "last"]);
}

#[test]
fn a_step_that_failed_stays_failed_when_its_run_is_resumed() {
    let place = Place::with(
        "name: fails\nsteps:\n  bad: { run: 'echo bad >> trace; exit 1' }\n  gate: { run: 'echo gate >> trace; until test -e go; do sleep 0.02; done' }\n",
    );
    let running = place.start("run --keep-going --jobs 2");
    place.until_lines("trace", 2);
    super::arrange::until("its failure is recorded", || place.status("bad") == "failed");
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    place.file("go", "");
    assert_eq!(place.run("run --resume").code, Some(1));
    assert_eq!(place.lines("trace").iter().filter(|line| *line == "bad").count(), 1);
    assert_eq!(place.status("gate"), "succeeded");
}

const FLAKY: &str = r#"
name: flaky
steps:
  make: { outputs: [v], run: 'echo make >> trace; echo "v=1" > "$WINDLASS_OUTPUT"' }
  test: { needs: make, run: 'echo "test ${{ steps.make.outputs.v }} $WINDLASS_IDEMPOTENCY_KEY" >> trace; test -e ok' }
  ship: { needs: test, run: "echo ship >> trace" }
"#;

#[test]
fn rerun_does_what_did_not_succeed_and_takes_over_the_rest() {
    let place = Place::with(FLAKY);
    assert_eq!(place.run("run").code, Some(1));
    place.file("ok", "");
    place.file("windlass.yml", "name: flaky\nsteps:\n  other: { run: 'true' }\n");
    let again = place.run("rerun latest --failed");
    assert_eq!(again.code, Some(0), "{again:?}");
    let trace = place.lines("trace");
    assert_eq!(trace[0], "make");
    assert_eq!(trace[1], trace[2], "its key and the outputs that it sees are the same");
    assert_eq!(trace[3..], ["ship"]);
    assert_eq!(place.status("make"), "cached");

    let from = place.run("rerun latest --from test");
    assert_eq!(from.code, Some(0), "{from:?}");
    assert_eq!(place.lines("trace")[4..], [trace[1].as_str(), "ship"]);
    let all = place.run("rerun latest");
    assert_eq!(all.code, Some(0), "{all:?}");
    assert_eq!(place.lines("trace")[6..], ["make", trace[1].as_str(), "ship"]);
    let wrong = place.run("rerun latest --from tset");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("`test`"), "{}", wrong.err);
}
