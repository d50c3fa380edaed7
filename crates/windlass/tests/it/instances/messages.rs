//! The content of messages between instances, and which messages are accepted.

use std::fmt::Write as _;

use rustix::process::Signal;

use crate::support::instance_processes::{ELSEWHERE, InstanceProcesses};
use crate::support::redis_server::RedisServer;

/// Twenty-four outputs of sixty kilobytes, and a step on another instance that reads all of them: more than one message
/// can hold.
fn heavy() -> String {
    let mut file = "steps:\n".to_owned();
    let names: Vec<String> = (0..24).map(|n| format!("part{n}")).collect();
    for name in &names {
        let _ = write!(
            file,
            "  {name}:\n    outputs: [text]\n    run: |\n      \
             echo text=$(head -c 60000 /dev/zero | tr '\\0' x) >> $WINDLASS_OUTPUT\n"
        );
    }
    let _ =
        write!(file, "  whole:\n    requires: big\n    needs: [{}]\n    env:\n", names.join(", "));
    for name in &names {
        let _ = writeln!(file, "      {name}: ${{{{ steps.{name}.outputs.text }}}}");
    }
    file + "    run: env | grep '^part[0-9]*=x' | wc -c > counted\n"
}

#[test]
fn step_with_input_larger_than_a_message_runs_on_another_instance() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), &heavy());
    let leader = fleet.leader(2, "--jobs 2");
    let worker = fleet.worker(1, 2, "--jobs 1 --label big");
    leader.ended().expect_error(0, "25 succeeded");
    worker.ended().expect_error(0, "succeeded");
    let counted = fleet.project.read("counted");
    assert!(counted.trim().parse::<u32>().unwrap() > 24 * 60_000, "{counted}");
}

#[test]
fn leader_reports_an_instance_with_another_secret() {
    let redis = RedisServer::start(&[]);
    let fleet = InstanceProcesses::at(&redis.url(), ELSEWHERE);
    let leader = fleet.leader(3, "--jobs 1");
    let mut stranger = fleet.command(1, 3, "--label big");
    stranger.env("WINDLASS_RUN_SECRET", "another");
    let stranger = fleet.project.start_command(stranger);
    let what = "does not know the secret: set the same WINDLASS_RUN_SECRET everywhere";
    leader.until_said(what);
    let worker = fleet.worker(2, 3, "--jobs 1 --label big");
    fleet.project.until_lines("begun", 1);
    fleet.enough();
    let ended = leader.ended();
    ended.expect_error(0, "1 succeeded");
    assert_eq!(ended.err.matches(what).count(), 1, "{}", ended.err);
    worker.ended().expect_error(0, "succeeded");
    stranger.signal(Signal::KILL);
}
