//! `windlass submit`: the file is checked here and runs on the cluster.

use serde_json::Value;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;

const CHAIN: &str = r#"
name: chain
params:
  word: { default: plain }
steps:
  a: { tags: [quick], run: "echo a ${{ params.word }} >> trace" }
  b: { needs: a, run: "echo b >> trace" }
  c: { needs: b, run: "echo c >> trace" }
"#;

#[test]
fn submission_prints_its_id_and_the_command_to_watch() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(CHAIN), "--jobs 4");
    let ended = cluster.run("submit -p word=given");
    let run = ended.out.trim().to_owned();
    assert_eq!(ended.code, Some(0));
    let (url, watch) = (&cluster.url, format!("windlass watch {run} --to {}", cluster.url));
    assert_eq!(ended.err, format!("submitted to {url}; `{watch}` shows it\n"));
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    assert_eq!(cluster.project.lines("trace"), ["a given", "b", "c"]);
}

#[test]
fn a_part_of_a_pipeline_is_submitted_alone() {
    for (line, trace) in [
        ("submit b", vec!["a plain", "b"]),
        ("submit --only b", vec!["b"]),
        ("submit --from b", vec!["b", "c"]),
        ("submit --tag quick", vec!["a plain"]),
    ] {
        let cluster = LocalCluster::start_in(ProjectFolder::with(CHAIN), "--jobs 4");
        assert_eq!(cluster.run(&format!("{line} --wait")).code, Some(0), "{line}");
        assert_eq!(cluster.project.lines("trace"), trace, "{line}");
    }
}

#[test]
fn invalid_pipeline_is_reported_locally_and_not_sent() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(CHAIN), "--jobs 4");
    cluster.project.file("wrong.yml", "name: wrong\nsteps:\n  a: { run: 'true', neds: b }\n");
    for line in ["wrong.yml", "-p wrod=x", "nothing", "missing.yml"] {
        let (here, there) =
            (cluster.project.run(&format!("run {line}")), cluster.run(&format!("submit {line}")));
        assert_eq!((there.code, &*there.err), (here.code, &*here.err), "{line}");
        assert!([Some(2), Some(3)].contains(&there.code), "{there:?}");
    }
    assert_eq!(cluster.data("runs --json"), "");
}

#[test]
fn same_key_returns_the_same_run() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(CHAIN), "--jobs 4");
    let first = cluster.run("submit --idempotency-key nightly");
    let again = cluster.run("submit --idempotency-key nightly");
    assert_eq!((&again.out, again.code), (&first.out, Some(0)));
    assert!(again.err.contains("this key was submitted before"), "{again:?}");
    let other = cluster.run("submit --idempotency-key nightly -p word=other");
    assert_eq!((other.code, &*other.out), (Some(2), ""));
    assert!(
        other.err.contains("another body") && other.err.contains(first.out.trim()),
        "{other:?}"
    );
    assert_eq!(cluster.data("runs --json").lines().count(), 1);
    let watched = cluster.run("submit --idempotency-key nightly --wait");
    assert_eq!((watched.code, watched.out), (Some(0), first.out));
}

#[test]
fn submit_wait_exits_as_a_local_run_does() {
    let cluster = LocalCluster::start_in(
        ProjectFolder::with("name: bad\nsteps:\n  a: { run: 'echo oops; exit 3' }\n"),
        "--jobs 4",
    );
    let ended = cluster.run("submit --wait");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("✗ a") && ended.err.contains("bad failed in"), "{}", ended.err);
    assert!(ended.out.ends_with("\noops\n"), "{}", ended.out);
    let log = format!("--to {}", cluster.url);
    assert!(ended.err.contains(&log), "the hint can be pasted: {}", ended.err);
}

#[test]
fn submit_wait_json_prints_events() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(CHAIN), "--jobs 4");
    let printed = cluster.data("submit --wait --json");
    let read = |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON");
    let mut lines = printed.lines().map(read);
    let submitted = lines.next().expect("the submission comes first");
    assert_eq!(
        (&submitted["known"], &submitted["warnings"]),
        (&false.into(), &Value::Array(vec![]))
    );
    let events: Vec<Value> = lines.collect();
    assert!(events.iter().all(|event| event["run"] == submitted["id"]), "{printed}");
    assert_eq!(events[events.len() - 1]["type"], "run_ended");
    let ended = events.iter().filter(|event| event["type"] == "lease_ended").count();
    assert_eq!(ended, 3, "{printed}");
}

#[test]
fn unplaceable_step_is_reported_on_submission() {
    let cluster = LocalCluster::start_in(
        ProjectFolder::with("name: far\nsteps:\n  a: { requires: [warp-drive], run: 'true' }\n"),
        "--jobs 4",
    );
    let ended = cluster.run("submit");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("warning:") && ended.err.contains("warp-drive"), "{}", ended.err);
    let run = ended.out.trim();
    let why = cluster.data(&format!("why {run} a"));
    assert!(why.contains("it waits for a worker with warp-drive"), "{why}");
}

#[test]
fn submit_without_a_controller_fails() {
    let project = ProjectFolder::with(CHAIN);
    let ended = project.run("submit");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("no controller is named"), "{}", ended.err);
    let ended = project.run("submit --to http://127.0.0.1:1");
    assert_eq!(ended.code, Some(5));
    assert!(ended.err.contains("http://127.0.0.1:1 cannot be reached"), "{}", ended.err);
}

#[test]
fn run_on_a_led_store_points_to_its_controller() {
    let cluster = LocalCluster::start_in(
        ProjectFolder::with("name: a\nsteps:\n  s: { run: 'true' }\n"),
        "--jobs 4",
    );
    for line in ["run", "serve --listen 127.0.0.1:0"] {
        let refused = cluster.project.run(line);
        assert_eq!(refused.code, Some(5), "{line}: {refused:?}");
        let hint = format!("`windlass submit FILE --to {}`", cluster.url);
        assert!(refused.err.contains(&hint), "{line}: {}", refused.err);
    }
}
