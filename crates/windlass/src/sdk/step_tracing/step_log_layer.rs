//! The layer that writes events of steps to the logs of those steps.

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::{Targets, filter_fn};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::field_text::FieldText;
use super::traced_callee::{AttemptOfSpan, is_attempt_span};

/// The level of events that reach the log of their step unless `RUST_LOG` is set.
const DEFAULT_LEVEL: LevelFilter = LevelFilter::INFO;

/// Returns a layer that writes the `tracing` events of a step to the log of that step.
///
/// `Cli::main` and `Pipeline::main` install it unless the program has a global subscriber. A program that installs one
/// adds the layer to its registry:
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt as _;
///
/// let subscriber = tracing_subscriber::registry().with(windlass::step_log_layer());
/// tracing::subscriber::set_global_default(subscriber)?;
/// # Ok::<(), tracing::subscriber::SetGlobalDefaultError>(())
/// ```
///
/// An event belongs to the step in whose span it happens. The function of a step runs in that span, and so does
/// `Context::blocking`. A task that the function spawns has to be instrumented with the current span. The layer ignores
/// events outside of steps.
///
/// `RUST_LOG` sets the levels, for instance `info,my_crate=debug` (default: `info`). A filter of the whole registry has
/// to enable spans of the target `windlass::step`; a filter of another layer does not matter.
pub fn step_log_layer<S>() -> impl Layer<S> + Send + Sync + 'static
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let (layer, filter) = (StepLogLayer::of_environment(), StepLogLayer::of_environment());
    let most_verbose = filter.most_verbose();
    let filter = filter_fn(move |metadata| filter.takes(metadata));
    layer.with_filter(filter.with_max_level_hint(most_verbose))
}

/// Writes events of steps to the logs of those steps.
#[derive(Debug)]
pub(crate) struct StepLogLayer {
    levels: Targets,
}

/// The fields of a span inside a step, as text.
struct SpanFields(String);

impl StepLogLayer {
    /// The layer with the levels that `RUST_LOG` sets; with the default ones if that is invalid.
    pub(crate) fn of_environment() -> Self {
        Self::with_levels(rust_log().as_deref())
    }

    fn with_levels(levels: Option<&str>) -> Self {
        let levels = levels.and_then(|levels| levels.parse().ok());
        Self { levels: levels.unwrap_or_else(|| Targets::new().with_default(DEFAULT_LEVEL)) }
    }

    /// Whether the layer takes an event or a span, if that is inside a step.
    pub(crate) fn takes(&self, metadata: &Metadata<'_>) -> bool {
        is_attempt_span(metadata) || self.levels.would_enable(metadata.target(), metadata.level())
    }

    /// The most verbose level that the layer takes.
    pub(crate) fn most_verbose(&self) -> LevelFilter {
        let levels = self.levels.iter().map(|(_, level)| level);
        // The spans of attempts are always taken.
        levels.chain(self.levels.default_level()).fold(LevelFilter::ERROR, Ord::max)
    }

    /// Writes an event to the log of its step. Returns whether it happened in one.
    pub(crate) fn write<S>(&self, event: &Event<'_>, context: &Context<'_, S>) -> bool
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let scope = context.event_scope(event).into_iter().flatten();
        let spans: Vec<SpanRef<'_, S>> = scope.collect();
        // The span of an attempt has no parent.
        let Some((attempt, inner)) = spans.split_last() else { return false };
        let extensions = attempt.extensions();
        let Some(AttemptOfSpan(call)) = extensions.get() else { return false };
        if self.takes(event.metadata()) {
            call.output.push(line(event, inner).as_bytes());
        }
        true
    }
}

impl<S> Layer<S> for StepLogLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        self.write(event, &context);
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if !attributes.is_root() && !attributes.is_empty() {
            add_fields(id, &context, |text| attributes.record(text));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        add_fields(id, &context, |text| values.record(text));
    }
}

/// Stores fields of a span as text, if the span is inside a step.
fn add_fields<S>(id: &Id, context: &Context<'_, S>, record: impl FnOnce(&mut FieldText))
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let Some(span) = context.span(id) else { return };
    let is_inside = !is_attempt_span(span.metadata())
        && span.scope().last().is_some_and(|root| is_attempt_span(root.metadata()));
    if is_inside {
        let mut text = FieldText::default();
        record(&mut text);
        let mut extensions = span.extensions_mut();
        let earlier = extensions.remove::<SpanFields>().map_or_else(String::new, |fields| fields.0);
        extensions.replace(SpanFields(earlier + &text.fields));
    }
}

/// The line of an event in these spans, the innermost first.
fn line<S>(event: &Event<'_>, spans: &[SpanRef<'_, S>]) -> String
where
    S: for<'a> LookupSpan<'a>,
{
    let mut text = FieldText::default();
    event.record(&mut text);
    let mut path = String::new();
    for span in spans.iter().rev() {
        path += span.name();
        if let Some(SpanFields(fields)) = span.extensions().get() {
            path = format!("{path}{{{}}}", fields.trim_start());
        }
        path += ":";
    }
    let blank = |text: &str| if text.is_empty() { "" } else { " " };
    let (level, target) = (event.metadata().level(), event.metadata().target());
    let FieldText { message, fields } = text;
    format!("{level} {path}{}{target}:{}{message}{fields}\n", blank(&path), blank(&message))
}

/// `RUST_LOG`: the levels of events that reach the log of their step.
#[expect(clippy::disallowed_methods, reason = "the command line is not the only user of the layer")]
fn rust_log() -> Option<String> {
    std::env::var("RUST_LOG").ok()
}
