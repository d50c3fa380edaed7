//! Workers that are told to end, and one too many.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;
use windlass::core::engine::WorkerStatus;

use super::arrange::{ALONE, WorkerTestLeader, story, until};

#[test]
fn first_signal_lets_a_step_finish_and_second_returns_it() {
    story(async {
        let leader = WorkerTestLeader::start().await;
        let mut one = leader.worker("one").await;
        leader.submit(ALONE).await;
        until(|| leader.lines("who") == ["one"]).await;
        let _two = leader.worker("two").await;
        one.signal(Signal::TERM);
        until(|| !leader.lines("one.said").is_empty()).await;
        until(|| leader.lines("one.said").last().unwrap().contains("a second signal")).await;
        one.signal(Signal::TERM);
        let told = Instant::now();
        until(|| leader.lines("who").len() == 2).await;
        let took = told.elapsed();
        println!("second SIGTERM of a worker to its step running elsewhere: {took:?}");
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(leader.lines("beside").is_empty(), "{:?}", leader.lines("beside"));
        assert_eq!(one.ended().await, Some(0));
        assert_eq!(leader.status_of("one"), Some(WorkerStatus::Ended), "it said goodbye");
    });
}

#[test]
fn a_worker_with_nothing_to_do_ends_at_once() {
    story(async {
        let leader = WorkerTestLeader::start().await;
        let mut one = leader.worker("one").await;
        one.signal(Signal::TERM);
        assert_eq!(one.ended().await, Some(0));
    });
}

#[test]
fn second_process_in_a_state_directory_is_refused_with_the_holder() {
    story(async {
        let leader = WorkerTestLeader::start().await;
        let first = leader.worker("one").await;
        let mut second = leader.start_worker("one");
        assert_eq!(second.ended().await, Some(5));
        let said = leader.lines("one.said").join(" ");
        assert!(said.contains(&format!("in use by process {}", first.pid())), "{said}");
    });
}
