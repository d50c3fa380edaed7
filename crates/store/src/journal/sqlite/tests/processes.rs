//! Other processes: a leader, and a writer that is killed.

use std::io::{self, Read};
use std::path::Path;

use windlass_core::id::Term;

use super::fixtures::{
    FOLDER, ROLE, TestChildProcess, batch, campaign, everything, folder, open, print_number, wait,
    win,
};
#[cfg(target_os = "linux")]
use super::fsync;
#[cfg(unix)]
use super::permissions;
use super::snapshots;
use crate::journal::{CampaignOutcome, Journal};

/// Runs the role that a test gave this process; does nothing without one.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test that starts this process set them")]
fn child() {
    let (Ok(role), Ok(folder)) = (std::env::var(ROLE), std::env::var(FOLDER)) else { return };
    let folder = Path::new(&folder);
    match role.as_str() {
        "lead" => lead(folder),
        "write" => write(folder),
        "save" => snapshots::save_for_ever(folder),
        "work here" => snapshots::work_in_the_working_folder(folder),
        #[cfg(unix)]
        "try" => permissions::try_everything(folder),
        #[cfg(target_os = "linux")]
        "sync" => fsync::append_and_save(folder),
        #[cfg(target_os = "linux")]
        "sync carelessly" => fsync::append_carelessly(folder),
        other => panic!("no role `{other}`"),
    }
}

/// Leads until its input is closed.
fn lead(folder: &Path) {
    let journal = open(folder);
    print_number("leads", win(&journal).term.0);
    drop(io::stdin().read(&mut [0]));
}

/// Appends for ever, four batches in flight, and prints each acknowledged position.
fn write(folder: &Path) {
    let journal = open(folder);
    let leadership = win(&journal);
    print_number("leads", leadership.term.0);
    let mut head = leadership.head.0;
    loop {
        let promises = [1, 7, 40, 3].map(|events| {
            let append = batch(leadership.term, head, events);
            head += events;
            journal.append(append)
        });
        for promise in promises {
            print_number("acked", wait(promise).expect("no other process leads").0);
        }
    }
}

#[test]
fn leader_in_another_process_is_named() {
    let folder = folder();
    let mut mate = TestChildProcess::start("lead", folder.path());
    assert_eq!(mate.next_number("leads"), Some(1));
    let journal = open(folder.path());
    let led = CampaignOutcome::LedBy {
        node: "alpha".to_owned(),
        pid: Some(mate.child.id()),
        address: Some("alpha:1".to_owned()),
    };
    assert_eq!(campaign(&journal, "beta"), Ok(led));
    drop(mate.child.stdin.take());
    assert!(mate.child.wait().unwrap().success());
    assert_eq!(win(&journal).term, Term(2));
}

#[test]
fn killed_leader_no_longer_leads() {
    let folder = folder();
    let mut mate = TestChildProcess::start("lead", folder.path());
    assert_eq!(mate.next_number("leads"), Some(1));
    let journal = open(folder.path());
    mate.kill();
    mate.child.wait().unwrap();
    assert_eq!(win(&journal).term, Term(2));
}

/// Kills a writing process repeatedly on one journal, each time after a different number of appends.
#[test]
#[expect(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
fn what_was_acknowledged_survives_kills() {
    let rounds = if std::env::var("WINDLASS_DEEP").is_ok() { 100 } else { 20 };
    let folder = folder();
    let (mut term, mut chance) = (Term(0), 1_u64);
    let mut acknowledged = Vec::new();
    for round in 0..rounds {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mut mate = TestChildProcess::start("write", folder.path());
        let heard = usize::try_from((chance >> 33) % 60).unwrap();
        // Zero: the process is killed while it starts.
        acknowledged.extend((0..heard).map_while(|_| mate.next_number("acked")));
        mate.kill();
        acknowledged.extend(std::iter::from_fn(|| mate.next_number("acked")));
        mate.child.wait().unwrap();
        let journal = open(folder.path());
        let written = everything(&journal);
        for position in &acknowledged {
            let there = written.binary_search_by_key(position, |stored| stored.position().0);
            assert!(there.is_ok(), "round {round}: {position} was acknowledged and is lost");
        }
        let next = win(&journal).term;
        assert!(next > term, "round {round}: {next} follows {term}");
        term = next;
    }
    assert!(acknowledged.len() > rounds * 10, "{} batches are too few", acknowledged.len());
}
