//! A controller as a separate process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_net::http::{ClientCredentials, ControllerAddress, HttpClient, TcpDialer};

use super::running_cluster::SLOTS;
use crate::disk::ScratchFolder;
use crate::engine_fleet::now;
use crate::process::{BenchProcess, read_word_after};
use crate::task_runners::windlass;

const WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The targets of a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClusterTargets {
    /// Steps per second.
    pub(super) rate: f64,
    /// Milliseconds from a submission to the executor.
    pub(super) time_to_executor: f64,
    /// Milliseconds from a step to the next.
    pub(super) hop: f64,
    /// Seconds of the fan-out.
    pub(super) fan: f64,
}

const OVER_HTTP: ClusterTargets =
    ClusterTargets { rate: 25_000.0, time_to_executor: 1.0, hop: 0.8, fan: 0.6 };
const OVER_REDIS: ClusterTargets =
    ClusterTargets { rate: 40_000.0, time_to_executor: 1.5, hop: 1.5, fan: 0.6 };
const ON_POSTGRES: ClusterTargets =
    ClusterTargets { rate: 35_000.0, time_to_executor: 1.0, hop: 0.8, fan: 0.5 };

/// The setting of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct ClusterSite {
    /// The prefix of its rows.
    pub(crate) name: &'static str,
    /// The `--store` of `windlass serve`.
    pub(crate) store: String,
    /// The mailbox address of its workers, if they use one.
    pub(crate) link: Option<String>,
    pub(super) targets: ClusterTargets,
    folder: PathBuf,
}

impl ClusterSite {
    /// A cluster on a new SQLite store.
    pub(crate) fn on_sqlite(scratch: &ScratchFolder) -> Self {
        let folder = scratch.empty("cluster");
        let store = format!("sqlite:{}", folder.join("store").display());
        Self { name: "cluster", store, link: None, targets: OVER_HTTP, folder }
    }

    /// The same, with workers that join through Redis.
    pub(crate) fn over_redis(scratch: &ScratchFolder, url: String) -> Self {
        let (name, targets) = ("redis", OVER_REDIS);
        Self { name, link: Some(url), targets, ..Self::on_sqlite(scratch) }
    }

    /// A cluster on an existing, empty database.
    pub(crate) fn on_postgres(scratch: &ScratchFolder, store: String) -> Self {
        let (name, folder) = ("postgres", scratch.empty("cluster"));
        Self { name, store, link: None, targets: ON_POSTGRES, folder }
    }

    /// Returns a subfolder of this name, which is created if necessary.
    fn folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        folder
    }
}

/// A controller that answers.
#[derive(Debug)]
pub(crate) struct ControllerProcess {
    pub(crate) process: BenchProcess,
    pub(crate) address: ControllerAddress,
    client: HttpClient,
}

impl ControllerProcess {
    /// Starts a controller and waits until it leads.
    pub(crate) fn start(site: &ClusterSite) -> Self {
        Self::start_as(site, "controller", "127.0.0.1:0")
    }

    /// Starts one of several controllers.
    pub(crate) fn start_as(site: &ClusterSite, name: &str, listen: &str) -> Self {
        let mut command = Command::new(windlass());
        command.args([
            "serve",
            "--no-exec",
            "--no-token",
            "--listen",
            listen,
            "--store",
            &site.store,
        ]);
        // Several controllers on one machine would share a name, and the worker of the second would be refused.
        command.args(["--name", name]);
        command.args(site.link.iter().flat_map(|link| ["--link", link]));
        let (process, errors) = BenchProcess::start(command.current_dir(site.folder(name)));
        let address = read_word_after(errors, " on ").parse().expect("it says where it listens");
        let client = HttpClient::new(Arc::new(TcpDialer), ClientCredentials::default());
        Self { process, address, client }
    }

    /// Starts a worker process.
    pub(crate) fn worker(&self, site: &ClusterSite, number: u32) -> BenchProcess {
        let place = site.link.clone().unwrap_or_else(|| self.address.to_string());
        worker(site, number, &place)
    }

    pub(crate) async fn submit(&self, pipeline: &str) {
        let body = BTreeMap::from([("text", pipeline)]);
        let answered = self.client.post(&self.address, "/runs", &body, WITHIN).await;
        answered.expect("the run is taken");
    }
}

impl ControllerProcess {
    /// Does the same for a controller that does not lead yet, or waits for its leader.
    pub(crate) async fn submit_when_it_leads(&self, pipeline: &str) {
        let body = BTreeMap::from([("text", pipeline)]);
        let began = now();
        while let Err(error) = self.client.post(&self.address, "/runs", &body, WITHIN).await {
            assert!(began.elapsed() < WITHIN, "the run is taken: {error}");
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Starts a worker process that knows these addresses, separated by commas.
pub(crate) fn worker(site: &ClusterSite, number: u32, places: &str) -> BenchProcess {
    let state = site.folder(&format!("worker-{number}"));
    let mut command = Command::new(windlass());
    command.args(["worker", "--join", places, "--label", "crew"]);
    command.args(["--slots", &SLOTS.to_string(), "--name", &format!("crew-{number}")]);
    command.args(["--label", &format!("crew-{number}")]).current_dir(&state);
    let (process, errors) = BenchProcess::start(command.arg("--state").arg(&state));
    read_word_after(errors, " joins ");
    process
}
