//! A node that is asked to end.

use std::time::Duration;

use tokio::time::Instant;
use windlass::core::engine::EngineAnswer;
use windlass::core::outcome::RunStatus;
use windlass::core::time::Span;
use windlass_controller::NotLeader;
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};

use super::test_node::{TestWorker, is_pending, journal, pass, plan, run, start};

#[tokio::test(start_paused = true)]
async fn every_decision_is_durable_before_the_term_is_resigned() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&ann, 1).await;
    let mut parked = Box::pin(ann.handle.exchange(mate.next(0)));
    assert!(is_pending(&mut parked).await);
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let in_flight = ann.submitting(run(1), &plan);
    gate.reached().await;
    let mut gathering = ann.submitting(run(2), &plan);
    assert!(is_pending(&mut gathering).await);
    ann.shutdown();
    let mut late = ann.submitting(run(3), &plan);
    assert!(is_pending(&mut late).await);
    gate.open();
    assert!(matches!(in_flight.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    assert!(matches!(gathering.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    assert_eq!(late.await.expect("it runs"), Err(NotLeader), "it takes no more");
    assert_eq!(parked.await, Err(NotLeader));
    assert_eq!(ann.ends().await, Ok(()));
    let bob = start(&journal, "bob").await;
    bob.led().await;
    assert_eq!(bob.run_status(run(2)), Some(RunStatus::Running));
    assert_eq!(bob.run_status(run(3)), None);
}

#[tokio::test(start_paused = true)]
async fn shutdown_wait_for_an_append_is_bounded() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(CallGate::new()));
    let mut asking = node.submitting(run(2), &plan);
    assert!(is_pending(&mut asking).await);
    let began = Instant::now();
    assert_eq!(node.shut_down().await, Ok(()));
    assert!((10..13).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(asking.await.expect("it runs"), Err(NotLeader));
}

#[tokio::test(start_paused = true)]
async fn shutdown_wait_for_a_resignation_is_bounded() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    journal.plan(JournalCall::Resign, JournalFault::HeldAtGate(CallGate::new()));
    let began = Instant::now();
    assert_eq!(node.shut_down().await, Ok(()));
    assert!(began.elapsed() < Duration::from_secs(13), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn shutdown_of_a_standby_is_bounded() {
    let journal = journal();
    let gate = CallGate::new();
    journal.plan(JournalCall::Campaign, JournalFault::HeldAtGate(gate.clone()));
    let node = start(&journal, "ann").await;
    gate.reached().await;
    let began = Instant::now();
    assert_eq!(node.shut_down().await, Ok(()));
    assert!(began.elapsed() < Duration::from_secs(13), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn node_leads_on_after_its_handles_are_dropped() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    ann.submit(run(1), &plan).await;
    let bob = start(&journal, "bob").await;
    let ann = ann.deserted();
    pass(Span::secs(60)).await;
    assert!(!bob.leads());
    assert_eq!(ann.await, Ok(()));
    pass(Span::secs(1)).await;
    assert!(bob.leads());
}
