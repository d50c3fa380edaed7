//! Workers that die at work.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;
use windlass::core::engine::WorkerStatus;

use super::arrange::{ALONE, WorkerTestLeader, story, until};

#[test]
fn killed_workers_step_moves_within_a_second_and_never_overlaps() {
    story(async {
        let leader = WorkerTestLeader::start().await;
        let mut one = leader.worker("one").await;
        leader.submit(ALONE).await;
        until(|| leader.lines("who") == ["one"]).await;
        let _two = leader.worker("two").await;
        one.signal(Signal::KILL);
        let killed = Instant::now();
        until(|| leader.lines("who").len() == 2).await;
        let took = killed.elapsed();
        println!("kill -9 of a worker to its step running elsewhere: {took:?}");
        assert_eq!(leader.lines("who"), ["one", "two"]);
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(leader.lines("beside").is_empty(), "{:?}", leader.lines("beside"));
        assert_eq!(leader.status_of("one"), Some(WorkerStatus::Ended));
        assert_eq!(one.ended().await, None);
    });
}

/// Whoever comes back with the same state directory is the same worker, as a new life.
#[test]
fn killed_worker_rejoins_with_its_identity() {
    story(async {
        let leader = WorkerTestLeader::start().await;
        let one = leader.worker("one").await;
        leader.submit(ALONE).await;
        until(|| leader.lines("who") == ["one"]).await;
        drop(one);
        until(|| leader.status_of("one") == Some(WorkerStatus::Ended)).await;
        let _one = leader.worker("one").await;
        until(|| leader.lines("who") == ["one", "one"]).await;
        assert!(leader.lines("beside").is_empty(), "{:?}", leader.lines("beside"));
    });
}

/// The guard has told it of an end that it never read: its socket then breaks instead of closing.
#[test]
fn end_of_a_step_is_reported_although_its_worker_was_killed() {
    story(async {
        let leader = WorkerTestLeader::start().await;
        let one = leader.worker("one").await;
        leader.submit(ALONE).await;
        until(|| leader.lines("who") == ["one"]).await;
        one.signal(Signal::STOP);
        let step: i32 = leader.lines("pids")[0].parse().unwrap();
        kill_process(Pid::from_raw(step).unwrap(), Signal::KILL).unwrap();
        // The guard buries whom it has told of.
        until(|| !Path::new(&format!("/proc/{step}")).exists()).await;
        one.signal(Signal::KILL);
        until(|| leader.status_of("one") == Some(WorkerStatus::Ended)).await;
    });
}
