//! Plays simulated schedules: `sim --schedules N [--from SEED]`, `sim --seed N` (with its story, shrunk if it fails),
//! `sim --hunt` (a build with the feature `planted`).
#![expect(clippy::print_stdout, reason = "a program that reports on its standard output")]
#![expect(clippy::disallowed_methods, reason = "measures how long a campaign takes")]

use std::process::ExitCode;
use std::time::Instant;

use windlass_core::planted::{Bug, Bugs};
use windlass_testkit::sim::{Campaign, Schedule, hunt, play, shrink};

/// Fewer steps than that succeeding means that schedules hardly do anything.
const SUCCEEDED_MIN_PER_CENT: u64 = 30;

/// Below this number of schedules some marks may be missed by chance.
const MARKS_EXPECTED_FROM: u64 = 2_000;

/// A planted bug that is not found within so many schedules counts as missed.
const HUNT_MOST: u64 = 10_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u64>().ok();
    match words[..] {
        ["--schedules", n] => number(n).map_or_else(usage, |n| campaign(0, n)),
        ["--schedules", n, "--from", from] => {
            number(n).zip(number(from)).map_or_else(usage, |(n, from)| campaign(from, n))
        }
        ["--seed", n] => number(n).map_or_else(usage, one),
        ["--hunt"] => hunt_all(),
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    println!("usage: sim --schedules N [--from SEED] | --seed N | --hunt");
    ExitCode::from(2)
}

fn campaign(from: u64, count: u64) -> ExitCode {
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let parts: Vec<Campaign> = std::thread::scope(|scope| {
        let spawn = |part: u64| {
            scope.spawn(move || {
                let mut campaign = Campaign::default();
                for seed in (from..from + count).filter(|seed| seed % threads == part) {
                    campaign.add(seed, &play(seed, Bugs::NONE, false));
                }
                campaign
            })
        };
        let threads: Vec<_> = (0..threads).map(spawn).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a schedule panicked: see above for its seed"))
            .collect()
    });
    let mut all = Campaign::default();
    parts.into_iter().for_each(|part| all.join(part));
    report(&all, began.elapsed().as_secs_f64())
}

fn report(all: &Campaign, seconds: f64) -> ExitCode {
    let (good, steps) = all.succeeded;
    println!(
        "{} schedules in {seconds:.1} s: {} events, {} journalled, {good} of {steps} steps succeeded",
        all.schedules, all.events, all.journalled
    );
    for (mark, count) in all.marks.all() {
        println!("  {count:>9}  {mark}");
    }
    let mut failed = false;
    for (seed, violation) in all.failed.iter().take(10) {
        failed = true;
        println!(
            "FAILED seed {seed} at {} ms: {}: {}",
            violation.at, violation.rule, violation.detail
        );
    }
    if all.failed.len() > 10 {
        println!("… and {} more", all.failed.len() - 10);
    }
    if good * 100 < steps * SUCCEEDED_MIN_PER_CENT {
        failed = true;
        println!("FAILED: too little work succeeded for the rest to mean much");
    }
    let missing = all.marks.missing();
    if all.schedules >= MARKS_EXPECTED_FROM && !missing.is_empty() {
        failed = true;
        println!("FAILED: never seen: {}", missing.join("; "));
    }
    println!(
        "sim: {} passed, {} failed",
        all.schedules - all.failed.len() as u64,
        all.failed.len()
    );
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn one(seed: u64) -> ExitCode {
    let schedule = Schedule::new(seed);
    let report = play(seed, Bugs::NONE, true);
    let Some(violation) = &report.violation else {
        report.story.iter().for_each(|line| println!("{line}"));
        println!("{schedule}seed {seed} holds: {} events", report.events);
        return ExitCode::SUCCESS;
    };
    println!(
        "{schedule}seed {seed} fails at {} ms: {}: {}",
        violation.at, violation.rule, violation.detail
    );
    let (short, report) = shrink(&schedule, Bugs::NONE);
    println!("\nshrunk to:\n{short}");
    report.story.iter().for_each(|line| println!("{line}"));
    ExitCode::FAILURE
}

fn hunt_all() -> ExitCode {
    if !cfg!(feature = "planted") {
        println!("this build has no planted bugs: build with --features planted");
        return ExitCode::from(2);
    }
    let mut missed = 0;
    println!("{:<28} {:>6}  broken rule", "planted bug", "seed");
    for bug in Bug::ALL {
        let finding = hunt(bug, HUNT_MOST);
        if let Some((seed, violation)) = finding.found {
            println!("{:<28} {seed:>6}  {}", format!("{bug:?}"), violation.rule);
        } else {
            missed += 1;
            println!("{:<28} missed in {} schedules", format!("{bug:?}"), finding.schedules);
        }
    }
    println!("hunt: {} passed, {missed} failed", Bug::ALL.len() - missed);
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
