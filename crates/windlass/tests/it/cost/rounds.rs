//! The rounds: which are played, and what each of them proves.

use std::sync::atomic::Ordering;
use std::time::Duration;
use std::{fmt, thread};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tokio::time::Instant;

use super::adversaries::{Adversary, AttackAnswer, AttackSize, attack};
use super::bystanders::{Bystander, CostRequest, Experience, Watch, hold_lock};
use crate::cluster::arrange::Cluster;
use crate::run::arrange::{deep, pause};

/// The memory of the controller.
const MEMORY: u64 = 1 << 30;

/// The longest that an answer may take while plans have up to 10,000 steps.
const LATE: Duration = Duration::from_secs(1);

/// The longest that an answer may take while there are more: less than a lease lasts, so that no lock holder loses its own.
const LATE_BEYOND: Duration = Duration::from_secs(10);

/// Answers that each client has to get after the attack: what was accepted costs something later.
const AFTERWARDS: usize = 20;

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
        None if deep() => Box::new(0..),
        None => Box::new(0..2 * Adversary::COUNT),
    }
}

/// What was seen in a round.
struct CostReport {
    number: u64,
    answers: Vec<AttackAnswer>,
    had: Vec<(Bystander, Experience)>,
    /// The longest delay of a controller that is not attacked.
    machine: Duration,
    peak_kib: u64,
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
        write!(f, " machine {:?}, {} MiB, {statuses:?}", self.machine, self.peak_kib / 1024)
    }
}

impl CostReport {
    /// Nothing was late beyond the delay of the machine, nothing went wrong, and the memory sufficed.
    fn check(&self) {
        let beyond = Adversary::of(self.number).is_beyond_10_000_steps(AttackSize::of(self.number));
        let allowed = self.machine + if beyond { LATE_BEYOND } else { LATE };
        for (bystander, had) in &self.had {
            assert!(had.longest <= allowed, "{bystander:?} waited for {:?}: {self}", had.longest);
            assert_eq!(had.wrong, 0, "{bystander:?} was answered wrongly: {self}");
        }
        if let Some(answer) = self.answers.iter().find(|it| !it.is_sound()) {
            panic!("it neither accepts nor refuses with a number: {answer:?}: {self}");
        }
        assert!(self.peak_kib * 1024 <= MEMORY, "it used {} KiB: {self}", self.peak_kib);
    }
}

#[expect(clippy::print_stdout, reason = "a round tells how it is replayed")]
fn round(number: u64) {
    let began = Instant::now();
    let (adversary, size) = (Adversary::of(number), AttackSize::of(number));
    let mut attacked = Cluster::start("--no-exec");
    let idle = Cluster::start("--no-exec --store idle");
    limit_memory(attacked.controller.pid());
    let (port, watch) = (attacked.port, Watch::default());
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
    let report = CostReport {
        number,
        answers,
        had,
        machine,
        peak_kib: attacked.controller.peak(),
        took: began.elapsed(),
    };
    assert!(!attacked.controller.is_over(), "{}: {report}", attacked.controller.said());
    report.check();
    println!("{report}");
}

/// What the process allocates for itself is limited. The address space is not: it also counts what is only reserved.
fn limit_memory(pid: u32) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("it runs");
    let limit = Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) };
    prlimit(Some(pid), Resource::Data, limit).expect("it is ours");
}

/// The longest that a controller without attackers took to answer.
fn delay_of_machine(port: u16, watch: &Watch) -> Duration {
    let mut longest = Duration::ZERO;
    while !watch.over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        CostRequest::get("/healthz").send(port).expect("it answers");
        longest = longest.max(asked.elapsed());
        pause(Duration::from_millis(25));
    }
    longest
}
