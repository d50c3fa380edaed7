//! The link through PostgreSQL, in a real one.

use serde_json::Value;
use windlass::conformance;
use windlass_link::mailbox::{MailboxAddress, MailboxRegistry};

use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::local_cluster::LocalCluster;
use crate::support::postgres_server::server;
use crate::support::program::RunningProgram;
use crate::support::project_folder::step;
use crate::support::waiting::until;

const ONE: &str = "steps: { only: { run: 'echo $WINDLASS_WORKER >> who' } }";
const NAMES: [&str; 5] = ["ann", "ben", "cleo", "dan", "eve"];

#[test]
fn postgres_conforms() {
    conformance::check_link("postgres", || {
        let (url, _) = server().fresh();
        move || {
            let site = MailboxAddress { url: url.clone(), run: "run".to_owned(), ca: None };
            MailboxRegistry::built_in().open(&site).expect("it is an address")
        }
    });
}

/// A controller on the database.
fn controller(url: &str, flags: &str) -> LocalCluster {
    let flags = format!("--no-exec --store {url} --term 2s --name leader {flags}");
    let cluster = LocalCluster::start(&flags);
    cluster.until_led();
    cluster
}

/// Joins by the address of the database alone.
fn join(cluster: &LocalCluster, url: &str, name: &str) -> RunningProgram {
    let mut command = cluster.project.program(env!("CARGO_BIN_EXE_windlass"));
    command.args(["worker", "--slots", "1", "--join", url, "--name", name]);
    let worker = cluster.project.start_command(command);
    until(&format!("{name} has joined"), || cluster.status_of(name) == "online");
    worker
}

fn five_workers_and_one_step(cluster: &LocalCluster, url: &str) -> Vec<RunningProgram> {
    let workers = NAMES.map(|name| join(cluster, url, name));
    let run = cluster.submit(ONE);
    let ended = cluster.ended(&run);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    let attempts = step(&ended, "only")["attempts"].as_array().map(Vec::len);
    assert_eq!(attempts, Some(1), "{ended}");
    let events = cluster.get(&format!("/runs/{run}/events"));
    let events = events.as_array().expect("a list");
    assert_eq!(events.iter().filter(|it| it["type"] == "granted").count(), 1, "{events:?}");
    assert_eq!(cluster.project.lines("who").len(), 1, "{}", cluster.project.read("who"));
    workers.into()
}

#[test]
fn one_of_five_workers_that_know_the_database_gets_the_step_over_http() {
    let (url, _) = server().fresh();
    let cluster = controller(&url, "");
    for worker in &five_workers_and_one_step(&cluster, &url) {
        assert!(worker.said().contains("at http://127.0.0.1"), "{}", worker.said());
    }
}

#[test]
fn one_of_five_mailbox_workers_gets_the_step() {
    let (url, _) = server().fresh();
    // No worker can reach this address.
    let cluster = controller(&url, &format!("--advertise http://127.0.0.1:{}", free_port()));
    for worker in &five_workers_and_one_step(&cluster, &url) {
        assert!(worker.said().contains("at postgres://"), "{}", worker.said());
    }
}

#[test]
fn a_worker_finds_the_next_leader_by_the_database() {
    let (url, _) = server().fresh();
    let mut first = controller(&url, "");
    let _worker = join(&first, &url, "ann");
    first.kill();
    let second = controller(&url, "");
    let run = second.submit(ONE);
    let ended: Value = second.ended(&run);
    assert_eq!(ended["status"], "succeeded", "{ended}");
    assert_eq!(second.get("/cluster")["term"], 2, "a worker never led between");
}
