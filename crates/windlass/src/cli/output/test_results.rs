//! The results of the tests that steps ran: counts per step, and the tests that failed.

use windlass_core::outcome::StepStatus;
use windlass_core::test_report::{FailingTest, TestReport};
use windlass_core::time::Span;

use super::color::ColorRole;
use super::failure::clean_lines;
use super::final_report::counted;
use super::line_splitter::sanitize_phrase;
use super::span_text::span_text;
use super::terminal_caps::TerminalCaps;
use super::text_width::{columns, flow, pad};

/// Steps whose counts are shown. Those with failing tests come first.
const STEPS_MAX: usize = 20;
/// Failing tests that are named, of all steps.
const FAILING_MAX: usize = 20;
/// The first lines of a message that are shown.
const LINES_MAX: usize = 5;

/// The lines about tests, if a step reported any.
pub(super) fn test_results(caps: &TerminalCaps, tests: &[(String, TestReport)]) -> Vec<String> {
    let (mut shown, passed): (Vec<_>, Vec<_>) =
        tests.iter().partition(|(_, report)| report.failing_count() > 0);
    shown.extend(passed);
    let rest = shown.split_off(shown.len().min(STEPS_MAX));
    let width = shown.iter().map(|(step, _)| columns(step)).max().unwrap_or(0);
    let mut room = FAILING_MAX;
    let mut lines = Vec::new();
    for (step, report) in shown {
        lines.push(flow(caps, &headline(caps, &pad(step, width), report), 4));
        let named = &report.failing[..report.failing.len().min(room)];
        room -= named.len();
        for test in named {
            push_test(&mut lines, caps, test);
        }
        let left = report.failing_count() as usize - named.len();
        if left > 0 {
            let more = counted(left, "more failing test", "more failing tests");
            let text = format!("  {} {more}", caps.ellipsis());
            lines.push(caps.paint(ColorRole::Quiet, &text));
        }
    }
    if !rest.is_empty() {
        let steps = counted(rest.len(), "more step", "more steps");
        let text = format!("{} {steps} with tests", caps.ellipsis());
        lines.push(caps.paint(ColorRole::Quiet, &text));
    }
    lines
}

/// `✗ test  128 tests: 125 passed, 2 failed, 1 skipped in 3.2s`.
fn headline(caps: &TerminalCaps, step: &str, report: &TestReport) -> String {
    let failed = report.failing_count() > 0;
    let status = if failed { StepStatus::Failed } else { StepStatus::Succeeded };
    let step = if failed { caps.paint(ColorRole::Bad, step) } else { step.to_owned() };
    format!("{} {step}  {}", caps.status_glyph(status), counts(report))
}

fn counts(report: &TestReport) -> String {
    let numbers = [
        (report.passed(), "passed"),
        (report.failures, "failed"),
        (report.errors, "with an error"),
        (report.skipped, "skipped"),
    ];
    let parts = numbers.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
    let tests = counted(report.tests as usize, "test", "tests");
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let took = report.duration;
    let took = if took == Span::ZERO { String::new() } else { format!(" in {}", span_text(took)) };
    format!("{tests}{parts}{took}")
}

fn push_test(lines: &mut Vec<String>, caps: &TerminalCaps, test: &FailingTest) {
    lines.push(flow(caps, &format!("  {}", sanitize_phrase(&test.title())), 4));
    let bar = caps.paint(ColorRole::Quiet, caps.name_separator());
    let message = clean_lines(test.message.as_bytes(), caps.color);
    let message: Vec<&String> = message.iter().filter(|line| !line.trim().is_empty()).collect();
    let shown = &message[..message.len().min(LINES_MAX)];
    lines.extend(shown.iter().map(|line| format!("    {bar} {line}")));
    if message.len() > shown.len() {
        let left = counted(message.len() - shown.len(), "more line", "more lines");
        lines.push(caps.paint(ColorRole::Quiet, &format!("    {} {left}", caps.ellipsis())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tests: &[(String, TestReport)]) -> String {
        test_results(&TerminalCaps::PLAIN, tests).join("\n")
    }

    fn report(tests: u32, failing: &[(&str, &str)]) -> TestReport {
        let test = |(name, message): &(&str, &str)| FailingTest {
            suite: "calc".to_owned(),
            name: (*name).to_owned(),
            message: (*message).to_owned(),
            duration: Span::ZERO,
        };
        TestReport {
            tests,
            failures: u32::try_from(failing.len()).unwrap(),
            duration: Span::millis(3_210),
            failing: failing.iter().map(test).collect(),
            ..TestReport::default()
        }
    }

    #[test]
    fn failing_tests_are_named_with_the_first_lines_of_their_messages() {
        let failing = [("adds", "left: 1\n\nright:\t2"), ("subtracts", "1\n2\n3\n4\n5\n6\n7")];
        let tests = [("lint".to_owned(), report(3, &[])), ("test".to_owned(), report(9, &failing))];
        insta::assert_snapshot!(shown(&tests), @r"
        ✗ test  9 tests: 7 passed, 2 failed in 3.2s
          calc: adds
            │ left: 1
            │ right:  2
          calc: subtracts
            │ 1
            │ 2
            │ 3
            │ 4
            │ 5
            … 2 more lines
        ✓ lint  3 tests: 3 passed in 3.2s
        ");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let failing = [("\u{1b}[2Jadds\nx", "\u{1b}]0;title\u{7}red\u{1b}[2J")];
        let text = shown(&[("test".to_owned(), report(1, &failing))]);
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
        assert_eq!(text.lines().count(), 3, "{text:?}");
    }

    #[test]
    fn number_of_lines_is_bounded() {
        let failing = vec![("adds", "1\n2\n3\n4\n5\n6\n7"); 30];
        let mut tests = vec![("test".to_owned(), report(100, &failing)); 30];
        tests[0].1.failures = 1_000;
        let text = shown(&tests);
        assert_eq!(text.matches("calc: adds").count(), FAILING_MAX);
        assert!(
            text.contains("980 more failing tests") && text.contains("10 more steps with tests")
        );
        assert!(text.lines().count() < 200);
    }

    #[test]
    fn run_without_reports_has_no_lines() {
        assert_eq!(shown(&[]), "");
    }
}
