//! The exchanges of workers through the leader loop.

use std::time::Duration;

use tokio::time::Instant;
use windlass::core::engine::WorkerStatus;
use windlass::core::id::WorkerId;
use windlass::core::outcome::{RunStatus, StepStatus};
use windlass::core::session::OutcomeVerdict;

use super::test_node::{TTL, TestWorker, is_pending, journal, pass, plan, run, start};

#[tokio::test(start_paused = true)]
async fn parked_exchange_is_answered_when_a_run_is_submitted() {
    let (journal, plan) = (journal(), plan(["build", "test"]));
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let mut parked = Box::pin(node.handle.exchange(mate.next(4)));
    assert!(is_pending(&mut parked).await);
    node.submit(run(1), &plan).await;
    mate.hear(parked.await.expect("it leads"));
    assert_eq!(mate.held.len(), 2);
    mate.finish_all();
    mate.exchange(&node, 0).await;
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn a_parked_exchange_is_answered_when_it_is_time_for_the_next() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let began = Instant::now();
    let reply = node.handle.exchange(mate.next(4)).await.expect("it leads");
    assert!(reply.body.expect("not refused").is_empty());
    let interval = Duration::from_millis(TTL.divided_by(3).as_millis());
    assert!((interval..interval + Duration::from_millis(20)).contains(&began.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn a_newer_exchange_answers_the_parked_one_with_nothing() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let mut parked = Box::pin(node.handle.exchange(mate.next(4)));
    assert!(is_pending(&mut parked).await);
    let mut newer = Box::pin(node.handle.exchange(mate.next(4)));
    assert!(is_pending(&mut newer).await);
    let reply = parked.await.expect("it leads");
    assert_eq!(reply.seq.0, 1);
    assert!(reply.body.expect("not refused").is_empty());
}

#[tokio::test(start_paused = true)]
async fn both_copies_of_a_duplicated_exchange_are_answered() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let mut once = Box::pin(node.handle.exchange(mate.next(4)));
    assert!(is_pending(&mut once).await);
    let mut twice = Box::pin(node.handle.exchange(mate.again(4)));
    assert!(is_pending(&mut twice).await && is_pending(&mut once).await);
    node.submit(run(1), &plan).await;
    let (once, twice) = (once.await.expect("it leads"), twice.await.expect("it leads"));
    assert_eq!(once, twice);
    mate.hear(once);
    assert_eq!(mate.held.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_report_after_the_lease_has_ended_counts_under_this_leader_and_the_next() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&ann, 1).await;
    ann.submit(run(1), &plan).await;
    mate.exchange(&ann, 1).await;
    pass(TTL.times(2)).await;
    assert_eq!(ann.step_status(run(1), &plan, "build"), Some(StepStatus::Ready));
    mate.finish_all();
    mate.exchange(&ann, 0).await;
    assert_eq!(mate.verdicts, [OutcomeVerdict::Accepted]);
    assert_eq!(ann.run_status(run(1)), Some(RunStatus::Succeeded));
    ann.crash(&*journal).await;
    let ben = start(&journal, "ben").await;
    assert_eq!(ben.run_status(run(1)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn silent_worker_loses_its_lease_to_another() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let (mut silent, mut other) =
        (TestWorker::join(&node, 1).await, TestWorker::join(&node, 2).await);
    node.submit(run(1), &plan).await;
    silent.exchange(&node, 1).await;
    let (lease, began) = (silent.held[0], Instant::now());
    while other.held.is_empty() {
        other.exchange(&node, 1).await;
    }
    let ttl = Duration::from_millis(TTL.as_millis());
    assert!(
        (ttl..ttl + Duration::from_secs(2)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    assert!(other.held[0].fence > lease.fence);
    silent.finish_all();
    silent.exchange(&node, 0).await;
    assert_eq!(node.step_status(run(1), &plan, "build"), Some(StepStatus::Leased));
    other.finish_all();
    other.exchange(&node, 0).await;
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn grant_to_a_departed_caller_is_resent() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let mut parked = Box::pin(node.handle.exchange(mate.next(4)));
    assert!(is_pending(&mut parked).await);
    drop(parked);
    node.submit(run(1), &plan).await;
    mate.exchange(&node, 0).await;
    assert_eq!(mate.held.len(), 1);
    mate.finish_all();
    mate.exchange(&node, 0).await;
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn request_of_a_departed_caller_is_carried_out() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let asking = node.submitting(run(1), &plan);
    tokio::task::yield_now().await;
    asking.abort();
    pass(TTL).await;
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Running));
    let status = |id| node.handle.views().with(|view| view.engine.worker_status(WorkerId(id)));
    assert_eq!(status(1), None::<WorkerStatus>);
}
