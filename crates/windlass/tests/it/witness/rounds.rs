//! The rounds: which are played, and what each of them does.

use std::time::Duration;

use tokio::time::Instant;

use super::faults::Fault;
use super::scene::Scene;
use crate::run::arrange::deep;

/// Those of the mechanisms that ended overlaps, and a stop of worker, guard and leader each, in every test run.
const SHORT: [u64; 6] = [0, 1, 2, 3, 4, 5];
const DEEP_ROUNDS: u64 = 200;

/// The longest that all rounds may take; those that are left out are told.
const DEEP_LIMIT: Duration = Duration::from_hours(1);

#[test]
fn no_lock_has_too_many_holders_and_each_step_one_outcome_whatever_fails() {
    let began = Instant::now();
    for number in rounds() {
        if began.elapsed() > DEEP_LIMIT {
            println!("rounds from {number} on are left out: {:?}", began.elapsed());
            return;
        }
        round(number);
    }
}

fn rounds() -> Vec<u64> {
    let named = std::env::vars().find(|(name, _)| name == "WINDLASS_WITNESS");
    match named.map(|(_, number)| number.parse().expect("WINDLASS_WITNESS is a number")) {
        Some(number) => vec![number],
        None if deep() => (0..DEEP_ROUNDS).collect(),
        None => SHORT.to_vec(),
    }
}

#[expect(clippy::print_stdout, reason = "a round tells how it is replayed")]
fn round(number: u64) {
    let (fault, began) = (Fault::of(number), Instant::now());
    let mut scene = Scene::start(number, fault);
    scene.until_begun();
    fault.inject(&mut scene);
    scene.until_passed_on();
    fault.heal(&mut scene);
    let (run, testimony) = scene.end();
    let told = format!("WINDLASS_WITNESS={number}, {fault:?}");
    testimony.check(1).unwrap_or_else(|why| panic!("{told}: {why}\n{testimony}"));
    testimony.check_outcomes(&run).unwrap_or_else(|why| panic!("{told}: {why}\n{run}"));
    println!("{told}: {:?}", began.elapsed());
}
