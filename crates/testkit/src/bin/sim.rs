//! Plays simulated schedules; `sim --help` says how.
#![expect(clippy::print_stderr, reason = "a program that says there how it was called wrongly")]
#![expect(clippy::disallowed_methods, reason = "measures how long a campaign takes")]

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Instant;

use windlass_core::planted_bugs::{PlantedBug, PlantedBugs};
use windlass_testkit::sim::{
    HAS_PLANTED, Schedule, SimCampaign, SimReport, SimViolation, hunt, planted, play, shrink,
};

const HELP: &str = "\
Plays simulated schedules of a windlass cluster and checks every rule.

usage: sim --schedules N [--from SEED]   plays N schedules (at least 1), beginning with seed 0
       sim --seed SEED                   tells the story of one; if it fails, of the least that still fails
       sim --seed SEED --bug NAME        the same with a planted bug (build with --features planted)
       sim --hunt [NAME...]              looks for every planted bug, or for these (build with --features planted)
       sim --help                        prints this

Exits with 0 if everything holds, 1 if something fails, 2 if it was called wrongly.
";

/// Fewer steps than that succeeding means that schedules hardly do anything.
const SUCCEEDED_MIN_PER_CENT: u64 = 30;

/// Below this number of schedules some marks may be missed by chance.
const MARKS_EXPECTED_FROM: u64 = 2_000;

/// A planted bug that is not found within so many schedules counts as missed.
const HUNT_SCHEDULES_MAX: u64 = 10_000;

/// So many failures are printed; the rest is counted.
const FAILURES_SHOWN: usize = 10;

/// What the program is asked to do.
enum SimCommand {
    Help,
    Campaign { from: u64, count: u64 },
    One { seed: u64, bugs: PlantedBugs },
    Hunt(Vec<PlantedBug>),
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match parse(&words) {
        Ok(SimCommand::Help) => {
            print_line(HELP.trim_end());
            ExitCode::SUCCESS
        }
        Ok(SimCommand::Campaign { from, count }) => campaign(from, count),
        Ok(SimCommand::One { seed, bugs }) => play_one(seed, bugs),
        Ok(SimCommand::Hunt(bugs)) => hunt_all(&bugs),
        Err(wrong) => {
            eprintln!("sim: {wrong}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn parse(words: &[&str]) -> Result<SimCommand, String> {
    match words {
        ["--help" | "-h"] => Ok(SimCommand::Help),
        ["--schedules", count] => seeds("0", count),
        ["--schedules", count, "--from", from] | ["--from", from, "--schedules", count] => {
            seeds(from, count)
        }
        ["--seed", seed] => Ok(SimCommand::One { seed: number(seed)?, bugs: PlantedBugs::NONE }),
        ["--seed", seed, "--bug", name] | ["--bug", name, "--seed", seed] => {
            Ok(SimCommand::One { seed: number(seed)?, bugs: bug(name)? })
        }
        ["--hunt"] => has_planted().map(|()| SimCommand::Hunt(PlantedBug::ALL.to_vec())),
        ["--hunt", names @ ..] => {
            let bugs = names.iter().map(|name| named(name)).collect::<Result<_, _>>()?;
            has_planted().map(|()| SimCommand::Hunt(bugs))
        }
        [] => Err("nothing to do".to_owned()),
        words => Err(format!("`{}` is not understood", words.join(" "))),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn seeds(from: &str, count: &str) -> Result<SimCommand, String> {
    let (from, count) = (number(from)?, number(count)?);
    if count == 0 || from.checked_add(count).is_none() {
        return Err(format!("there are no {count} seeds from {from}"));
    }
    Ok(SimCommand::Campaign { from, count })
}

fn named(name: &str) -> Result<PlantedBug, String> {
    let names = PlantedBug::ALL.map(|bug| format!("{bug:?}"));
    let at = names.iter().position(|known| known == name);
    let bug = at.map(|at| PlantedBug::ALL[at]);
    bug.ok_or_else(|| format!("no bug `{name}`; there are {}", names.join(", ")))
}

fn bug(name: &str) -> Result<PlantedBugs, String> {
    let bug = named(name)?;
    has_planted().map(|()| planted(bug))
}

fn has_planted() -> Result<(), String> {
    let missing = || "this build has no planted bugs: build with --features planted".to_owned();
    HAS_PLANTED.then_some(()).ok_or_else(missing)
}

fn campaign(from: u64, count: u64) -> ExitCode {
    let began = Instant::now();
    let all = SimCampaign::play(from, count);
    let (good, steps) = all.succeeded;
    print_line(&format!(
        "{} schedules in {:.1} s: {} events, {} journalled, {good} of {steps} steps succeeded",
        all.schedules,
        began.elapsed().as_secs_f64(),
        all.events,
        all.journalled
    ));
    for (mark, count) in all.marks.all() {
        print_line(&format!("  {count:>9}  {mark}"));
    }
    let complaints = campaign_problems(&all);
    for complaint in &complaints {
        print_line(&format!("FAILED {complaint}"));
    }
    let failed = all.failed.len();
    print_line(&format!("sim: {} passed, {failed} failed", all.schedules - failed as u64));
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What is wrong with a campaign: schedules that fail, and signs that it proves little.
fn campaign_problems(all: &SimCampaign) -> Vec<String> {
    let shown = all.failed.iter().take(FAILURES_SHOWN);
    let mut list: Vec<String> = shown
        .map(|(seed, violation)| format!("seed {seed} {}", violation_text(violation)))
        .collect();
    if all.failed.len() > FAILURES_SHOWN {
        list.push(format!("and {} more", all.failed.len() - FAILURES_SHOWN));
    }
    let (good, steps) = all.succeeded;
    if good * 100 < steps * SUCCEEDED_MIN_PER_CENT {
        list.push("too little work succeeded for the rest to mean much".to_owned());
    }
    let missing = all.marks.missing();
    if all.schedules >= MARKS_EXPECTED_FROM && !missing.is_empty() {
        list.push(format!("never seen: {}", missing.join("; ")));
    }
    list
}

fn violation_text(violation: &SimViolation) -> String {
    format!("at {} ms: {}: {}", violation.at, violation.rule, violation.detail)
}

fn play_one(seed: u64, bugs: PlantedBugs) -> ExitCode {
    let schedule = Schedule::new(seed);
    let whole = play(seed, bugs, true);
    let Some(violation) = &whole.violation else {
        print_story(&schedule, &whole);
        print_line(&format!("seed {seed} holds: {} events", whole.events));
        return ExitCode::SUCCESS;
    };
    let (short, report) = shrink(&schedule, bugs);
    print_story(&short, &report);
    print_line(&format!(
        "seed {seed} fails {}\nabove is the least of it that breaks the same rule: {} of {} faults, {} of {} runs",
        violation_text(violation),
        short.fault_count(),
        schedule.fault_count(),
        short.run_count(),
        schedule.run_count(),
    ));
    ExitCode::FAILURE
}

/// The schedule, then what happened in it: the end, which matters most, is what a terminal shows.
fn print_story(schedule: &Schedule, report: &SimReport) {
    print_line(&schedule.to_string());
    for line in &report.story {
        print_line(line);
    }
    print_line("");
}

fn hunt_all(bugs: &[PlantedBug]) -> ExitCode {
    let mut missed = 0;
    print_line(&format!("{:<28} {:>6}  broken rule", "planted bug", "seed"));
    for bug in bugs {
        let finding = hunt(*bug, HUNT_SCHEDULES_MAX);
        let name = format!("{bug:?}");
        if let Some((seed, violation)) = finding.found {
            print_line(&format!("{name:<28} {seed:>6}  {}", violation.rule));
        } else {
            missed += 1;
            print_line(&format!("{name:<28} missed in {} schedules", finding.schedules));
        }
    }
    print_line(&format!("hunt: {} passed, {missed} failed", bugs.len() - missed));
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a line. A reader of only the beginning (`sim … | head`) closes the pipe, which is no reason to fail.
fn print_line(line: &str) {
    let _ = writeln!(io::stdout(), "{line}");
}
