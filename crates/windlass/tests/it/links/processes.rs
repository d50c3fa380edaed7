//! Pipelines between processes that only mailboxes connect: through Redis, and through the folder of the example.

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::cluster::{TestCluster as _, worker_of};
use crate::support::local_cluster::LocalCluster;
use crate::support::program::WINDLASS;
use crate::support::project_folder::{ProjectFolder, example, step};
use crate::support::redis_server::RedisServer;

/// Two hundred steps, and one after them that reads the output of one of them.
const MANY: &str = r#"
steps:
  make:
    run: echo "word=fish" >> "$WINDLASS_OUTPUT"; echo made
    outputs: [word]
  cut:
    matrix: { part: [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19], side: [a,b,c,d,e,f,g,h,i,j] }
    run: "true"
  join:
    needs: [make, cut]
    env: { WORD: "${{ steps.make.outputs.word }}" }
    run: echo "joined $WORD"
"#;

/// A step that writes its worker, and runs until it is killed the first time.
const STUBBORN: &str = r#"
steps:
  deploy:
    lock: prod
    run: |
      echo "$WINDLASS_WORKER $$" >> who
      [ "$(wc -l < who)" -gt 1 ] || while :; do sleep 0.05; done
"#;

fn three_workers_do_two_hundred_steps(cluster: &LocalCluster) {
    let _workers = ["ann", "ben", "cleo"].map(|name| cluster.worker(name, "--slots 2"));
    let run = cluster.submit(MANY);
    let ended = cluster.ended(&run);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let steps = ended["steps"].as_array().expect("it lists steps");
    assert!(steps.len() >= 202 && steps.iter().all(|step| step["status"] == "succeeded"));
    for name in ["ann", "ben", "cleo"] {
        let did = |step: &&serde_json::Value| step["attempts"].to_string().contains(name);
        assert!(steps.iter().any(|step| did(&step)), "{name} did nothing");
    }
    let to = format!("--to http://127.0.0.1:{}", cluster.port);
    let printed = cluster.project.data(&format!("logs {run} join {to}"));
    assert!(printed.contains("joined fish"), "{printed}");
}

/// Its lease would last for a minute; the guard reported the death over the same link.
fn a_killed_workers_step_runs_elsewhere_at_once(cluster: &LocalCluster) {
    let first = cluster.worker("ann", "--slots 1");
    let run = cluster.submit(STUBBORN);
    cluster.project.until_lines("who", 1);
    let _second = cluster.worker("ben", "--slots 1");
    first.signal(Signal::KILL);
    let ended = cluster.ended(&run);
    assert_eq!((ended["status"].as_str(), worker_of(&ended, "deploy")), (Some("succeeded"), "ben"));
    let took = step(&ended, "deploy")["attempts"].as_array().expect("a list").len();
    assert_eq!(took, 2, "{ended}");
}

#[test]
fn two_hundred_steps_run_over_redis() {
    let redis = RedisServer::start(&[]);
    three_workers_do_two_hundred_steps(&LocalCluster::with_link(&redis.url()));
}

#[test]
fn two_hundred_steps_run_over_the_folder_of_the_example() {
    let folder = TempDir::new().expect("a folder");
    let link = format!("dir:{}", folder.path().display());
    three_workers_do_two_hundred_steps(&LocalCluster::with_link_as(
        example("dir-link"),
        ProjectFolder::with(""),
        &link,
    ));
}

#[test]
fn killed_workers_step_moves_at_once_over_redis() {
    let redis = RedisServer::start(&[]);
    a_killed_workers_step_runs_elsewhere_at_once(&LocalCluster::with_link(&redis.url()));
}

#[test]
fn killed_workers_step_moves_at_once_over_the_example_link() {
    let folder = TempDir::new().expect("a folder");
    let link = format!("dir:{}", folder.path().display());
    let cluster = LocalCluster::with_link_as(example("dir-link"), ProjectFolder::with(""), &link);
    a_killed_workers_step_runs_elsewhere_at_once(&cluster);
}

#[test]
fn a_run_outlives_cut_connections_and_a_restart_of_redis_with_its_data() {
    let mut redis = RedisServer::start(&["--appendonly", "yes"]);
    let cluster = LocalCluster::with_link(&redis.url());
    let _workers = ["ann", "ben"].map(|name| cluster.worker(name, "--slots 2"));
    let run = cluster.submit(
        "steps: { nap: { matrix: { n: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] }, run: 'sleep 0.3; echo nap >> naps' } }",
    );
    for lines in [2, 4] {
        cluster.project.until_lines("naps", lines);
        redis.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    }
    cluster.project.until_lines("naps", 6);
    redis.kill();
    redis.begin();
    let ended = cluster.ended(&run);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    assert_eq!(cluster.project.lines("naps").len(), 16, "each was done once");
}

#[test]
fn worker_without_the_secret_does_not_join() {
    let redis = RedisServer::start(&[]);
    let project = ProjectFolder::with("").set("WINDLASS_RUN_SECRET", "open sesame");
    let cluster = LocalCluster::with_link_as(WINDLASS, project, &redis.url());
    let _friend = cluster.worker("friend", "--slots 1");
    let stranger = ProjectFolder::with("");
    let join = format!("worker --join {} --name stranger --leader-grace 3s", redis.url());
    let ended = stranger.run(&join);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert_eq!(cluster.status_of("stranger"), "");
}

#[test]
fn worker_without_its_leader_ends_after_its_grace_and_reports_why() {
    let redis = RedisServer::start(&[]);
    let mut cluster = LocalCluster::with_link(&redis.url());
    let worker = cluster.worker("ann", "--slots 1 --leader-grace 5s");
    cluster.kill();
    let ended = worker.ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("no leader has answered for 5 s"), "{ended:?}");
}
