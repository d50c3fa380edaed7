//! Every queue and batch is bounded, and no worker is lost at a bound.

use windlass::core::engine::{BATCH_BYTES_MAX, EngineAnswer, EngineConfig};
use windlass::core::outcome::{RunStatus, StepStatus};
use windlass::core::time::Span;
use windlass_controller::NodeConfig;
use windlass_store::conformance::{CallGate, JournalCall, JournalFault};
use windlass_store::journal::{Journal as _, Position};

use super::test_node::{
    TTL, TestWorker, config, folded, is_pending, journal, pass, plan, run, start, start_with,
};

#[tokio::test(start_paused = true)]
async fn callers_wait_at_a_full_queue_and_none_is_lost() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let asking: Vec<_> = (0..3_000).map(|n| node.submitting(run(n), &plan)).collect();
    for answer in asking {
        assert!(matches!(answer.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    }
    assert_eq!(node.details(), folded(&*journal).await);
}

#[tokio::test(start_paused = true)]
async fn a_batch_does_not_wait_for_a_flood_to_end() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    let asking: Vec<_> = (0..1_000).map(|n| node.submitting(run(n), &plan)).collect();
    for answer in asking {
        assert!(answer.await.expect("it runs").is_ok());
    }
    let batches = journal.tail(Position(0), usize::MAX).await.expect("it reads");
    let largest = batches.iter().map(|batch| batch.events.len()).max();
    assert!(largest <= Some(64), "{largest:?}");
}

#[tokio::test(start_paused = true)]
async fn backlog_during_a_hung_append_is_bounded_and_no_worker_times_out() {
    let (journal, plan) = (journal(), plan(["build"]));
    let engine = EngineConfig { runs_max: 20_000, ..EngineConfig::default() };
    let node = start_with(&journal, NodeConfig { engine, ..config("ann") }).await;
    let mut mate = TestWorker::join(&node, 1).await;
    node.submit(run(0), &plan).await;
    mate.exchange(&node, 1).await;
    let gate = CallGate::new();
    journal.plan(JournalCall::Append, JournalFault::HeldAtGate(gate.clone()));
    let asking: Vec<_> = (1..20_000).map(|n| node.submitting(run(n), &plan)).collect();
    gate.reached().await;
    pass(Span::secs(2)).await;
    mate.finish_all();
    let mut reporting = Box::pin(node.handle.exchange(mate.next(0)));
    assert!(is_pending(&mut reporting).await);
    pass(TTL.times(3)).await;
    gate.open();
    mate.hear(reporting.await.expect("it leads"));
    assert_eq!(node.step_status(run(0), &plan, "build"), Some(StepStatus::Succeeded));
    assert_eq!(node.run_status(run(0)), Some(RunStatus::Succeeded), "its lease was not given up");
    for answer in asking {
        assert!(matches!(answer.await, Ok(Ok(EngineAnswer::Submitted { .. }))));
    }
    let batches = journal.tail(Position(0), usize::MAX).await.expect("it reads");
    let sizes = batches.iter().map(|batch| {
        let bytes: usize = batch.events.iter().map(|recorded| recorded.event.bytes()).sum();
        (bytes, batch.events.len())
    });
    let (bytes, events) = sizes.max().expect("there are some");
    assert!(events < 17_000, "{events} events");
    // A decision can begin below the bound and end above it.
    let range = BATCH_BYTES_MAX * 9 / 10..BATCH_BYTES_MAX + 100_000;
    assert!(range.contains(&bytes), "{bytes} bytes");
}
