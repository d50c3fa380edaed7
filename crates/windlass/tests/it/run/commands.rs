//! Commands about a run before, while and after it runs.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::support::http_client::HttpRequest;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const CHAIN: &str = r#"
name: chain
params:
  word: { default: plain }
steps:
  a: { tags: [quick], run: "echo a ${{ params.word }} >> trace" }
  b: { needs: a, run: "echo b >> trace" }
  c: { needs: b, run: "echo c >> trace" }
  z: { run: "echo z >> trace" }
"#;

fn traced(line: &str) -> Vec<String> {
    let project = ProjectFolder::with(CHAIN);
    let ended = project.run(line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut trace = project.lines("trace");
    trace.sort();
    trace
}

#[test]
fn a_part_of_a_pipeline_runs_alone() {
    assert_eq!(traced("run b"), ["a plain", "b"]);
    assert_eq!(traced("run --until b"), ["a plain", "b"]);
    assert_eq!(traced("run --only b"), ["b"]);
    assert_eq!(traced("run --from b"), ["b", "c"]);
    assert_eq!(traced("run --tag quick"), ["a plain"]);
    assert_eq!(traced("run a -p word=given"), ["a given"]);
    assert!(traced("run --dry-run").is_empty());
}

#[test]
fn single_job_runs_steps_in_the_order_of_the_file() {
    let steps: Vec<String> =
        (0..20).map(|n| format!("  s{n}: {{ run: 'echo {n} >> trace' }}\n")).collect();
    let project = ProjectFolder::with(&format!("name: order\nsteps:\n{}", steps.concat()));
    project.data("run --jobs 1");
    let expected: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    assert_eq!(project.lines("trace"), expected);
}

const FAILS: &str = r#"
name: fails
steps:
  bad: { run: "exit 1" }
  needs-bad: { needs: bad, run: "echo no >> trace" }
  slow: { run: "until test -e go; do sleep 0.02; done" }
  other: { needs: slow, run: "echo other >> trace" }
  always: { needs: bad, if: always(), run: "echo always >> trace" }
"#;

#[test]
fn first_failure_ends_a_run_without_keep_going() {
    let project = ProjectFolder::with(FAILS);
    assert_eq!(project.run("run --jobs 4").code, Some(1));
    assert_eq!(project.lines("trace"), ["always"]);
    assert_eq!(project.status("slow"), "cancelled");
    let project = ProjectFolder::with(FAILS);
    let running = project.start("run --jobs 4 --keep-going");
    project.until_lines("trace", 1);
    project.file("go", "");
    assert_eq!(running.ended().code, Some(1));
    assert_eq!(project.lines("trace"), ["always", "other"]);
    assert_eq!(project.status("needs-bad"), "blocked");
}

#[test]
fn missing_outputs_are_reported() {
    let project =
        ProjectFolder::with("name: o\nsteps:\n  a: { outputs: [v], run: 'echo hi; echo there' }\n");
    let ended = project.run("run");
    assert_eq!(ended.code, Some(1));
    let text = "the step declares the output v and did not write it";
    assert!(ended.err.contains(text), "{}", ended.err);
    assert!(
        ended.err.contains("exit 0, but its outputs do not match the declaration"),
        "{}",
        ended.err
    );
}

#[test]
fn unplaceable_named_step_is_reported_with_its_exit_code() {
    let project =
        ProjectFolder::with("name: g\nsteps:\n  g: { requires: gpu-of-nobody, run: true }\n");
    let named = project.run("run g");
    assert_eq!(named.code, Some(4));
    assert!(named.err.contains("error: a step that was named was skipped"), "{named:?}");
    assert_eq!(project.run("run").code, Some(0));
}

/// Each queued step has a pipe, so with few descriptors fewer steps are queued.
#[test]
fn low_descriptor_limit_fails_no_step() {
    let steps = (0..300).map(|at| format!("  s{at}: {{ run: \"true\" }}"));
    let steps = steps.collect::<Vec<_>>().join("\n");
    let project = ProjectFolder::with(&format!("name: few\nsteps:\n{steps}\n"));
    let mut command = project.program("sh");
    command.args(["-c", "ulimit -n 160; exec \"$W\" run --jobs 4"]);
    command.env("W", env!("CARGO_BIN_EXE_windlass"));
    let ended = project.start_command(command).ended();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn a_run_has_a_deadline() {
    let project = ProjectFolder::with(
        "name: late\nsteps:\n  a: { run: 'echo a >> trace; sleep 1000' }\n  b: { needs: a, run: 'echo b >> trace' }\n",
    );
    let ended = project.run("run --timeout 400ms");
    assert!(ended.err.contains(": its deadline passed; "), "{}", ended.err);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(project.lines("trace"), ["a"]);
    project.until_nothing_is_left(&[]);
}

#[test]
fn logs_are_followed_while_a_step_runs() {
    let project = ProjectFolder::with(
        "name: logs\nsteps:\n  talk: { run: 'echo one; echo >> trace; until test -e go; do sleep 0.02; done; echo two' }\n",
    );
    let running = project.start("run");
    project.until_lines("trace", 1);
    let following = project.start("logs latest talk -f");
    let snapshot = || project.data("logs latest talk");
    until("the first line is there", || snapshot() == "one\n");
    project.file("go", "");
    assert_eq!(following.ended().out, "one\ntwo\n");
    assert_eq!(running.ended().code, Some(0));
    assert_eq!(snapshot(), "one\ntwo\n");
}

#[test]
fn logs_of_a_step_that_is_tried_again_are_followed_to_its_end() {
    let project = ProjectFolder::with(
        "name: tries\nsteps:\n  talk: { retry: { times: 1, wait: 500ms }, run: 'echo \"try $WINDLASS_ATTEMPT\"; echo >> trace; until test -e go; do sleep 0.02; done; test $WINDLASS_ATTEMPT = 2' }\n",
    );
    let running = project.start("run");
    project.until_lines("trace", 1);
    let following = project.start("logs latest talk -f");
    project.file("go", "");
    assert_eq!(running.ended().code, Some(0));
    let out = following.ended().out;
    assert!(out.ends_with("try 2\n"), "{out:?}");
    assert_eq!(project.data("logs latest talk --attempt 1"), "try 1\n");
    assert_eq!(project.data("logs latest talk"), "try 2\n");
}

#[test]
fn logs_of_a_whole_run_are_followed_to_its_end() {
    let project = ProjectFolder::with(
        "name: two\nsteps:\n  one: { run: 'echo first; echo >> trace; until test -e go; do sleep 0.02; done; echo second' }\n  two: { needs: one, run: 'printf third' }\n",
    );
    let running = project.start("run");
    project.until_lines("trace", 1);
    let following = project.start("logs latest -f");
    let objects = project.start("logs -f --json");
    project.file("go", "");
    assert_eq!(running.ended().code, Some(0));
    let followed = following.ended();
    assert_eq!((followed.code, &*followed.out), (Some(0), "first\nsecond\nthird"));
    assert!(followed.err.contains("── two"), "{}", followed.err);
    let objects = objects.ended().out;
    let objects = objects.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let lines: Vec<String> =
        objects.map(|it| format!("{} {} {}", it["name"], it["attempt"], it["line"])).collect();
    assert_eq!(lines, [r#""one" 1 "first""#, r#""one" 1 "second""#, r#""two" 1 "third""#]);
}

#[test]
fn commands_that_read_print_json() {
    let project = ProjectFolder::with(CHAIN);
    project.data("run a");
    let json = |line: &str| -> Value {
        let out = project.data(line);
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line}: {error}: {out}"))
    };
    assert_eq!(json("watch --json")["status"], "succeeded");
    assert_eq!(json("show --json")["steps"][0]["name"], "a");
    assert_eq!(json("why latest a --json")["status"], "succeeded");
    assert_eq!(json("runs --json")["counts"]["succeeded"], 1);
    assert_eq!(json("doctor --json")["guard"]["ok"], true);
    assert_eq!(json("plan --json")["pipeline"], "chain");
    assert_eq!(project.data("logs --json"), "", "it printed nothing");
}

#[test]
fn why_names_the_reason_of_a_waiting_step() {
    let project = ProjectFolder::with(
        r#"
name: waits
steps:
  holder: { lock: printer, priority: 10, run: "echo holder >> trace; until test -e go; do sleep 0.02; done" }
  waiter: { lock: printer, run: "echo waiter >> trace" }
  later: { needs: waiter, run: "true" }
"#,
    );
    let running = project.start("run --jobs 4");
    project.until_lines("trace", 1);
    let why = project.data("why latest waiter");
    assert!(why.contains("printer") && why.contains("holder"), "{why}");
    let why = project.data("why latest later");
    assert!(why.contains("waiter"), "{why}");
    project.file("go", "");
    assert_eq!(running.ended().code, Some(0));
    let why = project.data("why latest waiter");
    assert!(why.contains("succeeded"), "{why}");
}

#[test]
fn runs_are_listed_one_object_a_line() {
    let project = ProjectFolder::with(CHAIN);
    project.data("run a");
    project.data("run z");
    let listed = project.data("runs --json");
    let runs: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run["status"] == "succeeded" && run["pipeline"] == "chain"));
    let id = |run: &Value| run["id"].as_str().expect("it has an id").to_owned();
    assert_eq!(project.show()["id"], runs[0]["id"], "the newest comes first");
    let older = id(&runs[1]);
    assert!(project.data(&format!("show {older} --json")).contains(&older));
}

#[test]
fn events_are_json_one_a_line_and_nothing_else() {
    let project = ProjectFolder::with(CHAIN);
    let events = project.data("run --json");
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    assert_eq!(events[0]["type"], "run_submitted");
    assert_eq!(events[events.len() - 1]["type"], "run_ended");
    let positions: Vec<u64> = events.iter().filter_map(|event| event["pos"].as_u64()).collect();
    assert!(positions.is_sorted() && positions.len() == events.len());
    let named = |event: &Value| event["name"].is_string() == event["step"].is_number();
    assert!(events.iter().all(named), "{events:?}");
    let ended = events.iter().filter(|event| event["type"] == "lease_ended");
    let mut ended: Vec<&str> = ended.filter_map(|event| event["name"].as_str()).collect();
    ended.sort_unstable();
    assert_eq!(ended, ["a", "b", "c", "z"]);
}

#[test]
fn a_step_may_run_a_pipeline_of_its_own() {
    let inner = "name: inner\nsteps:\n  a: { run: 'echo $WINDLASS_STEP >> ../trace' }\n";
    let project =
        ProjectFolder::with("name: outer\nsteps:\n  nest: { run: 'cd sub; \"$W\" run' }\n")
            .set("W", env!("CARGO_BIN_EXE_windlass"));
    std::fs::create_dir(project.path().join("sub")).expect("it is new");
    project.file("sub/windlass.yml", inner);
    project.data("run");
    assert_eq!(project.lines("trace"), ["a"]);
}

#[test]
fn a_run_in_memory_leaves_nothing_behind() {
    let project = ProjectFolder::with(CHAIN);
    let temporary = project.path().join("temporary");
    std::fs::create_dir(&temporary).expect("it is new");
    let mut command = project.command("run --store memory");
    command.env("TMPDIR", &temporary);
    assert_eq!(project.start_command(command).ended().code, Some(0));
    assert!(!project.path().join(".windlass").exists());
    assert_eq!(std::fs::read_dir(&temporary).expect("it is there").count(), 0);
}

const PICKY: &str = r#"
name: picky
params:
  word: { default: plain }
steps:
  cell: { matrix: { os: [linux], n: ["a b"] }, run: "echo \"cell ${{ params.word }}\" >> trace; exit 1" }
  plain: { requires: [moon], run: "echo \"plain ${{ params.word }}\" >> trace; exit 1" }
"#;

#[test]
fn every_hint_works_when_pasted() {
    let project = ProjectFolder::with("steps: { none: { run: 'true' } }");
    project.file("my file.yml", PICKY);
    let mut command = project.command("run --keep-going --label moon --store ./the/runs");
    command.args(["my file.yml", "-p", "word=it's $HOME"]);
    let failed = project.start_command(command).ended();
    assert_eq!(failed.code, Some(1), "{failed:?}");
    let once = ["cell it's $HOME", "plain it's $HOME"];
    let sorted = || {
        let mut lines = project.lines("trace");
        lines.sort();
        lines
    };
    assert_eq!(sorted(), once);
    let mut parts: Vec<&str> = failed.err.split("run it again").skip(1).collect();
    // The cell is last: it runs again without the label.
    parts.sort_by_key(|part| part.contains("cell["));
    for part in parts {
        let again = project.pasted(part, "windlass run");
        assert_eq!(again.code, Some(1), "{again:?}");
        let log = project.pasted(part, "windlass logs");
        assert_eq!(log.code, Some(0), "{log:?}");
    }
    assert_eq!(sorted(), [once[0], once[0], once[1], once[1]], "with its params");
    let shown = project.data("show latest --store the/runs");
    let rerun = project.pasted(&shown, "windlass rerun");
    assert_eq!(rerun.code, Some(1), "{rerun:?}");
    assert_eq!(project.lines("trace").len(), 5, "in the folder of the project");
    assert!(!project.path().join(".windlass").exists());
}

#[test]
fn a_run_answers_the_api_on_its_socket_to_its_owner_alone() {
    let project = ProjectFolder::with(
        "name: waits\nsteps:\n  a: { run: 'echo >> trace; until test -e go; do sleep 0.02; done' }\n",
    );
    let running = project.start("run");
    project.until_lines("trace", 1);
    let socket = project.path().join(".windlass/leader.sock");
    let mode = std::fs::metadata(&socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let run = ask(&socket, "/runs/latest");
    assert_eq!(
        (run["pipeline"].as_str(), run["steps"][0]["name"].as_str()),
        (Some("waits"), Some("a"))
    );
    assert_eq!(ask(&socket, "/cluster")["id"], "local");
    project.file("go", "");
    assert_eq!(running.ended().code, Some(0));
    let refused = std::os::unix::net::UnixStream::connect(&socket);
    assert!(refused.is_err(), "nothing listens any more");
}

/// The JSON that the API behind a socket answers.
fn ask(socket: &std::path::Path, path: &str) -> Value {
    let stream = std::os::unix::net::UnixStream::connect(socket).expect("the run listens");
    HttpRequest::get(path).send_over(stream).expect("the run answers").json
}

#[test]
fn step_environment_has_its_own_identity_only() {
    let project = ProjectFolder::with(
        "name: who\nsteps:\n  cell: { matrix: { os: [linux], size: [2] }, run: 'env | grep ^WINDLASS_ > vars' }\n",
    )
    .set("WINDLASS_RUN_SECRET", "hush")
    .set("OTHER", "stays");
    project.data("run");
    let mut vars = project.lines("vars");
    vars.sort();
    let names: Vec<&str> = vars.iter().filter_map(|line| line.split('=').next()).collect();
    let known = [
        "WINDLASS_ATTEMPT",
        "WINDLASS_FENCE",
        "WINDLASS_GUARD",
        "WINDLASS_IDEMPOTENCY_KEY",
        "WINDLASS_MATRIX_OS",
        "WINDLASS_MATRIX_SIZE",
        "WINDLASS_OUTPUT",
        "WINDLASS_RUN",
        "WINDLASS_STEP",
        "WINDLASS_SUMMARY",
        "WINDLASS_WORKER",
    ];
    assert_eq!(names, known);
    let run = project.show()["id"].as_str().expect("it has an id").to_owned();
    let worker = project.step("cell[linux,2]")["attempts"][0]["worker"].as_str().map(str::to_owned);
    let worker = worker.expect("it has a worker");
    let text = ["WINDLASS_ATTEMPT=1", "WINDLASS_MATRIX_SIZE=2", "WINDLASS_STEP=cell[linux,2]"];
    let lines = text.map(str::to_owned).into_iter();
    for line in lines.chain([format!("WINDLASS_RUN={run}"), format!("WINDLASS_WORKER={worker}")]) {
        assert!(vars.contains(&line), "{line} in {vars:?}");
    }
}

#[test]
fn mistyped_words_get_a_suggestion() {
    let project = ProjectFolder::with(CHAIN);
    project.data("run a");
    project.data("run b");
    let wrong = |line: &str, meant: &str| {
        let ended = project.run(line);
        assert_eq!((ended.code, &*ended.out), (Some(2), ""), "{line}: {ended:?}");
        assert!(ended.err.contains(meant), "{line}: {}", ended.err);
    };
    wrong("shwo", "'show'");
    wrong("run --ouput none", "'--output'");
    wrong("run bb", "did you mean `b`?");
    wrong("run --only bb", "did you mean `b`?");
    wrong("why latest bb", "did you mean `b`?");
    wrong("rerun latest --from bb", "did you mean `b`?");
    wrong("run -p wrod=x", "`word`");
    wrong("run --tag quik", "`quick`");
    wrong("show nosuch", "`windlass runs` lists them");
    let ids: Vec<String> = project
        .data("runs --json")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("it is JSON")["id"].to_string())
        .map(|id| id.trim_matches('"').to_owned())
        .collect();
    let shared = ids[0].chars().zip(ids[1].chars()).take_while(|(one, other)| one == other).count();
    wrong(&format!("show {}", &ids[0][..shared]), &ids[1]);
    let unique = project.data(&format!("show {} --json", &ids[0][..=shared]));
    assert!(unique.contains(&ids[0]), "{unique}");
}

#[test]
fn a_database_is_refused_as_the_store_of_a_run_and_its_password_is_written_nowhere() {
    let project = ProjectFolder::with("steps:\n  a: { run: 'true' }\n");
    for url in
        ["postgres://me:hunter22@db.example/runs", "postgresql://me:hunter22@db.example/runs"]
    {
        let ended = project.run(&format!("run --store {url}"));
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        assert!(ended.err.contains("windlass serve --store postgres://"), "{}", ended.err);
        assert!(ended.err.contains("windlass submit FILE"), "{}", ended.err);
        assert!(!ended.err.contains("hunter22"), "{}", ended.err);
    }
    let files = std::fs::read_dir(project.path()).expect("a folder");
    let names: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with("postgres")), "{names:?}");
}
