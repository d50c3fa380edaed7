//! A round: a controller, two workers, and a run whose steps hold one lock.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::faults::RoundFault;
use super::plan::RoundPlan;
use super::round_store::RoundStore;
use super::script::{STEPS, contender, pipeline, script};
use super::second_host::copy;
use super::step_records::StepRecords;
use crate::guard::tethers::LeasedProgram;
use crate::support::cluster::TestCluster as _;
use crate::support::http_client::HttpRequest;
use crate::support::local_cluster::LocalCluster;
use crate::support::processes::{children_of, guard_of, is_tether};
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

/// A run without the lock.
const FREE: &str = "name: free\nsteps:\n  s: { run: 'true' }\n";

const WORKERS: [&str; 2] = ["one", "two"];

/// The longest that a fault lasts if the lock does not pass on: longer than a lease of 3 s.
const LASTS: Duration = Duration::from_secs(6);
/// How long a round checks whether a lock is withheld: much longer than a lease of 3 s.
const WITHHELD: Duration = Duration::from_secs(8);
/// The longest wait for lines that may not come.
const LINES_WITHIN: Duration = Duration::from_secs(1);
/// The short wait for a controller that cannot answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);
/// How many lines are written after the lock has passed on and after all faults are healed, before a round goes on.
const LINES_AFTER: usize = 10;

pub(super) struct WitnessScene {
    pub(super) cluster: LocalCluster,
    pub(super) site: RoundStore,
    workers: Vec<(&'static str, RunningProgram)>,
    /// Processes that only have to stay alive.
    pub(super) others: Vec<RunningProgram>,
    leased: Option<LeasedProgram>,
    run: String,
    /// The step that held the lock when the fault began, and its worker.
    pub(super) holder: (u64, String),
    /// The guard of the holder's worker.
    guard: Option<Pid>,
}

impl WitnessScene {
    /// A cluster for a run; `None` if this machine cannot provide it.
    pub(super) fn start(plan: &RoundPlan) -> Option<Self> {
        let site = RoundStore::of(plan.faults[0])?;
        let cluster = LocalCluster::start_in(ProjectFolder::with(""), &site.flags());
        let leased = plan.faults.contains(&RoundFault::HungStart);
        let leased = leased
            .then(|| LeasedProgram::new(&script(&cluster.project.path().join("witness"), true)));
        let (holder, guard) = ((0, String::new()), None);
        let (workers, others, run) = (Vec::new(), Vec::new(), String::new());
        let mut scene = Self { cluster, site, workers, others, leased, run, holder, guard };
        scene.until_led();
        scene.workers = WORKERS.map(|name| (name, scene.start_worker(name))).into();
        if plan.loses_history() {
            scene.prepare_loss();
        }
        let text = pipeline(&scene.witness(), plan.step, scene.leased.as_ref());
        scene.run = scene.cluster.submit(&text);
        Some(scene)
    }

    fn witness(&self) -> std::path::PathBuf {
        self.cluster.project.path().join("witness")
    }

    /// Waits until the controller leads.
    pub(super) fn until_led(&self) {
        self.cluster.until_led();
    }

    fn start_worker(&self, name: &str) -> RunningProgram {
        let state = self.site.state(&self.cluster.project, name);
        let worker = self.cluster.project.start(&self.worker_line(name, &state));
        until(&format!("{name} has joined"), || self.cluster.status_of(name) == "online");
        worker
    }

    /// The command that starts a worker.
    pub(super) fn worker_line(&self, name: &str, state: &Path) -> String {
        let join = self.site.join(self.cluster.port);
        format!("worker --join {join} --name {name} --slots 1 --state {}", state.display())
    }

    /// Saves the present state of the controller: later events will be lost.
    fn prepare_loss(&mut self) {
        match &self.site {
            RoundStore::Database(database) => database.prepare(),
            RoundStore::Folder
            | RoundStore::StoreDisk(_)
            | RoundStore::WorkerDisk(_)
            | RoundStore::Redis(_) => {
                self.cluster.kill();
                let project = self.cluster.project.path();
                copy(&project.join("store"), &project.join("backup"));
                self.cluster.restart();
            }
        }
        self.until_led();
        for name in WORKERS {
            until(&format!("{name} is there"), || self.cluster.status_of(name) == "online");
        }
    }

    fn testimony(&self) -> StepRecords {
        StepRecords::new(self.cluster.project.lines("witness"))
    }

    /// Waits until the step holds the lock and has progressed as planned.
    pub(super) fn until_begun(&mut self, plan: &RoundPlan) {
        if self.leased.is_some() {
            return self.until_it_hangs();
        }
        let step = STEPS[plan.step];
        until(&format!("{step} has begun"), || self.testimony().lines_of(step) >= plan.lines);
        self.holder = self.testimony().last_holder().expect("one has begun");
        self.guard = Some(guard_of(self.worker().pid()));
    }

    /// A step whose start hangs writes nothing: its worker has a tether with a child.
    fn until_it_hangs(&mut self) {
        let starts = |running: &RunningProgram| {
            let tethers =
                children_of(guard_of(running.pid()).as_raw_nonzero().get().cast_unsigned());
            let mut tethers = tethers.into_iter().filter(|pid| is_tether(pid));
            tethers.any(|pid| pid.parse().is_ok_and(|pid| !children_of(pid).is_empty()))
        };
        let mut found = None;
        until("a start hangs", || {
            found = self.workers.iter().find(|(_, running)| starts(running)).map(|it| it.0);
            found.is_some()
        });
        self.holder = (0, found.expect("it was waited for").to_owned());
    }

    /// Waits until there are this many more lines, or for a moment: perhaps no process writes now.
    pub(super) fn until_lines(&self, more: usize) {
        let (began, count) = (Instant::now(), self.cluster.project.lines("witness").len());
        until("there are more lines", || {
            let now = self.cluster.project.lines("witness").len();
            now >= count + more || began.elapsed() > LINES_WITHIN
        });
    }

    /// Waits until another step holds the lock, or for the duration of the faults if it need not pass on.
    pub(super) fn until_passed_on(&self, must: bool) {
        let began = Instant::now();
        until("the lock has passed on", || {
            let holder = self.testimony().last_holder();
            let passed = holder.is_some_and(|(fence, _)| fence > self.holder.0);
            passed || (!must && began.elapsed() > LASTS)
        });
        // Processes of the former holder that are still alive write lines before they learn anything.
        self.until_lines(LINES_AFTER);
    }

    /// A controller that forgot the holder grants the lock to no run for a while, and continues otherwise.
    pub(super) fn is_withheld(&self) {
        let contender = self.cluster.submit(&contender(&self.witness()));
        let began = Instant::now();
        while began.elapsed() < WITHHELD {
            let free = self.cluster.ended(&self.cluster.submit(FREE));
            assert_eq!(free["status"], "succeeded", "a worker is there: {free}");
            let holder = self.testimony().last_holder();
            assert_eq!(holder.as_ref(), Some(&self.holder), "{}", self.testimony());
        }
        let (status, answer) =
            self.cluster.post(&format!("/runs/{contender}/cancel"), &json!({ "level": "stop" }));
        assert_eq!(status, 200, "{answer}");
        assert_eq!(self.cluster.ended(&contender)["status"], "cancelled");
    }

    /// Returns the run and the written lines after the end of the run. A run that the controller forgot does not count.
    pub(super) fn end(self) -> (Value, StepRecords) {
        self.until_lines(LINES_AFTER);
        self.cluster.project.file("witness.go", "");
        let mut run = Value::Null;
        until("the run has ended, or is forgotten", || {
            // Other answers come from a controller that must win its next term first.
            match self.cluster.try_get(&format!("/runs/{}", self.run)) {
                Some(answer) if answer.status == 200 => run = answer.json,
                answer => return answer.is_some_and(|answer| answer.status == 404),
            }
            !matches!(run["status"].as_str(), Some("running" | "cancelling") | None)
        });
        let testimony = self.testimony();
        (run, testimony)
    }

    fn worker(&self) -> &RunningProgram {
        let found = self.workers.iter().find(|(name, _)| *name == self.holder.1);
        &found.expect("the holder is one of them").1
    }

    pub(super) fn signal_worker(&self, signal: Signal) {
        self.worker().signal(signal);
    }

    pub(super) fn stop_worker(&self) {
        self.signal_worker(Signal::STOP);
    }

    /// It fails if the guard ended with its worker.
    pub(super) fn signal_guard(&self, signal: Signal) {
        let guard = self.guard.expect("a step has begun");
        let _ = kill_process(guard, signal);
    }

    pub(super) fn kill_tethers(&self) {
        let guard = self.guard.expect("a step has begun").as_raw_nonzero().get().cast_unsigned();
        for tether in children_of(guard).iter().filter(|pid| is_tether(pid)) {
            let tether = tether.parse().ok().and_then(Pid::from_raw).expect("a number");
            // It fails if it has just ended.
            let _ = kill_process(tether, Signal::KILL);
        }
    }

    pub(super) fn give_lease_back(&mut self) {
        if let Some(leased) = &mut self.leased {
            leased.give_back();
        }
    }

    /// The controller continues with an earlier copy of its store, or of its journal alone.
    pub(super) fn restore_store(&mut self, fault: RoundFault) {
        self.stop_worker();
        self.cluster.kill();
        let project = self.cluster.project.path();
        let (store, backup) = (project.join("store"), project.join("backup"));
        if fault == RoundFault::RestoreStore {
            std::fs::remove_dir_all(&store).expect("it is there");
            copy(&backup, &store);
            return self.cluster.restart();
        }
        for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            drop(std::fs::remove_file(store.join(file)));
            if backup.join(file).exists() {
                copy(&backup.join(file), &store.join(file));
            }
        }
        self.cluster.begin_with(|_| {});
        until("the loss is noticed", || self.cluster.controller.is_over());
        let said = self.cluster.controller.said();
        assert!(said.contains("--accept-lost-history"), "{said}");
        self.cluster.restart_with(|command| {
            command.arg("--accept-lost-history");
        });
    }

    /// Fills the disk of the store until the controller cannot commit requests. It does not answer then.
    pub(super) fn fill_store_disk(&self) {
        self.site.disk().fill();
        let submit = json!({ "text": FREE });
        let submit = HttpRequest::post("/runs", &submit);
        until("a commit fails", || {
            let answer = submit.send(self.cluster.port, ANSWERS_WITHIN);
            answer.is_none_or(|answer| answer.status != 201)
        });
    }

    /// Frees space on the full disk, and restarts the processes that ended because of it.
    pub(super) fn make_room(&mut self) {
        self.site.disk().make_room();
        if self.cluster.controller.is_over() {
            self.cluster.restart();
        }
        self.until_led();
        for index in 0..self.workers.len() {
            if self.workers[index].1.is_over() {
                self.workers[index].1 = self.start_worker(self.workers[index].0);
            }
        }
    }

    /// Forgotten workers have ended; others join.
    pub(super) fn start_more_workers(&mut self) {
        for (name, worker) in &mut self.workers {
            until(&format!("{name} ends"), || worker.is_over());
        }
        self.others.extend(["three", "four"].map(|name| self.start_worker(name)));
    }
}
