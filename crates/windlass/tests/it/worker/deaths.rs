//! Workers that die at work.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;
use windlass::core::engine::WorkerStatus;

use super::arrange::{ALONE, Leader, story, until};

#[test]
fn a_killed_workers_step_runs_elsewhere_within_a_second_and_never_beside_its_former_self() {
    story(async {
        let leader = Leader::start().await;
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
fn a_worker_that_was_killed_comes_back_as_itself() {
    story(async {
        let leader = Leader::start().await;
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
fn a_worker_killed_before_it_heard_of_an_end_is_reported_all_the_same() {
    story(async {
        let leader = Leader::start().await;
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
