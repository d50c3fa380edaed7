//! What every cluster of a test can do, whether it has one controller or several.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use super::http_client::{HttpAnswer, HttpRequest};
use super::program::RunningProgram;
use super::project_folder::step;
use super::waiting::{random_below, until};

/// Controllers and workers of one cluster, as processes.
pub(crate) trait TestCluster {
    /// The ports of the controllers.
    fn ports(&self) -> Vec<u16>;

    /// Starts a worker of this name.
    fn start_worker(&self, name: &str, flags: &str) -> RunningProgram;

    /// The longest wait for the answer of one controller. A stopped controller is given up then.
    fn answers_within(&self) -> Duration {
        Duration::from_mins(1)
    }

    /// A worker of this name that has joined.
    fn worker(&self, name: &str, flags: &str) -> RunningProgram {
        let worker = self.start_worker(name, flags);
        until(&format!("{name} has joined"), || self.status_of(name) == "online");
        worker
    }

    /// The status of a worker; empty if there is no such worker.
    fn status_of(&self, worker: &str) -> String {
        let workers = self.get("/workers");
        let mut workers = workers.as_array().expect("a list of workers").iter();
        let known = workers.find(|it| it["name"] == worker);
        known.and_then(|it| it["status"].as_str()).unwrap_or_default().to_owned()
    }

    /// Submits a pipeline to the leader, and returns the id of the run.
    fn submit(&self, pipeline: &str) -> String {
        let answer =
            self.answer_of_leader(&HttpRequest::post("/runs", &json!({ "text": pipeline })));
        assert_eq!(answer.status, 201, "{}", answer.json);
        answer.json["id"].as_str().expect("a run has an id").to_owned()
    }

    /// A run that has ended.
    fn ended(&self, run: &str) -> Value {
        let mut shown = Value::Null;
        until(&format!("run {run} has ended"), || {
            shown = self.get(&format!("/runs/{run}"));
            !matches!(shown["status"].as_str(), Some("running" | "cancelling") | None)
        });
        shown
    }

    /// All events of a run.
    fn events(&self, run: &str) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), 0);
        loop {
            let page = self.get(&format!("/runs/{run}/events?after={after}"));
            let page = page.as_array().expect("a list of events").clone();
            let Some(last) = page.last() else { return events };
            after = last["pos"].as_u64().expect("an event has a position");
            events.extend(page);
        }
    }

    /// The JSON at a path, from a controller that can answer.
    fn get(&self, path: &str) -> Value {
        let answer = self.answer_of_leader(&HttpRequest::get(path));
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        answer.json
    }

    /// The first answer that is not a failure, or what all controllers answer while they agree on a failure other than 503.
    fn answer_of_leader(&self, request: &HttpRequest<'_>) -> HttpAnswer {
        let mut found = None;
        until(&format!("a leader answers {} {}", request.method, request.path), || {
            let ports = self.ports();
            let answers =
                ports.iter().filter_map(|port| request.send(*port, self.answers_within()));
            let mut answers: Vec<HttpAnswer> = answers.filter(|it| it.status != 503).collect();
            let good = answers.iter().position(|it| it.status < 300);
            let refused = answers.len() == ports.len();
            found = good.or(refused.then_some(0)).map(|index| answers.swap_remove(index));
            found.is_some()
        });
        found.expect("it was waited for")
    }
}

/// The worker that ran the last attempt of a step.
pub(crate) fn worker_of<'a>(run: &'a Value, name: &str) -> &'a str {
    let attempts = step(run, name)["attempts"].as_array().expect("a step lists its attempts");
    attempts.last().and_then(|it| it["worker"].as_str()).unwrap_or_default()
}

/// A free port, for a program that has to listen on the same port after a restart.
///
/// The system assigns ports from 32768 to connections and to listeners that ask for any port, so no process gets this port
/// by accident.
pub(crate) fn free_port() -> u16 {
    let mut free = None;
    until("a port is free", || {
        let port = u16::try_from(10_000 + random_below(20_000)).expect("it is below 30000");
        free = TcpListener::bind(("127.0.0.1", port)).is_ok().then_some(port);
        free.is_some()
    });
    free.expect("it was waited for")
}
