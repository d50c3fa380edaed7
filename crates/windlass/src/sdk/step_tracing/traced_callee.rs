//! A span for each attempt of a step.

use std::sync::Arc;

use tracing::{Instrument as _, Metadata, Span, error_span};
use tracing_subscriber::Registry;
use tracing_subscriber::registry::LookupSpan as _;
use windlass_worker::executors::{CallFuture, Callee, StepCall};

/// The target of these spans. A filter of a program's own subscriber has to enable it.
const TARGET: &str = "windlass::step";

/// The attempt of a span, stored with the span: events in it belong to that attempt.
pub(super) struct AttemptOfSpan(pub(super) Arc<StepCall>);

/// A step whose attempts run in a span.
#[derive(Debug)]
pub(crate) struct TracedCallee(Arc<dyn Callee>);

impl TracedCallee {
    /// Wraps a step and its hooks.
    pub(crate) fn around(callee: Arc<dyn Callee>) -> Arc<dyn Callee> {
        Arc::new(Self(callee))
    }
}

impl Callee for TracedCallee {
    fn signature(&self) -> &str {
        self.0.signature()
    }

    fn call(&self, call: Arc<StepCall>) -> CallFuture {
        let span = attempt_span(&call);
        let attempt = self.0.call(call);
        if span.is_disabled() { attempt } else { Box::pin(attempt.instrument(span)) }
    }
}

/// Whether a span is that of an attempt.
pub(super) fn is_attempt_span(metadata: &Metadata<'_>) -> bool {
    metadata.target() == TARGET
}

fn attempt_span(call: &Arc<StepCall>) -> Span {
    let (lease, step) = (&call.grant.lease, &*call.grant.name);
    // Filters by level enable errors first: where an event of the step passes, so does its span.
    let span = error_span!(target: TARGET, parent: None, "step", run = %lease.run, step, attempt = lease.attempt);
    span.with_subscriber(|(id, subscriber)| {
        let registry = subscriber.downcast_ref::<Registry>();
        if let Some(span) = registry.and_then(|registry| registry.span(id)) {
            span.extensions_mut().replace(AttemptOfSpan(Arc::clone(call)));
        }
    });
    span
}
