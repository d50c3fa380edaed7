//! Spans of a cluster: its workers know their ids without asking, and a restart does not break a trace.

use rustix::process::Signal;

use super::metrics::scrape;
use crate::collector::{CollectorBehavior, TestCollector};
use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::local_cluster::LocalCluster;
use crate::support::waiting::until;

const STORY: &str = "\
name: story
steps:
  first: { run: 'echo $TRACEPARENT > first' }
  long: { needs: first, run: 'echo $TRACEPARENT >> long; until test -e go; do sleep 0.05; done' }
";

#[test]
fn a_trace_outlives_its_controller_and_a_collector_that_was_busy() {
    let collector = TestCollector::start(CollectorBehavior::RefusesFirst(1));
    let flags = format!("--lease-ttl 3s --no-exec --otlp {}", collector.address());
    let mut cluster = LocalCluster::start(&flags);
    let _worker = cluster.worker("far", "--slots 2");
    let run = cluster.submit(STORY);
    cluster.project.until_lines("long", 1);
    until("the first step was told", || {
        collector.spans().iter().any(|span| span.name() == "first")
    });
    cluster.kill();
    cluster.restart();
    cluster.project.file("go", "");
    cluster.ended(&run);
    until("the run was told", || collector.spans().iter().any(|span| span.name() == "story"));
    let story = collector.span("story");
    for step in ["first", "long"] {
        let attempt = collector.span(&format!("{step} attempt 1"));
        assert_eq!(collector.span(step).parent(), story.id());
        assert_eq!(attempt.parent(), collector.span(step).id());
        assert_eq!(attempt.attribute("windlass.worker"), "far");
        let (trace, id) = attempt.id();
        assert_eq!(cluster.project.lines(step), [format!("00-{trace}-{id}-01")]);
    }
    assert_eq!(collector.spans().len(), 5, "each once: {:#?}", collector.spans());
    cluster.controller.signal(Signal::TERM);
    until("it ends", || cluster.controller.is_over());
}

#[test]
fn undelivered_spans_are_counted() {
    for (manner, result) in
        [(CollectorBehavior::Refuses, "dropped"), (CollectorBehavior::Takes, "sent")]
    {
        let (collector, port) = (TestCollector::start(manner), free_port());
        let (address, metrics) = (collector.address(), format!("127.0.0.1:{port}"));
        let cluster = LocalCluster::start(&format!("--otlp {address} --metrics-listen {metrics}"));
        cluster.ended(&cluster.submit("steps: { only: { run: 'true' } }"));
        until(&format!("three are {result}"), || {
            let page = scrape(port).expect("it answers");
            page.value("windlass_trace_spans_total", &[("result", result)]).to_string() == "3"
        });
        let spans = if manner == CollectorBehavior::Takes { 3 } else { 0 };
        assert_eq!(collector.spans().len(), spans);
    }
}
