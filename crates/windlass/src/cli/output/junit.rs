//! A run as `JUnit` XML: each step is a test case; earlier tries are recorded as Surefire and nextest do.

use std::fmt::Write as _;

use windlass_core::outcome::{OutcomeKind, StepStatus};
use windlass_core::report::UtcTime;
use windlass_core::summary::{DeliverySummary, RunSummary, StepSummary};
use windlass_core::time::{Span, Time};
use windlass_store::logs::LogId;

use super::failure::clean_lines;
use super::final_report::LogTailReader;
use super::step_line::try_reason;
use super::terminal_caps::ColorMode;

/// The size limits of one log, and of all of them: readers of such files load them whole.
const LOG_MAX: usize = 64 * 1024;
const LOGS_MAX: usize = 8 << 20;

/// The whole document. It contains the logs of failed tries.
pub(crate) fn junit(summary: &RunSummary, now: Time, logs: &mut dyn LogTailReader) -> String {
    let tally = summary.status_counts();
    let failures = tally.of(StepStatus::Failed) + tally.of(StepStatus::TimedOut);
    let skipped = [StepStatus::Skipped, StepStatus::Blocked, StepStatus::Cancelled];
    let skipped: u32 = skipped.iter().map(|status| tally.of(*status)).sum();
    let name = escape(summary.plan().pipeline());
    let counts = format!(
        r#"tests="{}" failures="{failures}" errors="0" skipped="{skipped}" time="{}""#,
        tally.total(),
        seconds(summary.wall_time(now)),
    );
    let at = UtcTime(summary.submitted_at());
    let mut report = JunitReport { summary, now, logs, room: LOGS_MAX, xml: String::new() };
    report.line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
    report.line(&format!(r#"<testsuites name="{name}" {counts}>"#));
    let run = summary.run();
    report.line(&format!(r#"  <testsuite name="{name}" {counts} timestamp="{at}" id="{run}">"#));
    for step in summary.steps() {
        report.case(&step);
    }
    report.line("  </testsuite>");
    report.line("</testsuites>");
    report.xml
}

struct JunitReport<'a> {
    summary: &'a RunSummary,
    now: Time,
    logs: &'a mut dyn LogTailReader,
    /// The remaining bytes for logs.
    room: usize,
    xml: String,
}

impl JunitReport<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.xml, "{line}");
    }

    fn case(&mut self, step: &StepSummary<'_>) {
        let (name, class) = (escape(step.name()), escape(self.summary.plan().pipeline()));
        let time = seconds(step.time(self.now));
        let head = format!(r#"    <testcase name="{name}" classname="{class}" time="{time}""#);
        let tries = step.deliveries();
        let body = std::mem::take(&mut self.xml);
        self.case_body(step, &tries);
        let inner = std::mem::replace(&mut self.xml, body);
        if inner.is_empty() {
            self.line(&format!("{head}/>"));
        } else {
            self.line(&format!("{head}>"));
            self.xml.push_str(&inner);
            self.line("    </testcase>");
        }
    }

    fn case_body(&mut self, step: &StepSummary<'_>, tries: &[DeliverySummary<'_>]) {
        let reason = step.reason().unwrap_or_default();
        let earlier = &tries[..tries.len().saturating_sub(1)];
        match step.status() {
            StepStatus::Succeeded => self.earlier(step, earlier, "flakyFailure"),
            StepStatus::Failed | StepStatus::TimedOut => {
                self.failure(step, "failure", &reason, tries.last());
                self.earlier(step, earlier, "rerunFailure");
            }
            StepStatus::Skipped | StepStatus::Blocked | StepStatus::Cancelled => {
                let status = step.status().word();
                let message = escape(&format!("{status}: {reason}"));
                self.line(&format!(r#"      <skipped message="{message}"/>"#));
            }
            StepStatus::Waiting | StepStatus::Ready | StepStatus::Leased | StepStatus::Running => {
                self.line(r#"      <skipped message="not finished"/>"#);
            }
            StepStatus::Cached => {}
        }
    }

    fn earlier(&mut self, step: &StepSummary<'_>, tries: &[DeliverySummary<'_>], element: &str) {
        for one in tries {
            self.failure(step, element, &try_reason(one), Some(one));
        }
    }

    fn failure(
        &mut self,
        step: &StepSummary<'_>,
        element: &str,
        reason: &str,
        one: Option<&DeliverySummary<'_>>,
    ) {
        let kind = one.and_then(|one| one.outcome).unwrap_or(OutcomeKind::Failed);
        let message = escape(reason);
        let head = format!(r#"      <{element} message="{message}" type="{kind}""#);
        let text = one.map(|one| self.log(step, one)).unwrap_or_default();
        if text.is_empty() {
            self.line(&format!("{head}/>"));
        } else {
            self.line(&format!("{head}>{}</{element}>", escape(&text)));
        }
    }

    /// The end of a try's output, within the remaining bytes.
    fn log(&mut self, step: &StepSummary<'_>, one: &DeliverySummary<'_>) -> String {
        let (attempt, delivery) = (one.attempt, one.delivery);
        let log = LogId::new(self.summary.run(), step.ix(), attempt, delivery);
        let most = LOG_MAX.min(self.room);
        let bytes = if most == 0 { Vec::new() } else { self.logs.tail(log, most) };
        let end = &bytes[bytes.len().saturating_sub(most)..];
        self.room -= end.len();
        clean_lines(end, ColorMode::Off).join("\n")
    }
}

/// Escapes text for XML. Characters that XML does not allow become U+FFFD.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            '\t' => escaped.push('\t'),
            '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            c if c < ' ' => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

fn seconds(span: Span) -> String {
    format!("{}.{:03}", span.as_millis() / 1000, span.as_millis() % 1000)
}
