//! Terms that expire: how long a leader trusts its term.

use std::time::Duration;

use tokio::time::{Instant, advance};
use windlass::core::engine::EngineAnswer;
use windlass::core::time::Span;
use windlass_controller::NotLeader;
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};
use windlass_store::journal::Journal as _;

use super::test_node::{TestWorker, is_pending, lasting, pass, plan, run, start};

const TERM: Span = Span::secs(6);
/// A tenth and half a second less.
const TRUST: Duration = Duration::from_millis(4_900);

#[tokio::test(start_paused = true)]
async fn a_term_is_renewed_on_time_while_an_append_hangs() {
    let (journal, plan) = (lasting(TERM), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let mut asking = node.submitting(run(2), &plan);
    gate.reached().await;
    pass(Span::secs(600)).await;
    assert!(is_pending(&mut asking).await && node.leads());
    gate.open();
    assert!(matches!(asking.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    assert_eq!(node.term().0, 1, "it has led all the time");
}

#[tokio::test(start_paused = true)]
async fn a_term_is_renewed_on_time_while_the_loop_is_busy() {
    let (journal, plan) = (lasting(TERM), plan(["build"]));
    let node = start(&journal, "ann").await;
    let began = Instant::now();
    for n in 0.. {
        node.submit(run(n), &plan).await;
        advance(Duration::from_millis(50)).await;
        if began.elapsed() > Duration::from_secs(30) {
            break;
        }
    }
    assert!(node.leads());
    assert_eq!(node.term().0, 1);
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_now_and_then_costs_nothing() {
    let (journal, plan) = (lasting(TERM), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    for fault in
        [JournalFault::Unsent, JournalFault::Unanswered, JournalFault::Full, JournalFault::Unsent]
    {
        journal.plan(JournalCall::Renew, fault);
    }
    pass(Span::secs(20)).await;
    assert!(node.leads());
    assert_eq!(node.term().0, 1);
}

#[tokio::test(start_paused = true)]
async fn leader_answers_no_request_after_its_lease_has_ended() {
    let (journal, plan) = (lasting(TERM), plan(["build"]));
    let began = Instant::now();
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    for _ in 0..100 {
        journal.plan(JournalCall::Renew, JournalFault::Unsent);
    }
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let asking = node.submitting(run(1), &plan);
    gate.reached().await;
    let parked = node.handle.exchange(mate.next(1));
    assert_eq!(parked.await, Err(NotLeader));
    let held = TRUST..TRUST + Duration::from_millis(5);
    assert!(held.contains(&began.elapsed()), "{:?}", began.elapsed());
    gate.open();
    assert_eq!(asking.await.expect("it runs"), Err(NotLeader));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_is_no_renewal() {
    let journal = lasting(TERM);
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Renew, JournalFault::HeldAtGate(gate.clone()));
    gate.reached().await;
    let parked = node.handle.exchange(mate.next(1));
    assert_eq!(parked.await, Err(NotLeader));
    gate.open();
    pass(Span::secs(10)).await;
    assert!(node.leads());
    assert_eq!(node.term().0, 2);
}

#[tokio::test(start_paused = true)]
async fn a_stale_renewal_deposes_at_once() {
    let journal = lasting(TERM);
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    let began = Instant::now();
    journal.resign(node.term()).await.expect("it is held");
    let parked = node.handle.exchange(mate.next(1));
    assert_eq!(parked.await, Err(NotLeader));
    assert!(began.elapsed() <= Duration::from_millis(1_510), "{:?}", began.elapsed());
}

/// A process that was stopped sees the result of its append before its timers, so it must check the clock.
#[tokio::test(start_paused = true)]
async fn leader_suspended_past_its_lease_answers_no_request() {
    let (journal, plan) = (lasting(TERM), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let (gate, renewal) = (CallGate::new(), CallGate::new());
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    journal.plan(JournalCall::Renew, JournalFault::HeldAtGate(renewal.clone()));
    let asking = node.submitting(run(2), &plan);
    gate.reached().await;
    gate.open();
    advance(TRUST + Duration::from_secs(1)).await;
    assert_eq!(asking.await.expect("it runs"), Err(NotLeader));
}
