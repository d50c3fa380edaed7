//! The layer that prints the process log: one line per event outside of steps, as text or as an object.

use std::fmt::Debug;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use windlass_core::display_text::is_unsafe_to_display;
use windlass_core::report::UtcTime;
use windlass_core::time::Time;

use super::print::print_message;
use super::process_log::{LogFormat, LogLevel, TARGET};
use crate::sdk::{FieldText, StepLogLayer};

/// The field with the whole text of a message of several lines. See `log_banner`.
const BANNER: &str = "banner";

/// Writes events of steps to the logs of those steps, and all others to the process log.
#[derive(Debug)]
pub(in crate::cli) struct ProcessLogLayer {
    pub(in crate::cli) level: LogLevel,
    pub(in crate::cli) format: LogFormat,
    pub(in crate::cli) clock: fn() -> Time,
    pub(in crate::cli) steps: StepLogLayer,
}

impl ProcessLogLayer {
    fn line(&self, event: &Event<'_>) -> String {
        match (self.format, is_own(event.metadata())) {
            (LogFormat::Json, own) => self.object(event, own).to_string(),
            (LogFormat::Text, true) => EventFields::of(event).own_text(),
            (LogFormat::Text, false) => foreign_text(event),
        }
    }

    /// Fields of windlass have a meaning and stand beside the message; those of a library are kept apart.
    fn object(&self, event: &Event<'_>, is_own: bool) -> Value {
        let EventFields { mut fields, message } = EventFields::of(event);
        let now = || UtcTime((self.clock)()).to_string().into();
        let own_time = if is_own { fields.remove("time") } else { None };
        let level = level_word(*event.metadata().level());
        let mut object = Map::from_iter([
            ("time".to_owned(), own_time.unwrap_or_else(now)),
            ("level".to_owned(), level.into()),
            ("message".to_owned(), message.into()),
        ]);
        if is_own {
            object.extend(fields.into_iter().filter(|(name, _)| name != BANNER));
        } else {
            object.insert("target".to_owned(), event.metadata().target().into());
            object.insert("fields".to_owned(), Value::Object(fields));
        }
        Value::Object(object)
    }
}

impl<S> Layer<S> for ProcessLogLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        *metadata.level() <= self.level.filter() || self.steps.takes(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level.filter().max(self.steps.most_verbose()))
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let is_of_step = self.steps.write(event, &context);
        if !is_of_step && *event.metadata().level() <= self.level.filter() {
            print_message(&self.line(event));
        }
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        self.steps.on_new_span(attributes, id, context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        self.steps.on_record(id, values, context);
    }
}

/// Whether windlass itself emits an event.
fn is_own(metadata: &Metadata<'_>) -> bool {
    metadata.target().split("::").next() == Some(TARGET)
}

fn level_word(level: Level) -> String {
    level.as_str().to_ascii_lowercase()
}

/// The line of an event of a library or of the program, with its level and its target.
fn foreign_text(event: &Event<'_>) -> String {
    let mut text = FieldText::default();
    event.record(&mut text);
    let (level, target) = (level_word(*event.metadata().level()), event.metadata().target());
    plain(&format!("{level} {target}: {}{}", text.message, text.fields))
}

/// The fields of an event as values.
#[derive(Debug, Default)]
struct EventFields {
    fields: Map<String, Value>,
    message: String,
}

impl EventFields {
    fn of(event: &Event<'_>) -> Self {
        let mut read = Self::default();
        event.record(&mut read);
        read
    }

    /// The line in text format of an event of windlass.
    fn own_text(&self) -> String {
        if let Some(Value::String(banner)) = self.fields.get(BANNER) {
            return banner.clone();
        }
        let time = self.fields.get("time").and_then(Value::as_str);
        // A record is one line, even if a name or a foreign error contains line ends.
        let message = plain(&self.message);
        match time.and_then(|time| time.get(11..19)) {
            Some(clock) => format!("{clock} {message}"),
            None => message,
        }
    }

    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.fields.insert(field.name().trim_start_matches("r#").to_owned(), value.into());
    }
}

impl Visit for EventFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            _ => self.put(field, value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// The text as one line without control sequences.
fn plain(text: &str) -> String {
    let shown = |c: char| if is_unsafe_to_display(c) { '\u{fffd}' } else { c };
    text.lines().map(|line| line.chars().map(shown).collect()).collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tracing::{info, trace, warn};
    use tracing_subscriber::Registry;
    use tracing_subscriber::layer::SubscriberExt as _;
    use windlass_core::id::{Fence, RunId};

    use super::super::process_log::{LogFields, LogRecord, log_banner};
    use super::*;

    /// Keeps the lines of a layer instead of printing them.
    struct KeepLines {
        layer: ProcessLogLayer,
        lines: Arc<Mutex<Vec<String>>>,
    }

    impl<S> Layer<S> for KeepLines
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
            self.layer.enabled(metadata, context)
        }

        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            self.lines.lock().unwrap().push(self.layer.line(event));
        }
    }

    /// The lines of the events that a function emits.
    fn lines(format: LogFormat, emit: impl FnOnce()) -> Vec<String> {
        let steps = StepLogLayer::of_environment();
        let level = LogLevel::Info;
        let layer = ProcessLogLayer { level, format, clock: || Time::ZERO, steps };
        let lines = Arc::new(Mutex::new(Vec::new()));
        let subscriber = Registry::default().with(KeepLines { layer, lines: Arc::clone(&lines) });
        tracing::subscriber::with_default(subscriber, emit);
        lines.lock().unwrap().clone()
    }

    fn record() -> LogRecord {
        LogRecord {
            level: LogLevel::Warn,
            at: Some(Time::from_millis(3_723_004)),
            message: "run 7 \"s\"\n\u{1b}[2J is lost".to_owned(),
            about: LogFields {
                run: Some(RunId(7)),
                pipeline: Some("ship".to_owned()),
                step: Some("test[a\nb]".to_owned()),
                attempt: Some((2, 3)),
                worker: Some("far".to_owned()),
                fence: Some(Fence(9)),
                by: Some("token ci".to_owned()),
            },
        }
    }

    #[test]
    fn text_record_is_one_line_without_control_sequences() {
        let lines = lines(LogFormat::Text, || {
            record().emit();
            warn!("no time");
        });
        assert_eq!(lines, ["01:02:03 run 7 \"s\" \u{fffd}[2J is lost", "no time"]);
    }

    #[test]
    fn json_record_has_every_known_field() {
        let lines = lines(LogFormat::Json, || {
            record().emit();
            info!("hello");
        });
        let expected = json!({
            "time": "1970-01-01T01:02:03.004Z", "level": "warn",
            "message": "run 7 \"s\"\n\u{1b}[2J is lost", "run": "7", "pipeline": "ship",
            "step": "test[a\nb]", "attempt": 2, "delivery": 3, "worker": "far", "fence": 9,
            "by": "token ci",
        });
        let bare =
            json!({ "time": "1970-01-01T00:00:00.000Z", "level": "info", "message": "hello" });
        assert_eq!(lines, [expected.to_string(), bare.to_string()]);
    }

    #[test]
    fn banner_is_whole_as_text_and_its_first_line_as_an_object() {
        let banner = || log_banner("windlass leads\njoin: here");
        assert_eq!(lines(LogFormat::Text, banner), ["windlass leads\njoin: here"]);
        let first = json!({
            "time": "1970-01-01T00:00:00.000Z", "level": "info", "message": "windlass leads",
        });
        assert_eq!(lines(LogFormat::Json, banner), [first.to_string()]);
    }

    #[test]
    fn event_of_a_library_has_its_level_its_target_and_its_fields() {
        let emit = || {
            warn!(target: "pool::idle", size = 3, level = "low", free = -0.5, ok = true, "it is\nfull");
            trace!(target: "pool::idle", "unseen");
        };
        let text = "warn pool::idle: it is full size=3 level=\"low\" free=-0.5 ok=true";
        assert_eq!(lines(LogFormat::Text, emit), [text]);
        let object = json!({
            "time": "1970-01-01T00:00:00.000Z", "level": "warn", "message": "it is\nfull",
            "target": "pool::idle",
            "fields": { "size": 3, "level": "low", "free": -0.5, "ok": true },
        });
        assert_eq!(lines(LogFormat::Json, emit), [object.to_string()]);
    }
}
