//! The vocabulary of these tests: a leader in this process, workers in theirs, and a folder for all of them.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::net::TcpListener;
use windlass::core::engine::{EngineAnswer, EngineRequest, SubmitRun, WorkerStatus};
use windlass::core::id::RunId;
use windlass::core::time::Span;
use windlass::embedded::{EmbeddedNode, LeaderOptions, Stores, system_now};
use windlass_controller::api::{ControllerIdentity, HttpServer, router};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::NotifyingLogStore;

use crate::embedded_node::plan;

/// Longer than anything here takes on a machine that is overloaded.
const PATIENCE: Duration = Duration::from_mins(1);

/// Long beside every wait here: what passes on sooner does not do so because a lease ended by time.
const TTL: Span = Span::mins(1);

/// A step that says who runs it, and whether another of its kind is alive; it ends when it is killed.
pub(super) const ALONE: &str = r#"
steps:
  deploy:
    lock: prod
    run: |
      trap '' TERM
      for pid in $(cat pids); do
        if kill -0 "$pid"; then echo "$pid" >> beside; fi
      done
      echo $$ >> pids
      echo "$WINDLASS_WORKER" >> who
      while :; do sleep 0.05; done
"#;

pub(super) fn story<T>(story: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, story).await.expect("it ends") })
}

pub(super) async fn until(reached: impl Fn() -> bool) {
    while !reached() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// A leader that runs nothing itself.
pub(super) struct WorkerTestLeader {
    pub(super) folder: TempDir,
    station: EmbeddedNode,
    address: String,
    _server: ShutdownSender,
}

impl WorkerTestLeader {
    pub(super) async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("pids"), "").unwrap();
        let stores = Stores::open(&folder.path().join("store")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let office = LeaderOptions {
            address: Some(address.clone()),
            ttl: TTL,
            ..LeaderOptions::exclusive("ann")
        };
        let station = EmbeddedNode::start_leader(&stores, office).await.unwrap();
        let logs = Arc::new(NotifyingLogStore::new(Arc::clone(&stores.logs)));
        let about = ControllerIdentity { cluster: "ours".to_owned(), advertise: address.clone() };
        let api = station.api(&stores, &logs, about);
        let (sender, ends) = ShutdownSender::new();
        tokio::spawn(HttpServer::new(listener, router(Arc::new(api))).run(ends));
        Self { folder, station, address, _server: sender }
    }

    pub(super) async fn submit(&self, pipeline: &str) {
        let submit = SubmitRun::new(RunId::new(system_now().as_millis(), 1), plan(pipeline));
        let answer = self.station.handle().ask(EngineRequest::Submit(submit)).await;
        assert!(matches!(answer, Ok(EngineAnswer::Submitted { .. })), "{answer:?}");
    }

    /// A worker of this name, once it has joined.
    pub(super) async fn worker(&self, name: &str) -> WorkerProcess {
        let worker = self.start_worker(name);
        until(|| self.status_of(name) == Some(WorkerStatus::Online)).await;
        worker
    }

    pub(super) fn start_worker(&self, name: &str) -> WorkerProcess {
        let mut command = Command::new(env!("CARGO_BIN_EXE_windlass"));
        command.args(["worker", "--slots", "1", "--join", &self.address, "--name", name]);
        command.arg("--state").arg(self.folder.path().join(name));
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        let said = fs::File::create(self.folder.path().join(format!("{name}.said"))).unwrap();
        WorkerProcess(command.stderr(said).spawn().unwrap())
    }

    pub(super) fn status_of(&self, name: &str) -> Option<WorkerStatus> {
        self.station.handle().views().look(|view| {
            let mut workers = view.engine.workers().filter(|worker| &*worker.name == name);
            workers.next().and_then(|worker| view.engine.worker_status(worker.id))
        })
    }

    /// What was written to a file of the folder.
    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        read(self.folder.path(), file).lines().map(str::to_owned).collect()
    }
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default()
}

/// A worker's process; it is killed if its test is over first, and its guard ends its steps.
pub(super) struct WorkerProcess(Child);

impl WorkerProcess {
    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Its exit code; nothing if a signal ended it.
    pub(super) async fn ended(&mut self) -> Option<i32> {
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // They fail if it has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
