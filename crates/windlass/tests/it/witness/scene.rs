//! A round: a controller, two workers, and a run whose steps hold one lock.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::time::Instant;

use super::faults::Fault;
use super::testimony::Testimony;
use crate::cluster::arrange::{Cluster, guard_of};
use crate::guard::arrange::{children, is_tether};
use crate::guard::tethers::LeasedProgram;
use crate::run::arrange::{Running, until};

const WORKERS: [&str; 2] = ["one", "two"];
const STEPS: [&str; 3] = ["first", "second", "third"];

/// The longest that a fault lasts if the lock does not pass on: longer than a lease of 3 s.
const LASTS: Duration = Duration::from_secs(6);

pub(super) struct Scene {
    pub(super) cluster: Cluster,
    workers: Vec<(&'static str, Running)>,
    leased: Option<LeasedProgram>,
    run: String,
    /// The step that had the lock when the fault came, and its worker.
    holder: (u64, String),
    /// The guard of the holder's worker.
    guard: Option<Pid>,
    /// Lines after which the fault comes.
    after: usize,
}

impl Scene {
    pub(super) fn start(number: u64, fault: Fault) -> Self {
        let cluster = Cluster::start("--no-exec --lease-ttl 3s");
        let start = |name: &'static str| (name, cluster.worker(name, "--slots 1"));
        let workers = WORKERS.map(start).into();
        let witness = cluster.place.path().join("witness");
        let script = script(&witness.display().to_string());
        let leased = (fault == Fault::HungStart).then(|| LeasedProgram::new(&script));
        let run = cluster.submit(&pipeline(&script, leased.as_ref()));
        let after = 1 + usize::try_from(number / 9 % 8).unwrap_or(0) * 3;
        let holder = (0, String::new());
        Self { cluster, workers, leased, run, holder, guard: None, after }
    }

    fn testimony(&self) -> Testimony {
        Testimony::new(self.cluster.place.lines("witness"))
    }

    /// Waits until a step has the lock, and is as far as the round wants it.
    pub(super) fn until_begun(&mut self) {
        if self.leased.is_some() {
            return self.until_it_hangs();
        }
        until("a step has begun", || self.cluster.place.lines("witness").len() >= self.after);
        self.holder = self.testimony().last_holder().expect("one has begun");
        self.guard = Some(guard_of(self.worker().pid()));
    }

    /// A step whose start hangs writes nothing: its worker has a tether with a child.
    fn until_it_hangs(&mut self) {
        let starts = |running: &Running| {
            let tethers = children(guard_of(running.pid()).as_raw_nonzero().get().cast_unsigned());
            let mut tethers = tethers.into_iter().filter(|pid| is_tether(pid));
            tethers.any(|pid| pid.parse().is_ok_and(|pid| !children(pid).is_empty()))
        };
        let mut found = None;
        until("a start hangs", || {
            found = self.workers.iter().find(|(_, running)| starts(running)).map(|it| it.0);
            found.is_some()
        });
        self.holder = (0, found.expect("it was waited for").to_owned());
    }

    /// Waits until another step has the lock, or the fault has lasted.
    pub(super) fn until_passed_on(&self) {
        let began = Instant::now();
        until("the fault has lasted", || {
            let holder = self.testimony().last_holder();
            holder.is_some_and(|(fence, _)| fence > self.holder.0) || began.elapsed() > LASTS
        });
    }

    /// The run and what was written, when the run has ended.
    pub(super) fn end(self) -> (Value, Testimony) {
        let run = self.cluster.ended(&self.run);
        let testimony = self.testimony();
        (run, testimony)
    }

    fn worker(&self) -> &Running {
        let found = self.workers.iter().find(|(name, _)| *name == self.holder.1);
        &found.expect("the holder is one of them").1
    }

    pub(super) fn signal_worker(&self, signal: Signal) {
        self.worker().signal(signal);
    }

    pub(super) fn signal_guard(&self, signal: Signal) {
        let guard = self.guard.expect("a step has begun");
        kill_process(guard, signal).expect("it is there");
    }

    pub(super) fn kill_tethers(&self) {
        let guard = self.guard.expect("a step has begun").as_raw_nonzero().get().cast_unsigned();
        for tether in children(guard).iter().filter(|pid| is_tether(pid)) {
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
}

/// What a step does: it says that it is alive, and so does a daemon of it that left its group and cleared its environment.
fn script(witness: &str) -> String {
    format!(
        r#"host=$(uname -n)/$(readlink /proc/self/ns/pid)
tell() {{ read up idle < /proc/uptime; echo "$1 $WINDLASS_STEP $WINDLASS_FENCE $WINDLASS_WORKER $host $up" >> {witness}; }}
tell begin; sync {witness}
(setsid env -i sh -c 'while :; do read up idle < /proc/uptime; echo "alive $0 $up" >> {witness}; sleep 0.03; done' "$WINDLASS_STEP $WINDLASS_FENCE $WINDLASS_WORKER $host" > /dev/null 2>&1 &)
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do tell alive; sleep 0.05; done
tell end; sync {witness}"#
    )
}

/// Steps with one lock; the first hangs as it executes a program, if one is leased.
fn pipeline(script: &str, leased: Option<&LeasedProgram>) -> String {
    let mut text = "name: witness\nsteps:\n".to_owned();
    for (index, name) in STEPS.iter().enumerate() {
        let head =
            format!("  {name}:\n    lock: prod\n    retry: {{ lost: 9 }}\n    kill_grace: 1s\n");
        let run = if let Some(leased) = leased.filter(|_| index == 0) {
            format!("    priority: 9\n    run: exec {}\n", leased.path().display())
        } else {
            let lines: Vec<String> = script.lines().map(|line| format!("      {line}")).collect();
            format!("    run: |\n{}\n", lines.join("\n"))
        };
        text.push_str(&head);
        text.push_str(&run);
    }
    text
}
