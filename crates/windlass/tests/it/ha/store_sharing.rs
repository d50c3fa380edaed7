//! The number of controllers that a store serves: a folder one, a database any number.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::controller_fleet::{ANSWERS_WITHIN, ControllerFleet};
use crate::support::http_client::HttpRequest;
use crate::support::local_cluster::LocalCluster;
use crate::support::postgres_server::server;
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::until;

#[test]
fn second_controller_on_a_folder_is_refused_with_the_leader() {
    let cluster = LocalCluster::start("--no-exec --name first");
    let second = cluster.project.run("serve --no-exec --name second --listen 127.0.0.1:0");
    assert_eq!(second.code, Some(5), "{second:?}");
    let pid = cluster.controller.pid().to_string();
    let text = [
        "another windlass is running here: first",
        &pid,
        &format!("http://127.0.0.1:{}", cluster.port),
    ];
    for word in text {
        assert!(second.err.contains(word), "{word}: {}", second.err);
    }
    assert_eq!(cluster.get("/cluster")["role"], "leader", "the first one goes on");
}

/// A folder cannot be led by several controllers in turns, and its lock file is checked.
#[test]
fn database_options_are_refused_for_a_folder() {
    let project = ProjectFolder::with("");
    for flags in ["--role auto", "--role leader", "--term 3s", "--role auto --store sqlite:runs"] {
        let refused = project.run(&format!("serve --listen 127.0.0.1:0 {flags}"));
        assert_eq!(refused.code, Some(2), "{flags}: {refused:?}");
        for word in ["is a folder, which one controller leads", "--store postgres://"] {
            assert!(refused.err.contains(word), "{flags}: {}", refused.err);
        }
    }
    let other = project.run("serve --listen 127.0.0.1:0 --store mysql://db.example/windlass");
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.err.contains("name a folder, sqlite:FOLDER or postgres://"), "{}", other.err);
    for folder in [".windlass", "runs", "mysql:"] {
        assert!(!project.path().join(folder).exists(), "{folder} was made");
    }
    let joined = project.run("worker --join sqlite:.windlass --leader-grace 2s");
    assert_eq!(joined.code, Some(2), "{joined:?}");
}

/// Returns the results of a pipeline without times and names.
const MIXED: &str = "name: mixed
steps:
  make: { run: 'echo word=fish >> \"$WINDLASS_OUTPUT\"', outputs: [word] }
  cut: { needs: make, matrix: { n: [1, 2, 3] }, run: 'true' }
  flaky: { retry: 1, run: 'test -e tried || { touch tried; exit 3; }' }
  never: { if: 'steps.make.outputs.word == \"bird\"', needs: make, run: 'false' }
  last: { needs: [cut, flaky, never], run: 'true' }
";

fn steps_by_name(run: &Value) -> BTreeMap<String, Value> {
    let steps = run["steps"].as_array().expect("it lists steps").iter();
    let names = steps.map(|it| it["name"].as_str().expect("a name").to_owned());
    names
        .map(|name| {
            let of = step(run, &name);
            let attempts = of["attempts"].as_array().map(Vec::len);
            (name, json!([of["status"], attempts, of["outputs"]]))
        })
        .collect()
}

/// One controller behaves the same with every kind of store.
#[test]
fn single_controller_on_a_database_behaves_as_on_a_folder() {
    let folder = LocalCluster::start("--jobs 1");
    let fleet = ControllerFleet::start_with(1, "--jobs 1");
    let on_folder = folder.ended(&folder.submit(MIXED));
    let on_database = fleet.ended(&fleet.submit(MIXED));
    assert_eq!(on_folder["status"], "succeeded", "{on_folder}");
    assert_eq!(on_database["counts"], on_folder["counts"], "{on_database}");
    assert_eq!(steps_by_name(&on_database), steps_by_name(&on_folder));
}

/// Configured by variables, as containers and units are.
#[test]
fn a_cluster_is_set_up_by_variables_alone() {
    let (server, port) = (server(), free_port());
    let (store, schema) = server.fresh();
    let (listen, at) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    let controllers = ProjectFolder::with("")
        .set("WINDLASS_STORE", &store)
        .set("WINDLASS_ROLE", "leader")
        .set("WINDLASS_TERM", "90s")
        .set("WINDLASS_LEASE_TTL", "7s")
        .set("WINDLASS_LISTEN", &listen)
        .set("WINDLASS_ADVERTISE", &at)
        .set("WINDLASS_NAME", "ann")
        .set("WINDLASS_NO_TOKEN", "true")
        .set("WINDLASS_JOBS", "0");
    let _ann = controllers.start("serve");
    until("it answers", || {
        HttpRequest::get("/workers").send(port, ANSWERS_WITHIN).is_some_and(|it| it.status == 200)
    });
    let workers = ProjectFolder::with("")
        .set("WINDLASS_JOIN", &at)
        .set("WINDLASS_NAME", "bob")
        .set("WINDLASS_SLOTS", "3")
        .set("WINDLASS_LABEL", "gpu")
        .set("WINDLASS_LEADER_GRACE", "30s");
    let _bob = workers.start("worker");
    let psql = |query: &str| server.psql(&format!("SET search_path = {schema};\n{query}"));
    let worker = "SELECT name, status, slots, labels ? 'gpu' FROM windlass_workers";
    until("the worker has joined", || psql(worker) == "bob|online|3|t");
    let leader =
        "SELECT node, address, until > clock_timestamp() + interval '60 s' FROM windlass_leader";
    assert_eq!(psql(leader), format!("ann|{at}|t"));
    assert_eq!(psql("SELECT ttl FROM windlass_as_of"), "00:00:07");
}
