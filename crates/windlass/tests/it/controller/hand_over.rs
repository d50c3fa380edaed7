//! A node that is told to end.

use std::time::Duration;

use tokio::time::Instant;
use windlass::conformance::{Call, Fault, Gate};
use windlass::controller::NotLeader;
use windlass::core::engine::Answer;
use windlass::core::outcome::RunStatus;
use windlass::core::time::Span;

use super::crew::{Mate, is_pending, journal, pass, plan, run, start};

#[tokio::test(start_paused = true)]
async fn everything_that_was_decided_is_durable_before_the_term_is_given_back() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    let mut mate = Mate::join(&ann, 1).await;
    let mut parked = Box::pin(ann.handle.exchange(mate.next(0)));
    assert!(is_pending(&mut parked).await);
    let gate = Gate::new();
    journal.plan(Call::Append, Fault::Slow(gate.clone()));
    let in_flight = ann.submitting(run(1), &plan);
    gate.reached().await;
    let mut gathering = ann.submitting(run(2), &plan);
    assert!(is_pending(&mut gathering).await);
    ann.shutdown();
    let mut late = ann.submitting(run(3), &plan);
    assert!(is_pending(&mut late).await);
    gate.open();
    assert!(matches!(in_flight.await, Ok(Ok(Answer::Submitted { .. }))));
    assert!(matches!(gathering.await, Ok(Ok(Answer::Submitted { .. }))));
    assert_eq!(late.await.expect("it runs"), Err(NotLeader), "it takes no more");
    assert_eq!(parked.await, Err(NotLeader));
    assert_eq!(ann.ends().await, Ok(()));
    let bob = start(&journal, "bob").await;
    bob.led().await;
    assert_eq!(bob.run_status(run(2)), Some(RunStatus::Running));
    assert_eq!(bob.run_status(run(3)), None);
}

#[tokio::test(start_paused = true)]
async fn a_node_does_not_wait_for_ever_for_an_append() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    journal.plan(Call::Append, Fault::Slow(Gate::new()));
    let mut asking = node.submitting(run(2), &plan);
    assert!(is_pending(&mut asking).await);
    let began = Instant::now();
    assert_eq!(node.shut_down().await, Ok(()));
    assert!((10..13).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(asking.await.expect("it runs"), Err(NotLeader));
}

#[tokio::test(start_paused = true)]
async fn a_node_does_not_wait_for_ever_to_give_its_term_back() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    journal.plan(Call::Resign, Fault::Slow(Gate::new()));
    let began = Instant::now();
    assert_eq!(node.shut_down().await, Ok(()));
    assert!(began.elapsed() < Duration::from_secs(13), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stands_by_does_not_wait_for_ever_for_a_term() {
    let journal = journal();
    let gate = Gate::new();
    journal.plan(Call::Campaign, Fault::Slow(gate.clone()));
    let node = start(&journal, "ann").await;
    gate.reached().await;
    let began = Instant::now();
    assert_eq!(node.shut_down().await, Ok(()));
    assert!(began.elapsed() < Duration::from_secs(13), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_nobody_can_ask_any_more_leads_on() {
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
