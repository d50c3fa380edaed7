//! The same file has the same results in one process and over a link.

use serde_json::Value;

use super::each_link::{InstanceLink, over_each_link};
use crate::cluster::parity::{events, outcomes};
use crate::links::redis_cluster::RedisCluster;
use crate::support::cluster::TestCluster as _;
use crate::support::instance_processes::InstanceProcesses;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

/// Two hundred steps, one behind them that reads what another wrote, one that is tried again, and one that fails.
const MANY: &str = r#"
steps:
  make:
    run: echo "word=fish" >> "$WINDLASS_OUTPUT"; echo made
    outputs: [word]
  cut:
    matrix: { part: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19], side: [a,b,c,d,e,f,g,h,i,j] }
    run: sleep 0.02
  flaky:
    retry: { times: 1, wait: 10ms..10ms }
    run: test "$WINDLASS_ATTEMPT" = 2
  broken: { run: exit 3, ignore_failure: true }
  join:
    needs: [make, cut, flaky]
    env: { WORD: "${{ steps.make.outputs.word }}" }
    run: |
      echo "joined $WORD"
      echo "They joined $WORD" >> "$WINDLASS_SUMMARY"
"#;

/// Values that together do not fit into one message, and one that is too large for any step.
const LARGE: &str = r#"
defaults: { retry: 0 }
steps:
  large:
    matrix: { n: [1,2,3,4,5,6,7,8,9,10,11,12] }
    run: |
      printf 'text=%s\n' "$(head -c 60000 /dev/zero | tr '\0' x)" >> "$WINDLASS_OUTPUT"
      seq 1 100000
      sleep 0.1
    outputs: [text]
  oversize:
    run: printf 'text=%s\n' "$(head -c 3000000 /dev/zero | tr '\0' x)" >> "$WINDLASS_OUTPUT"
    outputs: [text]
    ignore_failure: true
  one:
    run: printf 'text=%s\n' "$(head -c 60000 /dev/zero | tr '\0' y)" >> "$WINDLASS_OUTPUT"
    outputs: [text]
  reads:
    needs: [large, one]
    env: { ALL: "${{ steps.one.outputs.text }}" }
    run: printf %s "$ALL" | wc -c
"#;

fn json_lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
}

/// Runs a pipeline in one process and in four, and compares the results.
fn comes_to_the_same(fleet: &InstanceProcesses, pipeline: &str) -> ProjectFolder {
    let alone = ProjectFolder::with(pipeline);
    let here = alone.run("run --json");
    let workers = [1, 2, 3].map(|instance| fleet.start(instance, 4, "--jobs 1"));
    let leader = fleet.start(0, 4, "--jobs 1 --json --min-workers 3").ended();
    assert_eq!(leader.code, here.code, "{leader:?}");
    for worker in workers {
        let ended = worker.ended();
        ended.expect_error(0, "succeeded");
        assert_eq!(ended.out, "", "only the leader tells of the run");
    }
    assert_eq!(outcomes(&alone.show()), outcomes(&fleet.project.show()));
    assert_eq!(events(&json_lines(&here.out)), events(&json_lines(&leader.out)));
    for instance in ["instance-0", "instance-1", "instance-2", "instance-3"] {
        assert!(leader.err.contains(instance), "{instance} did nothing: {}", leader.err);
    }
    alone
}

over_each_link! {
    two_hundred_steps_come_to_the_same,
    large_outputs_come_to_the_same,
}

fn two_hundred_steps_come_to_the_same(way: &InstanceLink) {
    let fleet = way.fleet(MANY);
    comes_to_the_same(&fleet, MANY);
    assert!(fleet.project.data("logs latest join").contains("joined fish"));
}

fn large_outputs_come_to_the_same(way: &InstanceLink) {
    let fleet = way.fleet(LARGE);
    let alone = comes_to_the_same(&fleet, LARGE);
    let printed =
        |project: &ProjectFolder, step: &str| project.data(&format!("logs latest {step}"));
    for step in ["reads", "large[1]", "large[12]"] {
        assert_eq!(printed(&alone, step), printed(&fleet.project, step), "{step}");
    }
}

/// The instances know one node, which has the keys of one run in three.
#[test]
fn two_hundred_steps_end_the_same_over_a_redis_cluster() {
    let nodes = RedisCluster::start();
    for night in ["first", "second", "third"] {
        comes_to_the_same(&InstanceProcesses::at(&nodes.url(), MANY).called(night), MANY);
    }
}

/// Not of one run, but of a cluster: what reaches a controller needs no link.
#[test]
fn two_hundred_steps_end_the_same_over_http() {
    let alone = ProjectFolder::with(MANY);
    let here = alone.run("run --json");
    let cluster = LocalCluster::start("--no-exec");
    let _workers = ["ann", "ben", "cleo"].map(|name| cluster.worker(name, "--slots 1"));
    let run = cluster.ended(&cluster.submit(MANY));
    let id = run["id"].as_str().expect("an id");
    let told_there = cluster.get(&format!("/runs/{id}/events?limit=10000"));
    let told_there = told_there.as_array().expect("a list").iter();
    // The author is shown if a person requested the change.
    let told_there: Vec<Value> = told_there.filter(|it| it["type"] != "acted").cloned().collect();
    assert_eq!(outcomes(&alone.show()), outcomes(&run));
    assert_eq!(events(&json_lines(&here.out)), events(&told_there));
    for name in ["ann", "ben", "cleo"] {
        assert!(run["steps"].to_string().contains(name), "{name} did nothing");
    }
}

#[test]
fn leader_shows_output_of_all_instances_and_writes_every_report() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), MANY);
    let report = fleet.project.path().join("page.md");
    let begin = |instance, flags| {
        let mut command = fleet.command(instance, 2, flags);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", &report);
        fleet.project.start_command(command)
    };
    let worker = begin(1, "--jobs 2 --junit worker.xml --json");
    let leader = begin(0, "--jobs 2 --junit leader.xml --output stream --min-workers 1").ended();
    let worker = worker.ended();
    assert_eq!((leader.code, worker.code), (Some(0), Some(0)), "{leader:?}");
    assert_eq!(worker.out, "", "only the leader tells of the run");
    let shown = format!("{}{}", leader.out, leader.err);
    let lines = shown.lines().filter(|line| line.contains("joined fish"));
    assert_eq!(lines.count(), 1, "once, wherever it ran: {shown}");
    assert!(fleet.project.read("leader.xml").contains("testcase"));
    assert_eq!(fleet.project.read("worker.xml"), "");
    let page = fleet.project.read("page.md");
    assert_eq!(page.matches("They joined fish").count(), 1, "{page}");
    assert!(page.contains("| worker | steps | busy | use |"), "{page}");
}

/// On the screen and in the JSON: the worker and the wait of each step, and how busy each instance was.
#[test]
fn summary_shows_workers_waits_and_utilization() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), MANY);
    let worker = fleet.start(1, 2, "--jobs 1");
    let leader = fleet.start(0, 2, "--jobs 1 --min-workers 1").ended();
    leader.expect_error(0, "succeeded");
    worker.ended().expect_error(0, "succeeded");
    for column in ["wait", "time", "worker", "busy", "use"] {
        assert!(leader.err.contains(column), "no column `{column}`: {}", leader.err);
    }
    let json = fleet.project.show();
    let shares = json["workers"].as_array().expect("it lists workers");
    let names: Vec<&Value> = shares.iter().map(|share| &share["worker"]).collect();
    assert_eq!(names, ["instance-0", "instance-1"]);
    let number = |share: &Value, key: &str| share[key].as_u64().unwrap_or_default();
    let (mut attempts, mut busy) = (0, 0);
    for share in shares {
        assert!((1..=100).contains(&number(share, "use_percent")), "{share}");
        attempts += number(share, "attempts");
        busy += number(share, "busy_ms");
    }
    let steps = json["steps"].as_array().expect("it lists steps");
    let tries = || steps.iter().flat_map(|step| step["attempts"].as_array().expect("a list"));
    let begun = tries().filter(|it| it["outcome"] != "released");
    assert_eq!(attempts, begun.count() as u64, "each is somebody's");
    assert_eq!(busy, tries().map(|it| number(it, "time_ms")).sum::<u64>());
    let waits = steps.iter().filter(|step| number(step, "wait_ms") > 0).count();
    assert!(waits > 100, "two slots have two hundred steps: {waits}");
}
