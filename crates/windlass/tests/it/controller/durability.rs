//! No reply leaves before it is durable.

use std::sync::Arc;

use windlass::core::engine::{EngineAnswer, EngineRequest, SubmitRun};
use windlass::core::outcome::RunStatus;
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};
use windlass_store::journal::{Journal as _, Position};

use super::test_node::{folded, is_pending, journal, plan, run, start};

#[tokio::test(start_paused = true)]
async fn answer_waits_until_its_events_are_durable() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let submit = SubmitRun::new(run(2), plan);
    let mut asking = Box::pin(node.handle.ask(EngineRequest::Submit(submit)));
    assert!(is_pending(&mut asking).await);
    assert_eq!(node.run_status(run(2)), None, "the view does not show it either");
    gate.open();
    assert!(matches!(asking.await, Ok(EngineAnswer::Submitted { .. })));
    assert_eq!(node.run_status(run(2)), Some(RunStatus::Running));
}

#[tokio::test(start_paused = true)]
async fn requests_during_an_append_form_one_batch() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let asking: Vec<_> = (2..=10)
        .map(|n| {
            let (handle, submit) = (node.handle.clone(), SubmitRun::new(run(n), plan.clone()));
            tokio::spawn(async move { handle.ask(EngineRequest::Submit(submit)).await })
        })
        .collect();
    gate.reached().await;
    tokio::task::yield_now().await;
    gate.open();
    for answer in asking {
        assert!(matches!(answer.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    }
    let batches = journal.tail(Position(0), usize::MAX).await.expect("it reads");
    assert_eq!(batches.len(), 4, "the takeover, the first run, the second, and all the others");
}

#[tokio::test(start_paused = true)]
async fn an_append_of_unknown_outcome_is_repeated_and_answered_once() {
    for fault in [JournalFault::Unsent, JournalFault::Unanswered] {
        let (journal, plan) = (journal(), plan(["build"]));
        let node = start(&journal, "ann").await;
        node.submit(run(1), &plan).await;
        for _ in 0..3 {
            journal.plan(JournalCall::Append, fault.clone());
        }
        let answer = node.submit(run(2), &plan).await;
        assert!(matches!(answer, EngineAnswer::Submitted { .. }), "{fault:?}");
        let batches = journal.tail(Position(0), usize::MAX).await.expect("it reads");
        assert_eq!(batches.len(), 3, "the takeover and two runs: {fault:?}");
        assert_eq!(node.position(), 3);
        assert_eq!(node.details(), folded(&*journal).await);
    }
}

#[tokio::test(start_paused = true)]
async fn full_store_continues_by_itself_when_space_is_free() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    for _ in 0..8 {
        journal.plan(JournalCall::Append, JournalFault::Full);
    }
    let mut first = node.submitting(run(2), &plan);
    let mut second = node.submitting(run(3), &plan);
    assert!(is_pending(&mut first).await && is_pending(&mut second).await);
    assert!(matches!(first.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    assert!(matches!(second.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    assert_eq!(node.details(), folded(&*journal).await);
}

#[tokio::test(start_paused = true)]
async fn a_follower_sees_only_what_is_durable() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let asking = node.submitting(run(2), &plan);
    gate.reached().await;
    let mut follower = node.handle.views().follow(&(Arc::clone(&journal) as _), Position(2));
    let mut following = Box::pin(follower.next());
    assert!(is_pending(&mut following).await);
    assert_eq!(node.position(), 2);
    gate.open();
    let batch = following.await.expect("it was never behind");
    assert_eq!(batch.iter().map(|it| it.position).collect::<Vec<_>>(), [Position(3)]);
    assert!(matches!(asking.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
}

#[tokio::test(start_paused = true)]
async fn answer_without_events_waits_for_the_batch_in_preparation() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let (first, second) = (CallGate::new(), CallGate::new());
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(first.clone()));
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(second.clone()));
    let in_flight = node.submitting(run(2), &plan);
    first.reached().await;
    let mut gathering = node.submitting(run(3), &plan);
    let mut again = node.submitting(run(3), &plan);
    assert!(is_pending(&mut again).await);
    first.open();
    assert!(in_flight.await.expect("it runs").is_ok());
    second.reached().await;
    assert!(is_pending(&mut gathering).await && is_pending(&mut again).await);
    second.open();
    assert!(gathering.await.expect("it runs").is_ok());
    assert!(again.await.expect("it runs").is_ok());
}
