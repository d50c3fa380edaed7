//! A worker that cannot act in time: a process that must not outlive its lease is killed.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::Instant;
use windlass::core::engine::{EngineConfig, EngineRequest, SubmitRun};
use windlass::core::environment::EnvironmentPolicy;
use windlass::core::id::{Incarnation, RunId, WorkerId};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{FormerIncarnationProof, RegisterRequest, WorkerLocality};
use windlass::core::time::{Span, Time};
use windlass_controller::{ControllerNode, NodeConfig, StandbyPolicy};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::journal::{LeaderCandidate, MemoryJournal};
use windlass_store::logs::MemoryLogs;
use windlass_worker::executors::{BuiltinExecutor, ExecutorSettings, MaskCache};
use windlass_worker::{PeerWorkers, ProcessClock, WorkerRuntime};

use super::guarded_steps::{alone, guard};
use crate::embedded_node::plan;
use crate::support::processes::is_alive;
use crate::support::waiting::{PATIENCE, block_on, until_true};

const WORKER: &str = "guard::frozen::worker_to_be_frozen";
const TTL: Span = Span::secs(3);

/// Both write their process ids; neither ends by itself, nor on SIGTERM.
const PIPELINE: &str = r"
steps:
  held:
    lock: prod
    run: |
      trap '' TERM
      echo $$ > held.pid
      while :; do sleep 0.05; done
  free:
    run: |
      trap '' TERM
      echo $$ > free.pid
      while :; do sleep 0.05; done
";

/// Not a test of its own: a leader and a worker whose leases expire, in this program started again.
#[test]
fn worker_to_be_frozen() {
    if alone(WORKER).is_some() {
        return;
    }
    block_on(async {
        let config = NodeConfig {
            candidate: LeaderCandidate { node: "ann".to_owned(), address: None },
            engine: EngineConfig::default(),
            ttl: TTL,
            own: None,
            stand_by: StandbyPolicy::Wait,
            clock: ProcessClock::runtime(),
            leader_socket: None,
        };
        let journal = Arc::new(MemoryJournal::new(|| Time::from_millis(1_790_000_000_000)));
        let (node, handle) = ControllerNode::open(journal, config).await.unwrap();
        let (_sender, shutdown) = ShutdownSender::new();
        tokio::spawn(node.run(shutdown.clone()));
        let register = RegisterRequest {
            worker: WorkerId(7),
            name: "here".into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: 2,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        let executor = BuiltinExecutor::new(settings(), guard().await, Arc::new(MemoryLogs::new()));
        let worker = WorkerRuntime {
            register,
            capacity: 2,
            leases_expire: true,
            peers: PeerWorkers::Possible,
            clock: ProcessClock::since_boot(),
            leader_grace: None,
            membership: None,
            link: Arc::new(handle.clone()),
            executor: Arc::new(executor),
        };
        let submit = SubmitRun::new(RunId::new(1_790_000_000_000, 1), plan(PIPELINE));
        handle.ask(EngineRequest::Submit(submit)).await.unwrap();
        worker.run(shutdown).await.unwrap();
    });
}

fn settings() -> ExecutorSettings {
    let here = std::env::current_dir().expect("there is a folder");
    ExecutorSettings {
        root: here.clone(),
        scratch: here,
        worker: "here".to_owned(),
        environment: Vec::new(),
        policy: EnvironmentPolicy::PassAll,
        objects: windlass_worker::artifacts::ObjectAccess::unavailable("this test keeps no files"),
        masks: MaskCache::default(),
    }
}

struct FrozenWorker(Child);

impl Drop for FrozenWorker {
    fn drop(&mut self) {
        // They fail if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_frozen_workers_step_that_holds_a_lock_is_killed_before_its_lease_ends() {
    block_on(async {
        let folder = TempDir::new().unwrap();
        let mut command = alone(WORKER).expect("this is not it");
        let worker = FrozenWorker(command.current_dir(folder.path()).spawn().unwrap());
        let (held, free) =
            (pid_in(folder.path(), "held").await, pid_in(folder.path(), "free").await);
        // As long as the leader answers the deadline moves.
        let began = Instant::now();
        let ttl = Duration::from_millis(TTL.as_millis());
        until_true(|| began.elapsed() > ttl * 2 || !is_alive(&held)).await;
        assert!(is_alive(&held), "it was ended after {:?}", began.elapsed());

        let frozen = Instant::now();
        kill_process(Pid::from_child(&worker.0), Signal::STOP).unwrap();
        until_true(|| !is_alive(&held)).await;
        // A step whose leases were not renewed may be granted to another worker after one TTL at the earliest.
        assert!(frozen.elapsed() < ttl, "{:?}", frozen.elapsed());
        assert!(is_alive(&free), "what holds no lock goes on");
        drop(worker);
        until_true(|| !is_alive(&free)).await;
    });
}

async fn pid_in(folder: &Path, step: &str) -> String {
    let file = folder.join(format!("{step}.pid"));
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(&file).unwrap_or_default();
        if text.ends_with('\n') {
            return text.trim().to_owned();
        }
        assert!(began.elapsed() < PATIENCE, "{} does not appear", file.display());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
