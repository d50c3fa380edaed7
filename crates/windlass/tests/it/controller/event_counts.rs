//! Each event is counted once, on a standby too, and after a long time without a read of the counters.

use std::sync::Arc;

use windlass::core::engine::{CancelLevel, EngineRequest};
use windlass::core::outcome::RunStatus;
use windlass::core::plan::{PlanBuilder, StepSpec};
use windlass::core::time::Time;
use windlass_controller::metrics::{EventCounter, MetricsSnapshot, page};
use windlass_net::shutdown::ShutdownSender;

use super::test_node::{TestNode, journal, run, start};
use crate::exposition::ParsedMetricsPage;
use crate::support::waiting::until_true;

/// More steps than a node keeps events in memory.
const MANY: usize = 20_000;

fn metrics(node: &TestNode) -> ParsedMetricsPage {
    let state = node.handle.views().with(|view| MetricsSnapshot::of(view, &[]));
    ParsedMetricsPage::read(&page(&state, node.handle.meters(), Time::ZERO))
}

fn settled(node: &TestNode) -> String {
    let page = metrics(node);
    let family = page.family("windlass_events_total");
    let of = |it: &&crate::exposition::ParsedMetricSample| it.labels["type"] == "step_settled";
    family.samples.iter().find(of).map(|it| it.value.to_string()).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stands_by_counts_what_it_missed_from_the_journal() {
    let journal = journal();
    let ann = start(&journal, "ann").await;
    ann.led().await;
    let bob = start(&journal, "bob").await;
    let tally = EventCounter::new(&bob.handle, &(Arc::clone(&journal) as _));
    let mut plan = PlanBuilder::new("many");
    for step in 0..MANY {
        plan.step(&format!("s{step}"), StepSpec::default());
    }
    let plan = Arc::new(plan.build().expect("it is a plan"));
    ann.submit(run(1), &plan).await;
    let level = CancelLevel::Kill;
    ann.handle.ask(EngineRequest::Cancel { run: run(1), level }).await.expect("it leads");
    until_true(|| {
        let ended = ann.run_status(run(1)).is_some_and(RunStatus::is_terminal);
        ended && bob.position() == ann.position()
    })
    .await;
    assert_eq!(settled(&bob), "", "nobody has counted yet");
    let (shutdown, ends) = ShutdownSender::new();
    let counting = tokio::spawn(tally.run(ends));
    until_true(|| settled(&bob) == MANY.to_string()).await;
    let page = metrics(&bob);
    assert_eq!(
        page.value("windlass_runs_ended_total", &[("status", "cancelled")]).to_string(),
        "1"
    );
    assert_eq!(page.value("windlass_leads", &[]).to_string(), "0");
    shutdown.shut_down();
    counting.await.expect("it ends");
}
