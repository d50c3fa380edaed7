//! Idempotency keys on one machine: one store, one run after the other.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::project_folder::ProjectFolder;

const SHIP: &str = r#"
name: ship
params: { version: { default: "1" } }
steps:
  build: { outputs: [v], run: 'echo "v=${{ params.version }}" > "$WINDLASS_OUTPUT"' }
  deploy:
    needs: build
    idempotent: "deploy-${{ steps.build.outputs.v }}"
    outputs: [url]
    run: |
      echo "deploy $WINDLASS_RUN" >> trace
      test ! -e broken
      echo "url=https://x.example/$WINDLASS_RUN" > "$WINDLASS_OUTPUT"
  tell: { needs: deploy, run: 'echo "tell ${{ steps.deploy.outputs.url }}" >> told' }
"#;

#[test]
fn next_run_reuses_a_completed_key_with_outputs_and_origin() {
    let project = ProjectFolder::with(SHIP);
    assert_eq!(project.run("run").code, Some(0));
    let first = project.show()["id"].as_str().expect("an id").to_owned();
    let second = project.run("run");
    assert_eq!(second.code, Some(0), "{second:?}");
    assert_eq!(project.lines("trace"), [format!("deploy {first}")]);
    assert_eq!(project.lines("told"), vec![format!("tell https://x.example/{first}"); 2]);
    let deploy = project.step("deploy");
    assert_eq!((&deploy["status"], &deploy["key"]), (&"cached".into(), &"deploy-1".into()));
    assert_eq!(
        (deploy["origin"]["run"].as_str(), deploy["origin"]["name"].as_str()),
        (Some(&*first), Some("deploy"))
    );
    assert!(deploy["origin"]["at"].is_string(), "{deploy}");
    let why = project.data("why latest deploy");
    assert!(why.contains("deploy-1") && why.contains(&first), "{why}");
    let shown = project.data("show latest");
    assert!(shown.contains(&first), "{shown}");
    let keys = project.data("keys");
    assert!(keys.contains("deploy-1") && keys.contains("completed"), "nobody leads here: {keys}");
    let key: Value = serde_json::from_str(&project.data("keys --json")).expect("an object");
    assert_eq!((&key["name"], &key["run"]), (&"deploy".into(), &first.into()));
}

#[test]
fn other_keys_and_forced_repeats_run() {
    let project = ProjectFolder::with(SHIP);
    for line in ["run", "run -p version=2", "run --again", "rerun latest --again", "rerun latest"] {
        assert_eq!(project.run(line).code, Some(0), "{line}");
    }
    assert_eq!(project.lines("trace").len(), 4, "all but the last");
    let newest = project.lines("trace").pop().expect("there are four");
    let origin = project.step("deploy")["origin"]["run"].clone();
    assert_eq!(origin, newest.trim_start_matches("deploy "), "the newest success counts");
}

#[test]
fn failed_key_is_run_again() {
    let project = ProjectFolder::with(SHIP);
    project.file("broken", "");
    assert_eq!(project.run("run").code, Some(1));
    std::fs::remove_file(project.path().join("broken")).expect("it was there");
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.lines("trace").len(), 2);
}

#[test]
fn killed_run_does_not_complete_its_key() {
    let project = ProjectFolder::with(
        "name: slow\nsteps:\n  a: { idempotent: k, run: 'echo a >> trace; until test -e go; do sleep 0.02; done' }\n",
    );
    let running = project.start("run");
    project.until_lines("trace", 1);
    running.signal(Signal::KILL);
    drop(running.ended());
    project.file("go", "");
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.lines("trace").len(), 2);
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.lines("trace").len(), 2);
}

#[test]
fn idempotency_is_in_the_json_output() {
    let project = ProjectFolder::with(SHIP);
    assert_eq!(project.run("run").code, Some(0));
    let events = project.run("run --json").out;
    let read = |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON");
    let recalled = events.lines().map(read).find(|it| it["type"] == "key_recalled");
    let data = &recalled.expect("it is told")["data"];
    assert_eq!((&data["key"], &data["origin"]["name"]), (&"deploy-1".into(), &"deploy".into()));
    let plan = project.run("plan").out;
    assert!(plan.contains("once as deploy-${{ steps.build.outputs.v }}"), "{plan}");
}

#[test]
fn step_that_a_key_reads_must_be_selected_too() {
    let project = ProjectFolder::with(
        "steps:
  build:
    outputs: [digest]
    run: echo digest=7 >> $WINDLASS_OUTPUT
  deploy:
    needs: [build]
    idempotent: deploy-${{ steps.build.outputs.digest }}
    run: echo >> deployed\n",
    );
    let ended = project.run("run --only deploy");
    assert!(
        ended
            .err
            .contains("reads the outputs of `build`, which is not selected: select `build` too"),
        "{ended:?}"
    );
    assert_eq!((ended.code == Some(0), project.lines("deployed").len()), (false, 0));
}
