//! Steps are spread over the workers that can run them.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::step;
use crate::support::waiting::{pause, until};

/// Six steps without needs, and four that need them.
const TEN: &str = "\
name: ten
steps:
  a1: { run: 'echo + a1 >> trace; sleep 0.4; echo - a1 >> trace' }
  a2: { run: 'echo + a2 >> trace; sleep 0.4; echo - a2 >> trace' }
  a3: { run: 'echo + a3 >> trace; sleep 0.4; echo - a3 >> trace' }
  a4: { run: 'echo + a4 >> trace; sleep 0.4; echo - a4 >> trace' }
  a5: { run: 'echo + a5 >> trace; sleep 0.4; echo - a5 >> trace' }
  a6: { run: 'echo + a6 >> trace; sleep 0.4; echo - a6 >> trace' }
  b1: { needs: [a1, a2], run: 'echo + b1 >> trace; echo - b1 >> trace' }
  b2: { needs: [a3, a4], run: 'echo + b2 >> trace; echo - b2 >> trace' }
  b3: { needs: [a5, a6], run: 'echo + b3 >> trace; echo - b3 >> trace' }
  c: { needs: [b1, b2, b3], run: 'echo + c >> trace; echo - c >> trace' }
";

#[test]
fn ten_steps_run_on_a_leader_and_two_workers_in_their_order() {
    let cluster = LocalCluster::start("--jobs 1");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 1"));
    let run = cluster.ended(&cluster.submit(TEN));
    assert_eq!(
        (&run["status"], &run["counts"]),
        (&json!("succeeded"), &json!({ "succeeded": 10 }))
    );
    let first = ["a1", "a2", "a3", "a4", "a5", "a6"];
    let by: BTreeSet<&str> = first.iter().map(|name| worker_of(&run, name)).collect();
    assert_eq!(by.len(), 3, "everybody got some: {by:?}");
    let trace = cluster.project.lines("trace");
    let at = |line: &str| trace.iter().position(|it| it == line).expect("it was written");
    for (step, needs) in
        [("b1", ["a1", "a2"]), ("b2", ["a3", "a4"]), ("b3", ["a5", "a6"]), ("c", ["b1", "b3"])]
    {
        for need in needs {
            assert!(at(&format!("- {need}")) < at(&format!("+ {step}")), "{trace:?}");
        }
    }
}

#[test]
fn outputs_of_one_worker_are_read_by_another() {
    let cluster = LocalCluster::start("--no-exec");
    let _one = cluster.worker("one", "--label left");
    let _two = cluster.worker("two", "--label right");
    let odd = r#"two words, "quotes", ünï and 'more'"#;
    let pipeline = format!(
        "name: read\nsteps:\n  find:\n    requires: [left]\n    run: |\n      cat >> \"$WINDLASS_OUTPUT\" <<'END'\n      \
         found={odd}\n      count:=[1, 2, {{\"deep\": null}}]\n      END\n    outputs: [found, count]\n  \
         use:\n    requires: [right]\n    needs: find\n    env: {{ FOUND: '${{{{ steps.find.outputs.found }}}}' }}\n    \
         run: printf '%s' \"$FOUND\" > found\n"
    );
    let run = cluster.ended(&cluster.submit(&pipeline));
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!((worker_of(&run, "find"), worker_of(&run, "use")), ("one", "two"));
    assert_eq!(cluster.project.read("found"), odd);
    assert_eq!(step(&run, "find")["outputs"]["count"], json!([1, 2, { "deep": null }]));
}

#[test]
fn a_run_waits_for_a_worker_that_joins_late() {
    let cluster = LocalCluster::start("--no-exec");
    let run = cluster.submit("name: late\nsteps: { a: { run: 'true' } }\n");
    let why = cluster.get(&format!("/runs/{run}/steps/a/why"));
    assert!(why.to_string().contains("no_worker"), "{why}");
    let _late = cluster.worker("late", "");
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
}

#[test]
fn leader_without_workers_runs_every_step() {
    let cluster = LocalCluster::start("--jobs 2");
    let run = cluster.ended(&cluster.submit(TEN));
    assert_eq!(run["counts"], json!({ "succeeded": 10 }));
}

#[test]
fn leader_runs_only_pinned_steps_with_no_exec() {
    let cluster = LocalCluster::start("--no-exec");
    let _one = cluster.worker("one", "");
    let run = cluster.ended(&cluster.submit(
        "name: pin\nsteps:\n  there: { pin: leader, run: 'true' }\n  anywhere: { matrix: { n: [1, 2, 3] }, run: 'true' }\n",
    ));
    assert_eq!(run["status"], "succeeded");
    assert_ne!(worker_of(&run, "there"), "one");
    for cell in ["anywhere[1]", "anywhere[2]", "anywhere[3]"] {
        assert_eq!(worker_of(&run, cell), "one");
    }
}

#[test]
fn cells_of_a_matrix_go_to_the_workers_that_they_name() {
    let cluster = LocalCluster::start("--no-exec");
    let _workers = ["east", "west"].map(|name| cluster.worker(name, &format!("--label {name}")));
    let run = cluster.ended(&cluster.submit(
        "name: cells\nsteps:\n  t: { matrix: [east, west], run: 'true' }\n  u: { needs: t, run: 'true' }\n",
    ));
    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!((worker_of(&run, "t[east]"), worker_of(&run, "t[west]")), ("east", "west"));
}

#[test]
fn unplaceable_step_is_reported_at_once_and_fails_after_its_wait() {
    let cluster = LocalCluster::start("");
    let pipeline = "name: want\nsteps:\n  t: { requires: [gpu, linux], wait_for_worker: 1s, run: 'true' }\n  u: { needs: t, run: 'true' }\n";
    let (status, answer) = cluster.post("/runs", &json!({ "text": pipeline }));
    assert_eq!(status, 201);
    assert!(answer["warnings"].to_string().contains("gpu"), "{answer}");
    let run = cluster.ended(answer["id"].as_str().expect("an id"));
    assert_eq!(
        (&step(&run, "t")["status"], &step(&run, "u")["status"]),
        (&json!("failed"), &json!("blocked"))
    );
    assert!(step(&run, "t")["reason"].to_string().contains("gpu"), "{run}");
    // A worker that joins later is too late.
    let _late = cluster.worker("late", "--label gpu");
    assert_eq!(
        step(&cluster.ended(answer["id"].as_str().expect("an id")), "t")["status"],
        "failed"
    );
}

#[test]
fn a_lock_holds_across_machines() {
    let cluster = LocalCluster::start("--jobs 2");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 2"));
    let run = cluster.ended(&cluster.submit(
        "name: locks\nsteps:\n  s:\n    matrix: { n: [1, 2, 3, 4, 5, 6, 7, 8] }\n    lock: port\n    \
         run: 'mkdir held || echo beside >> beside; sleep 0.05; rmdir held'\n",
    ));
    assert_eq!(run["counts"], json!({ "succeeded": 8 }), "{run}");
    assert_eq!(cluster.project.read("beside"), "");
}

#[test]
fn a_worker_opens_no_port() {
    let cluster = LocalCluster::start("--no-exec");
    let one = cluster.worker("one", "");
    let inodes: BTreeSet<String> = std::fs::read_dir(format!("/proc/{}/fd", one.pid()))
        .expect("it is ours")
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|link| {
            let link = link.to_string_lossy().into_owned();
            link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).map(str::to_owned)
        })
        .collect();
    assert!(!inodes.is_empty(), "it has connections");
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let listens = columns.get(3) == Some(&"0A") || table.starts_with("udp");
            let its = columns.get(9).is_some_and(|inode| inodes.contains(*inode));
            assert!(!(listens && its), "{line}");
        }
    }
}

#[test]
fn retry_elsewhere_uses_another_worker() {
    let cluster = LocalCluster::start("--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 1"));
    let run = cluster.ended(&cluster.submit(
        "name: else\nsteps:\n  s:\n    retry: { times: 3, elsewhere: true, wait: 10ms }\n    \
         run: 'echo $WINDLASS_WORKER >> who; test $(wc -l < who) -ge 2'\n",
    ));
    assert_eq!(run["status"], "succeeded", "{run}");
    let who = cluster.project.lines("who");
    assert_ne!(who[0], who[1], "{who:?}");
}

#[test]
fn output_is_available_while_a_step_runs_and_after_its_end() {
    let cluster = LocalCluster::start("--no-exec");
    let _one = cluster.worker("one", "");
    let run = cluster.submit(
        "name: logs\nsteps:\n  s: { run: 'echo first; until test -e go; do sleep 0.02; done; echo last' }\n",
    );
    let log = format!("/runs/{run}/logs/0/1/1?from=0");
    let read = || cluster.try_get(&log).map(|log| log.text()).unwrap_or_default();
    until("the first line is there", || read() == "first\n");
    let waits = format!("{log}&wait_ms=20000").replace("from=0", "from=6");
    let follower = std::thread::scope(|scope| {
        let more = scope.spawn(|| cluster.try_get(&waits).expect("it answers").text());
        pause(std::time::Duration::from_millis(50));
        cluster.project.file("go", "");
        more.join().expect("it does not panic")
    });
    assert_eq!(follower, "last\n");
    cluster.ended(&run);
    assert_eq!(read(), "first\nlast\n");
}

/// As the README states, nothing needs a name that the user must choose.
#[test]
fn a_worker_beside_its_controller_needs_no_name_and_commands_beside_it_no_address() {
    let cluster = LocalCluster::start("");
    let _worker =
        cluster.project.start(&format!("worker --join http://127.0.0.1:{}", cluster.port));
    let names = || {
        let workers = cluster.project.data("workers --json");
        let names = workers.lines().map(serde_json::from_str::<serde_json::Value>);
        names.map(|it| it.expect("JSON")["name"].as_str().expect("a name").to_owned()).collect()
    };
    until("both are there", || {
        let names: Vec<String> = names();
        names.len() == 2 && names.iter().any(|name| name.ends_with("-worker"))
    });
    assert_eq!(cluster.project.run("locks").code, Some(0));
}
