//! The end of instance 0's binding: its own steps and those that it gave out end before the next instance 0 starts them.

use std::io::{PipeReader, Write as _, pipe};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::support::instance_processes::InstanceProcesses;
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

/// A step that writes the time again and again, wherever it runs, until it is killed.
const TICKS: &str = r"
steps:
  tick:
    run: |
      trap '' TERM
      while :; do date +%s%N >> ticks; sleep 0.05; done
";

/// The same where instances have the label `big`, with a lock.
const LOCKED_TICKS: &str = r"
steps:
  tick:
    requires: big
    lock: prod
    run: |
      trap '' TERM
      while :; do date +%s%N >> ticks; sleep 0.05; done
";

/// Bytes that a pipe takes which is not read.
const PIPE: usize = 64 << 10;

/// The times that the step of a folder has written. Killed, it may have written half of the last.
fn times(project: &ProjectFolder) -> Vec<u64> {
    let whole = |line: &String| line.len() == 19;
    let lines = project.lines("ticks").into_iter().filter(whole);
    lines.map(|line| line.parse().expect("it is a time")).collect()
}

/// The step of the first has written its last line before that of the second wrote its first.
#[track_caller]
fn in_turn(first: &ProjectFolder, second: &ProjectFolder) {
    // One that still ran would have written many in that time.
    second.until_lines("ticks", 40);
    let (last, next) = (times(first).last().copied(), times(second).first().copied());
    assert!(last.is_some() && last < next, "{last:?} comes before {next:?}");
}

#[test]
fn step_of_a_stopped_instance_0_ends_before_the_next_one_starts_it() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), TICKS);
    let first = fleet.leader(2, "--jobs 1 --link-grace 2s");
    fleet.project.until_lines("ticks", 3);
    first.signal(Signal::STOP);
    let other = fleet.elsewhere(TICKS);
    let _second = other.leader(2, "--jobs 1 --link-grace 2s");
    in_turn(&fleet.project, &other.project);
}

/// Starts a program whose standard output accepts no bytes.
fn start_unread(mut command: Command) -> (KilledOnDrop, PipeReader) {
    let (reader, mut writer) = pipe().expect("there is room for a pipe");
    writer.write_all(&vec![b'x'; PIPE]).expect("it takes that much");
    let child = command.stdout(writer).stderr(Stdio::null()).spawn();
    (KilledOnDrop(child.expect("the program starts")), reader)
}

/// A program that is killed with its test.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn step_of_an_instance_0_that_waits_for_its_terminal_ends_before_the_next_one_starts_it() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), TICKS);
    let _first = start_unread(fleet.command(0, 2, "--jobs 1 --link-grace 2s --json"));
    fleet.project.until_lines("ticks", 3);
    redis.cli(&["CLIENT", "PAUSE", "4000", "ALL"]);
    let other = fleet.elsewhere(TICKS);
    let _second = other.leader(2, "--jobs 1 --link-grace 2s");
    in_turn(&fleet.project, &other.project);
}

/// The leases of other instances can last longer than the binding.
#[test]
fn lock_is_not_granted_while_a_lease_of_a_killed_instance_0_may_last() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), LOCKED_TICKS);
    let flags = "--jobs 1 --link-grace 2s --lease-ttl 8s";
    let first = fleet.leader(2, flags);
    let frozen = fleet.worker(1, 2, "--jobs 1 --label big");
    fleet.project.until_lines("ticks", 3);
    frozen.signal(Signal::STOP);
    first.signal(Signal::KILL);
    let other = fleet.elsewhere(LOCKED_TICKS);
    let second = other.leader(2, &format!("{flags} --label big"));
    in_turn(&fleet.project, &other.project);
    assert!(second.said().contains("locks are granted after 8s"), "{}", second.said());
}
