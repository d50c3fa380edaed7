//! Spans of a run on one machine, as a collector receives them.

use std::time::Duration;

use tokio::time::Instant;

use crate::collector::{CollectedSpan, CollectorBehavior, TestCollector};
use crate::support::program::FinishedProgram;
use crate::support::project_folder::ProjectFolder;

/// A retry, a matrix, a failure and its blocked dependents; each step prints its trace variables.
const STORY: &str = r#"
name: story
steps:
  flaky:
    run: echo $TRACEPARENT >> flaky; test -e tried || { touch tried; exit 7; }
    retry: { times: 1, wait: 10ms }
  cell:
    matrix: { db: [a, b] }
    env: { SECRET_LIKE: hunter22 }
    outputs: [value]
    run: echo $TRACEPARENT > cell-$WINDLASS_MATRIX_DB; echo value=hunter22 >> $WINDLASS_OUTPUT
  broken: { needs: [flaky, cell], run: exit 3 }
  after: { needs: broken, run: "true" }
"#;

fn run(project: &ProjectFolder, flags: &str) -> FinishedProgram {
    project.run(&format!("run --keep-going --store memory {flags}"))
}

/// The trace variables of a process name the span of its attempt.
fn described(span: &CollectedSpan) -> String {
    let (trace, id) = span.id();
    format!("00-{trace}-{id}-01")
}

#[test]
fn a_collector_gets_each_run_with_its_steps_and_their_attempts() {
    let collector = TestCollector::start(CollectorBehavior::Takes);
    let project = ProjectFolder::with(STORY).set("OTEL_SERVICE_NAME", "builds");
    let project = project.set("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k%201");
    let ended = run(&project, &format!("--otlp {}", collector.address()));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let span = |name: &str| collector.span(name);
    let story = span("story");
    assert!(story.0["parentSpanId"].is_null(), "{story:?}");
    assert_eq!((story.status(), story.attribute("windlass.status").as_str()), (2, "failed"));
    for step in ["flaky", "cell[a]", "cell[b]", "broken", "after"] {
        assert_eq!(span(step).parent(), story.id(), "{step}");
        let ((began, ended), (first, last)) = (span(step).times(), story.times());
        assert!(first <= began && began <= ended && ended <= last, "{step}");
    }
    let (first, second) = (span("flaky attempt 1"), span("flaky attempt 2"));
    assert_eq!([first.parent(), second.parent()], [span("flaky").id(), span("flaky").id()]);
    assert_eq!((first.status(), second.status(), span("flaky").status()), (2, 1, 1));
    assert_eq!(first.attribute("windlass.exit_code"), "7");
    assert_eq!(first.0["status"]["message"], "exit code 7");
    assert!(first.times().1 <= second.times().0);
    assert_eq!(project.lines("flaky"), [described(&first), described(&second)]);
    assert_eq!(project.lines("cell-a"), [described(&span("cell[a] attempt 1"))]);
    assert_eq!(project.lines("cell-b"), [described(&span("cell[b] attempt 1"))]);
    let after = span("after");
    assert_eq!((after.attribute("windlass.status").as_str(), after.status()), ("blocked", 0));
    assert_eq!(collector.spans().len(), 1 + 5 + 5, "{:#?}", collector.spans());
    for attribute in ["run", "step", "attempt", "delivery", "worker", "fence", "status"] {
        assert_ne!(first.attribute(&format!("windlass.{attribute}")), "", "{attribute}");
    }
    let heads = collector.heads().concat();
    assert!(heads.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{heads}");
    assert!(heads.contains("api-key: k 1\r\n"), "{heads}");
    assert!(
        collector.text().contains(r#"{"key":"service.name","value":{"stringValue":"builds"}}"#)
    );
    assert!(!collector.text().contains("hunter22"), "{}", collector.text());
}

#[test]
fn run_continues_the_trace_of_its_parent() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let collector = TestCollector::start(CollectorBehavior::Takes);
    let text = "steps: { only: { run: 'echo $TRACEPARENT > told' } }";
    let project = ProjectFolder::with(text).set("TRACEPARENT", PARENT);
    let project = project.set("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address());
    assert_eq!(run(&project, "").code, Some(0));
    let attempt = collector.span("only attempt 1");
    assert_eq!(project.lines("told"), [described(&attempt)]);
    let mut spans = collector.spans();
    spans.retain(|span| span.0["parentSpanId"] == "b7ad6b7169203331");
    assert_eq!(spans.len(), 1, "the run's");
    assert_eq!(spans[0].id().0, "0af7651916cd43dd8448eb211c80319c");
    // Without a collector the caller keeps its own span, and nothing is sent.
    let off = ProjectFolder::with(text).set("TRACEPARENT", PARENT);
    assert_eq!(run(&off, "").code, Some(0));
    assert_eq!(off.lines("told"), [PARENT]);
    assert_eq!(collector.spans().len(), 3);
}

#[test]
fn unresponsive_collector_does_not_delay_a_run() {
    let hangs = TestCollector::start(CollectorBehavior::Hangs);
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
        format!("http://{}", listener.local_addr().expect("it has one"))
    };
    for address in [hangs.address(), gone] {
        let project = ProjectFolder::with("steps: { only: { run: 'true' } }");
        let began = Instant::now();
        let ended = run(&project, &format!("--otlp {address}"));
        let took = began.elapsed();
        println!("with {address} it took {took:?}");
        assert_eq!(ended.code, Some(0), "{ended:?}");
        // Giving up takes one second here; while a controller serves, a batch is resent for fifteen.
        assert!(took < Duration::from_secs(8), "{took:?}");
    }
}

#[test]
fn invalid_collector_is_refused_as_a_flag_and_ignored_in_the_environment() {
    let project = ProjectFolder::with("steps: { only: { run: 'true' } }");
    let ended = run(&project, "--otlp https://collector.example");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let project = project.set("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector.example");
    let ended = run(&project, "");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("no spans are sent"), "{ended:?}");
}
