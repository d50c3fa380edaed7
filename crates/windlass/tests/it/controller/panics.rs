//! An engine that panics: the run is removed, and the leader continues.

use windlass::core::engine::{CancelReason, EngineAnswer, EngineConfig, Event, event};
use windlass::core::outcome::{RunStatus, StepStatus};
use windlass::core::planted_bugs::{PlantedBug, PlantedBugs};
use windlass::core::time::Span;
use windlass_controller::{NodeConfig, NodeError, NotLeader};
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};

use super::test_node::{
    TestJournal, TestNode, TestWorker, config, everything, is_pending, journal, pass, plan,
    plan_called, run, start_with,
};

/// A node whose engine panics on steps named `panics`.
fn fragile(name: &str) -> NodeConfig {
    let engine = EngineConfig {
        bugs: PlantedBugs::only(PlantedBug::PanicsByName),
        ..EngineConfig::default()
    };
    NodeConfig { engine, ..config(name) }
}

/// A worker that holds a step of a good run and has finished one step of each bad run.
async fn poisoned(node: &TestNode, bad: u64) -> TestWorker {
    let mut mate = TestWorker::join(node, 1).await;
    for n in 1..=bad {
        node.submit(run(n), &plan_called("panics", ["build"])).await;
        mate.exchange(node, 1).await;
    }
    mate.finish_all();
    node.submit(run(100), &plan(["build"])).await;
    mate
}

async fn cancelled(journal: &TestJournal) -> Vec<CancelReason> {
    let reason = |event: &Event| match event {
        Event::RunCancelled(event::RunCancelled { reason, .. }) => Some(*reason),
        _ => None,
    };
    everything(journal).await.iter().filter_map(|recorded| reason(&recorded.event)).collect()
}

/// Exchanges as a worker does, and repeats the exchange until a controller leads.
async fn persist(mate: &mut TestWorker, node: &TestNode, want: u32) {
    let exchange = mate.next(want);
    loop {
        match node.handle.exchange(exchange.clone()).await {
            Ok(reply) => return mate.hear(reply),
            Err(NotLeader) => pass(Span::millis(100)).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn run_that_causes_an_engine_panic_fails_and_the_others_continue() {
    let journal = journal();
    let node = start_with(&journal, fragile("ann")).await;
    let mut other = TestWorker::join(&node, 2).await;
    let mut mate = poisoned(&node, 1).await;
    other.exchange(&node, 1).await;
    assert_eq!(other.held.len(), 1, "it holds a step of the good run");
    assert_eq!(node.handle.exchange(mate.next(0)).await, Err(NotLeader));
    persist(&mut mate, &node, 0).await;
    pass(Span::secs(1)).await;
    assert_eq!(node.run_status(run(1)), Some(RunStatus::Failed));
    assert_eq!(cancelled(&journal).await, [CancelReason::Defect]);
    assert_eq!(node.term().0, 2);
    persist(&mut other, &node, 0).await;
    assert_eq!(node.step_status(run(100), &plan(["build"]), "build"), Some(StepStatus::Running));
    other.finish_all();
    persist(&mut other, &node, 0).await;
    assert_eq!(node.run_status(run(100)), Some(RunStatus::Succeeded), "its lease has survived");
    let answer = node.submit(run(101), &plan(["build"])).await;
    assert!(matches!(answer, EngineAnswer::Submitted { .. }));
    assert_eq!(node.shut_down().await, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn waiting_caller_gets_an_engine_panic_as_an_error_and_may_retry() {
    let journal = journal();
    let node = start_with(&journal, fragile("ann")).await;
    let mut mate = poisoned(&node, 1).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let mut waiting = node.submitting(run(101), &plan(["build"]));
    gate.reached().await;
    assert!(is_pending(&mut waiting).await);
    let report = mate.next(0);
    assert_eq!(node.handle.exchange(report).await, Err(NotLeader));
    assert_eq!(waiting.await.expect("it runs"), Err(NotLeader));
    assert!(matches!(
        node.submit(run(101), &plan(["build"])).await,
        EngineAnswer::Submitted { .. }
    ));
    assert_eq!(node.run_status(run(101)), Some(RunStatus::Running));
}

#[tokio::test(start_paused = true)]
async fn a_run_stays_condemned_until_its_end_is_durable() {
    let journal = journal();
    let node = start_with(&journal, fragile("ann")).await;
    let (mut first, mut second) =
        (TestWorker::join(&node, 1).await, TestWorker::join(&node, 2).await);
    for (n, mate) in [(1, &mut first), (2, &mut second)] {
        node.submit(run(n), &plan_called("panics", ["build"])).await;
        mate.exchange(&node, 1).await;
        mate.finish_all();
    }
    let takeover = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(takeover.clone()));
    assert_eq!(node.handle.exchange(first.next(0)).await, Err(NotLeader));
    takeover.reached().await;
    assert_eq!(node.handle.exchange(second.next(0)).await, Err(NotLeader));
    persist(&mut first, &node, 0).await;
    persist(&mut second, &node, 0).await;
    for n in [1, 2] {
        assert_eq!(node.run_status(run(n)), Some(RunStatus::Failed), "run {n}");
    }
    assert_eq!(node.term().0, 3, "the second panic did not undo what the first had led to");
}

#[tokio::test(start_paused = true)]
async fn each_of_several_runs_that_cause_engine_panics_fails() {
    let journal = journal();
    let node = start_with(&journal, fragile("ann")).await;
    let mut mate = poisoned(&node, 5).await;
    persist(&mut mate, &node, 0).await;
    pass(Span::secs(1)).await;
    for n in 1..=5 {
        assert_eq!(node.run_status(run(n)), Some(RunStatus::Failed), "run {n}");
    }
    assert_eq!(node.run_status(run(100)), Some(RunStatus::Running));
}

#[tokio::test(start_paused = true)]
async fn repeated_panics_without_a_run_end_the_node() {
    let journal = journal();
    let node = start_with(&journal, fragile("ann")).await;
    node.submit(run(1), &plan(["build"])).await;
    for _ in 0..3 {
        let joined = TestWorker::join_as(&node, 9, "panics").await;
        assert!(joined.is_err());
    }
    assert_eq!(node.ends().await, Err(NodeError::Defect));
    let next = start_with(&journal, config("bob")).await;
    next.led().await;
    assert_eq!(next.run_status(run(1)), Some(RunStatus::Running), "nothing acknowledged is lost");
}

#[tokio::test(start_paused = true)]
async fn panics_that_are_far_apart_are_counted_separately() {
    let journal = journal();
    let node = start_with(&journal, fragile("ann")).await;
    for _ in 0..6 {
        let joined = TestWorker::join_as(&node, 9, "panics").await;
        assert!(joined.is_err());
        pass(Span::secs(90)).await;
    }
    assert!(matches!(node.submit(run(1), &plan(["build"])).await, EngineAnswer::Submitted { .. }));
}
