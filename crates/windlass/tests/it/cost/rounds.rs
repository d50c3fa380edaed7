//! The rounds of the cost gate, and what each proves.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fmt, thread};

use serde_json::json;
use tokio::time::Instant;

use super::adversaries::{Adversary, AttackAnswer, AttackSize, attack};
use super::bystanders::{
    Bystander, BystanderProgress, BystanderReport, CostRequest, SMALL, hold_lock,
};
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{is_deep, pause};

/// The memory of the controller.
const MEMORY: u64 = 1 << 30;

/// The longest that an answer may take while plans have up to 10,000 steps.
const LATE: Duration = Duration::from_secs(1);

/// The longest that an answer may take while there are more: less than a lease lasts, so that no lock holder loses its own.
const LATE_BEYOND: Duration = Duration::from_secs(10);

/// The longest that an adversary may wait for a plan that is accepted, of up to 10,000 steps. Without optimization, as in most
/// test runs, to make it takes several times as long; others are answered meanwhile, so their bound is the same.
const OWN_LATE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });

/// The most that is allowed for a slow machine, whatever the delay of a controller that is not attacked: on a slower one the
/// gate says nothing.
const MACHINE_MAX: Duration = Duration::from_secs(2);

/// The longest that a controller may take to start again with what it accepted.
const RESTART_MAX: Duration = Duration::from_secs(30);

/// The answers that each client must get after the attack: accepted work may cost something later.
const AFTERWARDS: usize = 20;

/// How often a round is played in which something is late. What an attack delays is late each time. What other programs on
/// the machine delay, of which the controller beside it notices little, is not.
const TRIES: usize = 3;

/// How long rounds are begun where there is time.
const DEEP_LIMIT: Duration = Duration::from_hours(1);

#[test]
fn no_attack_on_a_controller_with_1_gib_delays_other_clients() {
    let began = Instant::now();
    for number in rounds() {
        if began.elapsed() > DEEP_LIMIT {
            return;
        }
        round(number);
    }
}

/// In every test run each adversary attacks twice: at a size at which a plan that is accepted has up to 10,000 steps, and at
/// that of its description.
fn rounds() -> Box<dyn Iterator<Item = u64>> {
    let named = std::env::vars().find(|(name, _)| name == "WINDLASS_COST");
    match named.map(|(_, number)| number.parse().expect("WINDLASS_COST is a number")) {
        Some(number) => Box::new(std::iter::once(number)),
        None if is_deep() => Box::new(0..),
        None => Box::new(0..2 * Adversary::COUNT),
    }
}

/// What was seen in a round.
struct CostReport {
    number: u64,
    answers: Vec<AttackAnswer>,
    had: Vec<(Bystander, BystanderReport)>,
    /// The longest delay of a controller that is not attacked.
    machine: Duration,
    peak_kib: u64,
    /// How long the controller took to start again, if it had accepted anything.
    restart: Option<Duration>,
    took: Duration,
}

impl fmt::Display for CostReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (adversary, size) = (Adversary::of(self.number), AttackSize::of(self.number));
        write!(f, "WINDLASS_COST={} {adversary:?} {size:?} in {:?}:", self.number, self.took)?;
        for (bystander, had) in &self.had {
            write!(
                f,
                " {bystander:?} {:?} ({} of {} wrong),",
                had.longest, had.wrong, had.answers
            )?;
        }
        let mut statuses: Vec<u16> = self.answers.iter().map(|it| it.status).collect();
        statuses.sort_unstable();
        statuses.dedup();
        let (machine, mib) = (self.machine, self.peak_kib / 1024);
        write!(f, " machine {machine:?}, {mib} MiB, {statuses:?}")?;
        write!(f, " own {:?}, restart {:?}", self.longest_of_its_own(), self.restart)
    }
}

impl CostReport {
    /// The longest that the adversary waited for something that was accepted.
    fn longest_of_its_own(&self) -> Duration {
        let accepted = self.answers.iter().filter(|it| it.is_accepted());
        accepted.map(|it| it.took).max().unwrap_or_default()
    }

    /// What was late beyond the delay of the machine, if anything was.
    fn lateness(&self) -> Option<String> {
        let beyond = Adversary::of(self.number).is_beyond_10_000_steps(AttackSize::of(self.number));
        let machine = self.machine.min(MACHINE_MAX);
        let allowed = machine + if beyond { LATE_BEYOND } else { LATE };
        let own = self.longest_of_its_own();
        if !beyond && own > machine + OWN_LATE {
            return Some(format!("the adversary waited for {own:?}"));
        }
        if self.restart.is_some_and(|took| took > RESTART_MAX) {
            return Some("it started late".to_owned());
        }
        let late = self.had.iter().find(|(_, had)| had.longest > allowed);
        late.map(|(bystander, had)| format!("{bystander:?} waited for {:?}", had.longest))
    }

    /// Nothing went wrong, and the memory sufficed.
    fn check(&self) {
        for (bystander, had) in &self.had {
            assert_eq!(had.wrong, 0, "{bystander:?} was answered wrongly: {self}");
        }
        if let Some(answer) = self.answers.iter().find(|it| !it.is_sound()) {
            panic!("it neither accepts nor refuses with a number: {answer:?}: {self}");
        }
        let memory_max = Adversary::of(self.number).memory_max(MEMORY);
        assert!(self.peak_kib * 1024 <= memory_max, "it used {} KiB: {self}", self.peak_kib);
    }
}

/// Plays a round, and plays it again if something was late.
#[expect(clippy::print_stdout, reason = "a round tells how it is replayed")]
fn round(number: u64) {
    for left in (0..TRIES).rev() {
        let report = play(number);
        report.check();
        let late = report.lateness();
        assert!(late.is_none() || left > 0, "{late:?} in each of {TRIES} tries: {report}");
        println!(
            "{report}{}",
            late.as_ref().map(|late| format!(" LATE: {late}")).unwrap_or_default()
        );
        if late.is_none() {
            return;
        }
    }
}

fn play(number: u64) -> CostReport {
    let began = Instant::now();
    let (adversary, size) = (Adversary::of(number), AttackSize::of(number));
    let mut attacked = limited_controller();
    let idle = LocalCluster::start("--no-exec --store idle");
    let (port, watch) = (attacked.port, BystanderProgress::default());
    let holder = hold_lock(port);
    let (answers, had, machine) = thread::scope(|scope| {
        let (watch, holder) = (&watch, &holder);
        let ask = |it: Bystander| (it, scope.spawn(move || it.ask(port, watch, holder)));
        let bystanders = Bystander::ALL.map(ask);
        let machine = scope.spawn(|| delay_of_machine(idle.port, watch));
        watch.until_answered(1);
        let answers = attack(adversary, size, port);
        watch.until_answered(AFTERWARDS);
        watch.over.store(true, Ordering::Relaxed);
        let had = bystanders.map(|(it, thread)| (it, thread.join().expect("it does not panic")));
        (answers, Vec::from(had), machine.join().expect("it does not panic"))
    });
    let mut report = CostReport {
        number,
        answers,
        had,
        machine,
        peak_kib: attacked.controller.peak(),
        restart: None,
        took: began.elapsed(),
    };
    assert!(!attacked.controller.is_over(), "{}: {report}", attacked.controller.said());
    if report.answers.iter().any(AttackAnswer::is_accepted) {
        report.restart = Some(restart(&mut attacked));
        report.peak_kib = report.peak_kib.max(attacked.controller.peak());
        report.took = began.elapsed();
    }
    report
}

/// A controller whose memory is limited, in each of its starts. The limit is on what it allocates for itself, and not on the
/// address space, which also counts what is only reserved.
fn limited_controller() -> LocalCluster {
    let project = ProjectFolder::with("");
    let program = env!("CARGO_BIN_EXE_windlass");
    let kib = MEMORY / 1024;
    project.file("limited", format!("#!/bin/sh\nulimit -d {kib} && exec '{program}' \"$@\"\n"));
    let limited = project.path().join("limited");
    std::fs::set_permissions(&limited, Permissions::from_mode(0o755)).expect("it is ours");
    let limited = limited.to_str().expect("it is a text").to_owned();
    LocalCluster::start_as(&limited, project, "--no-exec")
}

/// The controller is killed and starts again with all that it accepted. Returns how long it took to take a submission.
fn restart(cluster: &mut LocalCluster) -> Duration {
    cluster.kill();
    let began = Instant::now();
    cluster.restart();
    let body = json!({ "text": SMALL }).to_string();
    let answer = CostRequest::post("/runs", &body).send(cluster.port);
    let said = cluster.controller.said();
    assert!(answer.is_some_and(|(status, _)| matches!(status, 201 | 429)), "{said}");
    assert!(!cluster.controller.is_over(), "{said}");
    began.elapsed()
}

/// The longest that a controller without attackers took to answer.
fn delay_of_machine(port: u16, watch: &BystanderProgress) -> Duration {
    let mut longest = Duration::ZERO;
    while !watch.over.load(Ordering::Relaxed) {
        let asked_at = Instant::now();
        CostRequest::get("/healthz").send(port).expect("it answers");
        longest = longest.max(asked_at.elapsed());
        pause(Duration::from_millis(25));
    }
    longest
}
