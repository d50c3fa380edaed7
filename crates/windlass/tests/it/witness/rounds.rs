//! The rounds of the witness suite, and what each does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tokio::time::Instant;

use super::plan::RoundPlan;
use super::scene::WitnessScene;
use crate::support::waiting::is_deep;

/// How many of the first rounds are in every test run: the faults of the mechanisms that ended overlaps.
const SHORT_ROUNDS: u64 = 9;
const DEEP_ROUNDS: u64 = 200;

/// The longest that all rounds may take. Too few rounds prove too little: the test fails.
const DEEP_LIMIT: Duration = Duration::from_hours(2);

#[test]
fn no_lock_has_too_many_holders_and_each_step_one_outcome_whatever_fails() {
    let (began, mut failed) = (Instant::now(), Vec::new());
    for number in rounds() {
        assert!(
            began.elapsed() < DEEP_LIMIT,
            "rounds from {number} on did not run; {failed:?} failed"
        );
        if !is_good(number) {
            failed.push(number);
        }
    }
    assert!(failed.is_empty(), "rounds {failed:?} failed; WINDLASS_WITNESS=NUMBER replays one");
}

/// Returns whether a round proved its promise. A round that this machine cannot play passes in a short test only.
#[expect(clippy::print_stdout, reason = "a round tells how it is replayed")]
fn is_good(number: u64) -> bool {
    let began = Instant::now();
    // After a panic the next rounds can still prove something.
    let played = catch_unwind(AssertUnwindSafe(|| play(number)));
    let end = match played {
        Ok(true) => "done",
        Ok(false) => "SKIPPED",
        Err(_) => "FAILED",
    };
    println!("WINDLASS_WITNESS={number}: {end} after {:?}", began.elapsed());
    played.is_ok_and(|played| played || !is_deep())
}

fn rounds() -> Vec<u64> {
    let named = std::env::vars().find(|(name, _)| name == "WINDLASS_WITNESS");
    match named.map(|(_, number)| number.parse().expect("WINDLASS_WITNESS is a number")) {
        Some(number) => vec![number],
        None if is_deep() => (0..DEEP_ROUNDS).collect(),
        None => (0..SHORT_ROUNDS).collect(),
    }
}

/// Plays a round; returns false if this machine cannot.
#[expect(clippy::print_stdout, reason = "a round tells what it does")]
fn play(number: u64) -> bool {
    let plan = RoundPlan::of(number);
    let text = format!("WINDLASS_WITNESS={number}: {plan:?}");
    println!("{text}");
    let Some(mut scene) = WitnessScene::start(&plan) else { return false };
    scene.until_begun(&plan);
    for fault in &plan.faults {
        fault.inject(&mut scene);
        scene.until_lines(plan.between);
    }
    if plan.loses_history() {
        scene.is_withheld();
    } else {
        scene.until_passed_on(plan.passes_on());
    }
    for fault in plan.faults.iter().rev() {
        fault.heal(&mut scene);
    }
    let (run, testimony) = scene.end();
    testimony.check(1).unwrap_or_else(|why| panic!("{text}: {why}\n{testimony}"));
    if !plan.loses_history() {
        testimony.check_outcomes(&run).unwrap_or_else(|why| panic!("{text}: {why}\n{run}"));
    }
    true
}
