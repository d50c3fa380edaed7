//! A worker of each kind that runs a step, and a leader that a test can take away.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::instance_processes::InstanceProcesses;
use crate::support::local_cluster::LocalCluster;
use crate::support::postgres_server::server;
use crate::support::program::{FinishedProgram, RunningProgram};
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

/// Prints before and after its leader is lost, and never ends by itself.
pub(super) const TALK: &str = r"
steps:
  talk:
    requires: big
    run: |
      echo early words
      echo >> begun
      until [ -e gone ]; do sleep 0.02; done
      echo late words
      echo >> late
      while :; do sleep 0.05; done
";

/// Longer than a shutdown takes on a loaded machine.
pub(super) const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// How a worker reaches its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerKind {
    Http,
    Redis,
    Postgres,
    Instance,
}

/// How the leader is lost.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeaderLoss {
    Killed,
    /// Its connections stay open, and nothing answers.
    Stopped,
    LinkKilled,
    LinkEmptied,
}

/// A leader of some kind, and the folder of all processes.
enum LeaderProcess {
    Cluster(LocalCluster),
    Instances(InstanceProcesses, RunningProgram),
}

/// A worker at a step, and its leader.
pub(super) struct LeaderlessScene {
    leader: LeaderProcess,
    redis: Option<RedisServer>,
    worker: Option<RunningProgram>,
}

impl LeaderlessScene {
    /// A worker that goes on for so long without its leader, once its step runs.
    pub(super) fn begin(kind: WorkerKind, grace: &str) -> Self {
        let redis = || RedisServer::start(&[]);
        let scene = match kind {
            WorkerKind::Http => Self::of_cluster(LocalCluster::start("--no-exec"), None, grace),
            WorkerKind::Postgres => Self::of_database(grace),
            WorkerKind::Redis => Self::of_redis(redis(), grace),
            WorkerKind::Instance => Self::of_instances(redis(), grace),
        };
        scene.project().until_lines("begun", 1);
        scene
    }

    fn of_cluster(cluster: LocalCluster, redis: Option<RedisServer>, grace: &str) -> Self {
        let worker =
            cluster.worker("ann", &format!("--slots 1 --label big --leader-grace {grace}"));
        cluster.submit(TALK);
        Self { leader: LeaderProcess::Cluster(cluster), redis, worker: Some(worker) }
    }

    /// Through mailboxes in the database: no worker can reach the address that the leader advertises.
    fn of_database(grace: &str) -> Self {
        let (url, _) = server().fresh();
        let nowhere = format!("--advertise http://127.0.0.1:{}", free_port());
        let flags = format!("--no-exec --store {url} --term 2s --name leader {nowhere}");
        let cluster = LocalCluster::start(&flags).joined_at(&url);
        cluster.until_led();
        Self::of_cluster(cluster, None, grace)
    }

    fn of_redis(redis: RedisServer, grace: &str) -> Self {
        Self::of_cluster(LocalCluster::with_link(&redis.url()), Some(redis), grace)
    }

    fn of_instances(redis: RedisServer, grace: &str) -> Self {
        let fleet = InstanceProcesses::at(&redis.url(), TALK);
        let leader = fleet.leader(2, "--jobs 1");
        let flags = format!("--jobs 1 --label big --leader-grace {grace} --link-grace {grace}");
        let worker = fleet.worker(1, 2, &flags);
        Self {
            leader: LeaderProcess::Instances(fleet, leader),
            redis: Some(redis),
            worker: Some(worker),
        }
    }

    pub(super) fn project(&self) -> &ProjectFolder {
        match &self.leader {
            LeaderProcess::Cluster(cluster) => &cluster.project,
            LeaderProcess::Instances(fleet, _) => &fleet.project,
        }
    }

    fn leader(&self) -> &RunningProgram {
        match &self.leader {
            LeaderProcess::Cluster(cluster) => &cluster.controller,
            LeaderProcess::Instances(_, leader) => leader,
        }
    }

    /// Takes the leader away; then the step prints more.
    pub(super) fn lose(&mut self, loss: LeaderLoss) {
        match loss {
            LeaderLoss::Killed => self.leader().signal(Signal::KILL),
            LeaderLoss::Stopped => self.leader().signal(Signal::STOP),
            LeaderLoss::LinkKilled => self.redis.as_mut().expect("it has a link").kill(),
            LeaderLoss::LinkEmptied => {
                let redis = self.redis.as_ref().expect("it has a link");
                assert_eq!(redis.cli(&["FLUSHALL"]), "OK");
            }
        }
        self.project().file("gone", "");
    }

    /// Waits until the step has printed without a leader.
    pub(super) fn until_late(&self) {
        self.project().until_lines("late", 1);
    }

    /// Waits for the end of the worker; its leader stays as it is.
    pub(super) fn worker_ended(&mut self) -> FinishedProgram {
        self.worker.take().expect("it is waited for once").ended_within(ENDS_WITHIN)
    }

    pub(super) fn worker(&self) -> &RunningProgram {
        self.worker.as_ref().expect("it has not ended")
    }

    /// The leader's cluster.
    pub(super) fn cluster(&mut self) -> &mut LocalCluster {
        match &mut self.leader {
            LeaderProcess::Cluster(cluster) => cluster,
            LeaderProcess::Instances(..) => panic!("instances have no cluster"),
        }
    }
}

/// The last line states the amount of unsent output and the folder that holds it.
#[track_caller]
pub(super) fn says_where_its_output_is(ended: &FinishedProgram) {
    let last = ended.err.lines().last().unwrap_or_default();
    assert!(last.contains("bytes of output"), "the last line is: {last}\n{}", ended.err);
    let folder =
        last.split("kept in ").nth(1).and_then(|rest| rest.split("; the next start").next());
    let folder = PathBuf::from(folder.expect("it names a folder"));
    let files = fs::read_dir(&folder).expect("the folder is there");
    let kept: String =
        files.flatten().filter_map(|file| fs::read_to_string(file.path()).ok()).collect();
    assert!(kept.contains("late words"), "{} holds: {kept}", folder.display());
}
