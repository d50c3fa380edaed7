//! Starts that end while they fold the journal: the run that they name, and its fate after it is condemned.

use std::sync::Arc;

use windlass::core::engine::{CancelReason, Event, event};
use windlass::core::id::RunId;
use windlass::core::outcome::RunStatus;
use windlass::core::plan::{Plan, PlanBuilder, StepSpec};
use windlass::core::time::Span;
use windlass_controller::ControllerNode;
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};
use windlass_store::journal::{CampaignOutcome, Journal, LeaderCandidate, StartMark};

use super::test_node::{
    TestJournal, TestWorker, config, everything, journal, pass, plan, run, start,
};

async fn marks(journal: &TestJournal) -> Vec<Option<RunId>> {
    let marks = journal.start_marks().await.expect("it answers");
    marks.into_iter().map(|mark| mark.applying).collect()
}

/// A start that is killed while it applies the events after this many marks.
async fn killed_after(journal: &Arc<TestJournal>, marks: usize) {
    let gate = CallGate::new();
    (0..marks).for_each(|_| journal.plan(JournalCall::MarkStart, JournalFault::None));
    // The mark is written before the next one, so the events after the mark at the gate are never applied.
    journal.plan(JournalCall::MarkStart, JournalFault::HeldAtGate(gate.clone()));
    let opened: Arc<dyn Journal> = Arc::clone(journal) as _;
    let opening =
        tokio::spawn(async move { drop(ControllerNode::open(opened, config("ann")).await) });
    gate.reached().await;
    opening.abort();
    drop(opening.await);
}

/// Condemns a run as `windlass store condemn` does: under a term of its own.
async fn condemn(journal: &TestJournal, run: RunId) {
    let candidate = LeaderCandidate { node: "operator".to_owned(), address: None };
    let campaign = journal.campaign(candidate).await.expect("it answers");
    let CampaignOutcome::Won(won) = campaign else { panic!("nobody leads: {campaign:?}") };
    journal.condemn(won.term, run).await.expect("it is taken");
    journal.resign(won.term).await.expect("it was held");
}

/// A plan that a start names before it builds it.
fn costly() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("costly");
    plan.step_with("build", StepSpec::default(), &"x".repeat(100_000));
    Arc::new(plan.build().expect("a valid plan"))
}

#[tokio::test(start_paused = true)]
async fn completed_start_leaves_no_mark() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    node.submit(run(1), &costly()).await;
    node.shut_down().await.expect("it ends in good order");
    let next = start(&journal, "ann").await;
    assert_eq!(marks(&journal).await, []);
    assert_eq!(next.run_status(run(1)), Some(RunStatus::Running));
}

#[tokio::test(start_paused = true)]
async fn start_reports_costly_runs_and_every_run_after_a_killed_start() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan(["build"])).await;
    node.submit(run(2), &costly()).await;
    node.submit(run(3), &plan(["build"])).await;
    node.shut_down().await.expect("it ends in good order");
    // The first mark names the start, the second the costly run that it applies, the third its success.
    killed_after(&journal, 2).await;
    assert_eq!(marks(&journal).await, [Some(run(2))]);
    // The small run before it is named as well.
    killed_after(&journal, 2).await;
    assert_eq!(marks(&journal).await, [Some(run(1))]);
}

#[tokio::test(start_paused = true)]
async fn condemned_run_fails_at_the_next_start_and_the_others_continue() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    let mut mate = TestWorker::join(&node, 1).await;
    node.submit(run(1), &costly()).await;
    mate.exchange(&node, 1).await;
    assert_eq!(mate.held.len(), 1, "it runs a step of the run to be condemned");
    node.submit(run(2), &plan(["build"])).await;
    node.crash(&*journal).await;
    killed_after(&journal, 2).await;
    let [Some(named)] = marks(&journal).await[..] else { panic!("no run is named") };
    assert_eq!(named, run(1));
    condemn(&journal, named).await;

    let next = start(&journal, "ann").await;
    next.led().await;
    pass(Span::secs(1)).await;
    assert_eq!(next.run_status(run(1)), Some(RunStatus::Failed));
    assert_eq!(next.run_status(run(2)), Some(RunStatus::Running));
    assert_eq!(marks(&journal).await, []);
    let events = everything(&*journal).await;
    let condemned = events.iter().any(|it| {
        matches!(&it.event, Event::RunCancelled(event::RunCancelled { run: of, reason: CancelReason::Condemned, .. }) if *of == run(1))
    });
    assert!(condemned, "{events:?}");
    let mut other = TestWorker::join(&next, 2).await;
    other.exchange(&next, 1).await;
    other.finish_all();
    other.exchange(&next, 0).await;
    assert_eq!(next.run_status(run(2)), Some(RunStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn unfinished_start_of_another_node_is_ignored() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan(["build"])).await;
    node.shut_down().await.expect("it ends in good order");
    let mark = StartMark { node: "bob".to_owned(), applying: None };
    journal.mark_start(mark).await.expect("it is taken");
    let gate = CallGate::new();
    journal.plan(JournalCall::MarkStart, JournalFault::None);
    journal.plan(JournalCall::MarkStart, JournalFault::HeldAtGate(gate));
    // A second mark would wait at the gate without an end.
    let next = start(&journal, "ann").await;
    assert_eq!(next.run_status(run(1)), Some(RunStatus::Running));
}
