//! One controller leads, then the next.

use windlass::core::engine::{EngineAnswer, EngineRequest, SubmitRun};
use windlass::core::outcome::RunStatus;
use windlass::core::time::Span;
use windlass_controller::{NodeConfig, NodeError, NotLeader, StandbyPolicy};
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};
use windlass_store::journal::{CampaignOutcome, Journal as _, LeaderCandidate};

use super::test_node::{
    TestWorker, config, folded, is_pending, journal, lasting, pass, plan, run, start, start_with,
};

#[tokio::test(start_paused = true)]
async fn a_second_node_stands_by_and_folds_what_the_leader_writes() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    ann.submit(run(1), &plan).await;
    let bob = start(&journal, "bob").await;
    ann.submit(run(2), &plan).await;
    let submit = EngineRequest::Submit(SubmitRun::new(run(3), plan.clone()));
    assert_eq!(bob.handle.ask(submit).await, Err(NotLeader));
    pass(Span::secs(1)).await;
    assert!(ann.leads() && !bob.leads());
    assert_eq!(bob.run_status(run(2)), Some(RunStatus::Running));
    assert_eq!(bob.details(), ann.details());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stands_by_takes_over_at_once_from_one_that_resigns() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&ann, 1).await;
    ann.submit(run(1), &plan).await;
    mate.exchange(&ann, 1).await;
    let bob = start(&journal, "bob").await;
    assert_eq!(ann.shut_down().await, Ok(()));
    pass(Span::secs(1)).await;
    assert!(bob.leads());
    mate.exchange(&bob, 0).await;
    mate.finish_all();
    mate.exchange(&bob, 0).await;
    assert_eq!(bob.run_status(run(1)), Some(RunStatus::Succeeded));
    assert_eq!(bob.details(), folded(&*journal).await);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stands_by_takes_over_when_the_leader_crashes() {
    let (journal, plan) = (lasting(Span::secs(6)), plan(["build"]));
    let ann = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&ann, 1).await;
    ann.submit(run(1), &plan).await;
    mate.exchange(&ann, 1).await;
    let bob = start(&journal, "bob").await;
    pass(Span::secs(1)).await;
    ann.vanish().await;
    pass(Span::secs(7)).await;
    assert!(bob.leads());
    assert_eq!(bob.term().0, 2);
    mate.exchange(&bob, 0).await;
    mate.finish_all();
    mate.exchange(&bob, 0).await;
    assert_eq!(bob.run_status(run(1)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn node_that_must_not_stand_by_names_the_leader() {
    let journal = journal();
    let ann = start(&journal, "ann").await;
    ann.led().await;
    let refuses = NodeConfig { stand_by: StandbyPolicy::Refuse, ..config("bob") };
    let bob = start_with(&journal, refuses).await;
    let error = bob.ends().await.expect_err("ann leads");
    let pid = Some(std::process::id());
    assert_eq!(error, NodeError::Led { node: "ann".to_owned(), pid, address: None });
    assert!(error.to_string().starts_with("ann leads already (process "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn caller_of_a_deposed_leader_gets_an_error_and_the_node_can_lead_again() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&ann, 1).await;
    let mut parked = Box::pin(ann.handle.exchange(mate.next(1)));
    assert!(is_pending(&mut parked).await);
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let (in_flight, gathering) = (ann.submitting(run(1), &plan), ann.submitting(run(2), &plan));
    gate.reached().await;
    journal.resign(ann.term()).await.expect("it is held");
    let eve = LeaderCandidate { node: "eve".to_owned(), address: None };
    let won = journal.campaign(eve).await;
    let Ok(CampaignOutcome::Won(won)) = won else { panic!("{won:?}") };
    gate.open();
    assert_eq!(in_flight.await.expect("it runs"), Err(NotLeader));
    assert_eq!(gathering.await.expect("it runs"), Err(NotLeader));
    assert_eq!(parked.await, Err(NotLeader));
    let submit = SubmitRun::new(run(3), plan.clone());
    assert_eq!(ann.handle.ask(EngineRequest::Submit(submit)).await, Err(NotLeader));
    assert!(!ann.leads());
    journal.resign(won.term).await.expect("eve goes");
    pass(Span::secs(1)).await;
    assert!(ann.leads());
    assert_eq!(ann.run_status(run(1)), None, "what was not durable never happened");
    assert!(matches!(ann.submit(run(1), &plan).await, EngineAnswer::Submitted { .. }));
    assert_eq!(ann.details(), folded(&*journal).await);
}

#[tokio::test(start_paused = true)]
async fn node_waits_for_an_unresponsive_journal() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    ann.submit(run(1), &plan).await;
    let bob = start(&journal, "bob").await;
    pass(Span::secs(1)).await;
    for _ in 0..5 {
        journal.plan(JournalCall::Campaign, JournalFault::Unsent);
        journal.plan(JournalCall::Tail, JournalFault::Unsent);
    }
    ann.crash(&*journal).await;
    pass(Span::secs(3)).await;
    assert!(matches!(bob.submit(run(2), &plan).await, EngineAnswer::Submitted { .. }));
    assert_eq!(bob.run_status(run(1)), Some(RunStatus::Running));
}

#[tokio::test(start_paused = true)]
async fn term_that_was_won_but_cannot_be_led_is_resigned() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    ann.submit(run(1), &plan).await;
    let bob = start(&journal, "bob").await;
    pass(Span::secs(1)).await;
    ann.crash(&*journal).await;
    journal.plan(JournalCall::Tail, JournalFault::Unsent);
    pass(Span::secs(1)).await;
    assert!(bob.leads(), "it won, could not read, gave the term back and won again");
    assert_eq!(bob.term().0, 3);
}
