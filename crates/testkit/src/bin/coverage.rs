//! Prints the line coverage of each part from a report in lcov format: `coverage FILE [--floor PERCENT]`. A part below the
//! minimum fails.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports in text")]

use std::fmt::Write as _;
use std::process::ExitCode;
use std::{env, fs};

const HELP: &str = "usage: coverage FILE [--floor PERCENT]";

/// The parts that have a minimum, and their folders.
const PARTS: [(&str, &[&str]); 5] = [
    ("core", &["crates/core/src/"]),
    ("store", &["crates/store/src/"]),
    ("link", &["crates/net/src/", "crates/link/src/"]),
    ("controller", &["crates/controller/src/"]),
    ("worker", &["crates/worker/src/"]),
];

/// Maximum number of files named for a part below its minimum: those with the most uncovered lines.
const NAMED: usize = 10;

/// The coverage of a file, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LineCoverage {
    file: String,
    all: u32,
    run: u32,
}

impl LineCoverage {
    fn percent(&self) -> f64 {
        if self.all == 0 { 0.0 } else { 100.0 * f64::from(self.run) / f64::from(self.all) }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let asked = match words[..] {
        [file] => Some((file, 0.0)),
        [file, "--floor", floor] => floor.parse().ok().map(|floor| (file, floor)),
        _ => None,
    };
    let Some((file, floor)) = asked else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    match fs::read_to_string(file) {
        Ok(report) => print_report(&files(&report), floor),
        Err(error) => {
            eprintln!("coverage: {file}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn print_report(files: &[LineCoverage], floor: f64) -> ExitCode {
    let mut below = Vec::new();
    println!("{:<12} {:>7} {:>7} {:>7}", "part", "lines", "run", "");
    for (name, folders) in PARTS {
        let part = part_of(files, folders);
        println!("{name:<12} {:>7} {:>7} {:>6.1}%", part.all, part.run, part.percent());
        if part.percent() < floor {
            below.push((name, folders));
        }
    }
    for (name, folders) in &below {
        eprintln!("coverage: {name} is below {floor}%:\n{}", worst(files, folders));
    }
    if below.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Parses a report: the files with their numbers of lines.
fn files(report: &str) -> Vec<LineCoverage> {
    let mut files = Vec::new();
    let mut open = LineCoverage::default();
    for line in report.lines() {
        match line.split_once(':') {
            Some(("SF", file)) => file.clone_into(&mut open.file),
            Some(("LF", all)) => open.all = all.parse().unwrap_or(0),
            Some(("LH", run)) => open.run = run.parse().unwrap_or(0),
            _ if line == "end_of_record" => files.push(std::mem::take(&mut open)),
            _ => {}
        }
    }
    files
}

/// Returns the files in these folders. Files of tests do not count.
fn within<'a>(
    files: &'a [LineCoverage],
    folders: &'a [&str],
) -> impl Iterator<Item = &'a LineCoverage> {
    let is_of = |file: &LineCoverage| folders.iter().any(|folder| file.file.contains(folder));
    files.iter().filter(move |file| is_of(file) && !file.file.contains("/tests"))
}

fn part_of(files: &[LineCoverage], folders: &[&str]) -> LineCoverage {
    within(files, folders).fold(LineCoverage::default(), |sum, file| LineCoverage {
        file: String::new(),
        all: sum.all + file.all,
        run: sum.run + file.run,
    })
}

/// Returns the files with the most uncovered lines.
fn worst(files: &[LineCoverage], folders: &[&str]) -> String {
    let mut found: Vec<&LineCoverage> = within(files, folders).collect();
    found.sort_by_key(|file| std::cmp::Reverse(file.all - file.run));
    let mut text = String::new();
    for file in found.iter().take(NAMED) {
        let (missing, percent) = (file.all - file.run, file.percent());
        let _ = writeln!(text, "  {missing:>5} lines not run, {percent:.1}%: {}", file.file);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "SF:/x/crates/core/src/a.rs\nDA:1,3\nLF:10\nLH:9\nend_of_record\n\
        SF:/x/crates/core/src/b.rs\nLF:30\nLH:21\nend_of_record\n\
        SF:/x/crates/core/src/engine/tests.rs\nLF:5\nLH:0\nend_of_record\n\
        SF:/x/crates/link/src/c.rs\nLF:4\nLH:4\nend_of_record\n";

    #[test]
    fn a_part_is_the_sum_of_its_files_without_their_tests() {
        let files = files(REPORT);
        let core = part_of(&files, PARTS[0].1);
        assert_eq!((core.all, core.run), (40, 30));
        assert!((core.percent() - 75.0).abs() < 1e-9);
        assert!((part_of(&files, PARTS[2].1).percent() - 100.0).abs() < 1e-9);
        assert!(
            part_of(&files, PARTS[4].1).percent().abs() < 1e-9,
            "a part without lines has no covered ones"
        );
    }

    #[test]
    fn files_are_named_by_what_is_missing() {
        let files = files(REPORT);
        let named = worst(&files, PARTS[0].1);
        let first = named.lines().next();
        assert_eq!(first, Some("      9 lines not run, 70.0%: /x/crates/core/src/b.rs"));
    }
}
