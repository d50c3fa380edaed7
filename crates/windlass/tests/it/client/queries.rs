//! Every query of a store works with a controller too, and gives the same answer.

use serde_json::Value;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const PIPELINE: &str = r#"
name: ship
locks: { farm: 1 }
steps:
  lint: { run: "echo linting" }
  test:
    needs: lint
    matrix: { db: [sqlite, postgres] }
    run: 'echo "testing ${{ matrix.db }}"; test ${{ matrix.db }} = sqlite'
  bundle: { needs: test, run: "echo bundling" }
"#;

#[test]
fn controller_and_store_give_the_same_answers() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(PIPELINE), "--jobs 4");
    let run = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&run), "failed");
    let here = |line: &str| cluster.project.run(&format!("{line} --store .windlass"));
    for line in [
        format!("show {run}"),
        format!("show {run} --json"),
        format!("logs {run} lint"),
        format!("logs {run}"),
        format!("logs {} test[postgres] --attempt 1", &run[..11]),
        format!("why {run} bundle"),
        format!("why {run} bundle --json"),
        format!("logs {run} --grep testing"),
        format!("logs {run} lint --grep ing --json"),
        "show latest --json".to_owned(),
        "runs --json".to_owned(),
    ] {
        let (there, here) = (cluster.run(&line), here(&line));
        let flags = [format!(" --to {}", cluster.url), " --store .windlass".to_owned()];
        let plain = |text: &str| text.replace(&flags[0], "").replace(&flags[1], "");
        assert_eq!(plain(&there.out), plain(&here.out), "{line}");
        assert_eq!((there.code, plain(&there.err)), (here.code, plain(&here.err)), "{line}");
        assert!(!there.out.is_empty(), "{line}");
    }
    for wrong in ["show nope", "logs latest nope", "why latest bundel", "cancel latest"] {
        let ended = cluster.run(wrong);
        assert_eq!(ended.code, Some(2), "{wrong}: {ended:?}");
    }
    assert!(cluster.run("why latest bundel").err.contains("did you mean `bundle`?"));
}

#[test]
fn rerun_happens_in_the_cluster_of_the_run() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(PIPELINE), "--jobs 4");
    // Without this the failing cell may stop the other one, in the run and in the rerun.
    let first = cluster.data("submit --keep-going").trim().to_owned();
    assert_eq!(cluster.status_at_end(&first), "failed");
    let again = cluster.run("rerun latest --failed --wait");
    assert_eq!(again.code, Some(1), "{again:?}");
    let run = again.out.lines().next().expect("an id").to_owned();
    let shown = cluster.show(&run);
    assert_eq!(shown["counts"], serde_json::json!({ "blocked": 1, "cached": 2, "failed": 1 }));
    let named = cluster.data("rerun latest --from test[sqlite]").trim().to_owned();
    assert_eq!(cluster.status_at_end(&named), "failed");
    assert_eq!(cluster.show(&named)["counts"]["succeeded"], 1, "the cell that was named");
    assert!(cluster.run("rerun latest --from lnt").err.contains("did you mean `lint`?"));
    cluster.project.file("good.yml", "name: good\nsteps:\n  a: { run: 'true' }\n");
    let good = cluster.data("submit good.yml").trim().to_owned();
    cluster.status_at_end(&good);
    let nothing = cluster.run("rerun latest --failed");
    assert_eq!(
        (nothing.code, &*nothing.err),
        (Some(0), &*format!("run {good}: every step succeeded\n"))
    );
}

#[test]
fn step_summary_is_shown_from_any_worker() {
    let text = r###"
steps:
  here: { pin: leader, run: 'echo "## Sizes of here" >> "$WINDLASS_SUMMARY"' }
  there: { requires: moon, secrets: [TOKEN], run: 'echo printed; echo "## Sizes of $TOKEN" >> "$WINDLASS_SUMMARY"' }
"###;
    let project = ProjectFolder::with(text).set("TOKEN", "hunter22");
    let cluster = LocalCluster::start_in(project, "--jobs 4");
    let join = format!("worker --join {} --name far --label moon --state far", cluster.url);
    let worker = cluster.project.start(&join);
    let run = cluster.submit_project();
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    for shown in
        [cluster.data("show latest"), cluster.project.data("show latest --store .windlass")]
    {
        assert!(shown.contains("## Sizes of here\n"), "{shown}");
        assert!(shown.contains("## Sizes of ***\n"), "{shown}");
    }
    let steps = cluster.show(&run)["steps"].clone();
    assert_eq!(steps[1]["summary"], "## Sizes of ***\n", "{steps}");
    assert_eq!(cluster.data("logs latest"), "printed\n", "it is nothing that was printed");
    assert_eq!(cluster.run("logs latest --grep Sizes").out, "");
    worker.signal(rustix::process::Signal::TERM);
    assert_eq!(worker.ended().code, Some(0));
}

#[test]
fn runs_are_listed_by_status_and_pipeline() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(PIPELINE), "--jobs 4");
    cluster.project.file("good.yml", "name: good\nsteps:\n  a: { run: 'true' }\n");
    let (bad, good) = (cluster.submit_project(), cluster.data("submit good.yml").trim().to_owned());
    cluster.status_at_end(&bad);
    cluster.status_at_end(&good);
    let ids = |line: &str| -> Vec<String> {
        let read = |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON");
        let id = |run: Value| run["id"].as_str().expect("it has one").to_owned();
        cluster.data(line).lines().map(|line| id(read(line))).collect()
    };
    assert_eq!(ids("runs --json"), [&*good, &*bad]);
    assert_eq!(ids("runs --json --limit 1"), [&*good]);
    assert_eq!(ids("runs --json --status failed"), [&*bad]);
    assert_eq!(ids("runs --json --pipeline good"), [&*good]);
    assert_eq!(ids("runs --json --status running").len(), 0);
    let table = cluster.data("runs");
    let rows: Vec<Vec<&str>> =
        table.lines().map(|line| line.split_whitespace().take(4).collect()).collect();
    assert_eq!(rows[0], ["run", "pipeline", "status", "steps"]);
    assert_eq!(rows[1], [&*good, "good", "succeeded", "1"]);
    assert_eq!(rows[2], [&*bad, "ship", "failed", "4"]);
}

const HOLDS: &str = r#"
name: holds
locks: { farm: 1 }
steps:
  holder: { lock: farm, priority: 9, run: "echo in; echo >> trace; until test -e go; do sleep 0.02; done; echo out" }
  waiter: { lock: farm, run: "true" }
"#;

#[test]
fn active_run_shows_lock_holders_and_waiters() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(HOLDS), "--jobs 4");
    let run = cluster.submit_project();
    cluster.project.until_lines("trace", 1);
    let locks = cluster.data("locks");
    let rows: Vec<Vec<&str>> =
        locks.lines().map(|line| line.split_whitespace().take(5).collect()).collect();
    assert_eq!(rows[0], ["lock", "held", "waiting", "by", "of"]);
    assert_eq!(rows[1], ["farm", "1/1", "1", "holder", &*run]);
    let queue = cluster.data("queue");
    let rows: Vec<Vec<&str>> =
        queue.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["requires", "ready", "for", "locks", "longest", "workers", "free"]);
    assert_eq!((rows[1][rows[1].len() - 5], rows[1][rows[1].len() - 4]), ("1", "1"), "{queue}");
    let why = cluster.data(&format!("why {run} holder"));
    assert!(why.starts_with("holder is running for "), "{why}");
    let why = cluster.data(&format!("why {run} waiter"));
    assert!(why.starts_with("waiter is ready: it waits for lock farm, held by holder"), "{why}");
    let lock: Value = serde_json::from_str(&cluster.data("locks --json")).expect("one a line");
    assert_eq!((&lock["name"], &lock["slots"]), (&"farm".into(), &1.into()));
    let following = cluster.begin(&format!("logs {run} holder -f"));
    until("what was printed is followed", || following.printed() == "in\n");
    cluster.project.file("go", "");
    let followed = following.ended();
    assert_eq!((followed.out.as_str(), followed.code), ("in\nout\n", Some(0)));
    assert_eq!(cluster.status_at_end(&run), "succeeded");
    assert_eq!(cluster.run("queue").err, "no step waits for a worker\n");
    assert!(cluster.run("locks").err.contains("no unfinished run uses a lock"));
}

#[test]
fn run_is_cancelled_from_another_machine() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(HOLDS), "--jobs 4");
    let run = cluster.submit_project();
    cluster.project.until_lines("trace", 1);
    let ended = cluster.run(&format!("cancel {run}"));
    assert_eq!(ended.err, format!("run {run} is being cancelled\n"));
    assert_eq!(cluster.status_at_end(&run), "cancelled");
}

#[test]
fn workers_are_listed_and_drained_by_name() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(HOLDS), "--jobs 4");
    let worker = cluster.project.start(&format!(
        "worker --join {} --name helper --slots 3 --label gpu --state helper",
        cluster.url
    ));
    let status = || {
        let listed = cluster.data("workers --json");
        let read = |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON");
        let mut workers = listed.lines().map(read);
        let helper = workers.find(|worker| worker["name"] == "helper");
        helper.map(|it| it["status"].as_str().unwrap_or_default().to_owned()).unwrap_or_default()
    };
    until("the worker has joined", || status() == "online");
    let table = cluster.data("workers");
    let row = table.lines().find(|line| line.starts_with("helper")).expect("it is there");
    assert!(row.contains("online    0/3"), "{table}");
    assert!(row.contains(" gpu "), "what was given is not cut off: {table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let mistyped = cluster.run("worker drain helpr");
    assert_eq!(mistyped.code, Some(2));
    assert!(mistyped.err.contains("did you mean `helper`?"), "{mistyped:?}");
    let drained = cluster.run("worker drain helper");
    assert_eq!(drained.err, "worker helper finishes its steps and gets no new ones\n");
    until("the worker gets nothing more", || status() != "online");
    worker.signal(rustix::process::Signal::TERM);
    assert_eq!(worker.ended().code, Some(0));
    let gone = cluster.run("worker drain helper");
    assert_eq!(gone.code, Some(2), "{gone:?}");
    assert!(gone.err.contains("has ended"), "{}", gone.err);
}
