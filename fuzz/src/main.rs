//! Fuzzes the parser, the expressions, the shell lexer, manifests and test reports.
//!
//! `windlass-fuzz spec|expr|shell|manifest|junit [--seconds N] [--seed S]` mutates the files of `corpus/` and checks the
//! results. Inputs with a new result are mutated further. The same seed repeats the same search.
//! `windlass-fuzz spec|expr|shell|manifest|junit FILE…` checks these files only.
//!
//! An input that violates a property is minimized, written to `crashes/` and reported. A process that is killed or runs out
//! of stack leaves its current input in `crashes/TARGET-SEED-current`.
#![expect(clippy::print_stdout, reason = "what was found is what the program is for")]

mod campaign;
mod check;
mod dictionary;
mod expr;
mod junit;
mod manifest;
mod minimize;
mod mutate;
mod rng;
mod shell;
mod spec;
mod watchdog;

use std::process::ExitCode;
use std::time::Duration;
use std::{env, fs};

use campaign::FuzzCampaign;
use check::FuzzTarget;

const USAGE: &str = "windlass-fuzz spec|expr|shell|manifest|junit [--seconds N] [--seed S] [FILE…]";

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    let Some(target) = args.next().as_deref().and_then(FuzzTarget::parse) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    let (mut seconds, mut seed, mut files) = (60, 1, Vec::new());
    while let Some(arg) = args.next() {
        let number = match arg.as_str() {
            "--seconds" => &mut seconds,
            "--seed" => &mut seed,
            _ => {
                files.push(arg);
                continue;
            }
        };
        let Some(value) = args.next().and_then(|text| text.parse().ok()) else {
            println!("{USAGE}");
            return ExitCode::from(2);
        };
        *number = value;
    }
    let sound = if files.is_empty() {
        FuzzCampaign::new(target, seed).run(Duration::from_secs(seconds))
    } else {
        files.iter().filter(|file| !look(target, file)).count() == 0
    };
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Checks one file and reports the result.
fn look(target: FuzzTarget, file: &str) -> bool {
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) => {
            println!("{file}: {error}");
            return false;
        }
    };
    let (result, took) = watchdog::checked(target, &bytes);
    match &result {
        Ok(shape) => println!("{file}: sound in {took:?}: {shape}"),
        Err(finding) => println!("{file}: {}\n{}", finding.key, finding.detail),
    }
    result.is_ok()
}
