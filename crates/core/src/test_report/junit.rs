//! Reads `JUnit` XML as pytest, nextest, Surefire, gotestsum, jest-junit and others write it.
//!
//! There is no specification, so little is required: test cases are counted one by one, because attributes with counts are
//! often missing or wrong. Suites may be nested. A case with `<error>` or `<failure>` failed, one with `<skipped>` was
//! skipped; other elements, such as the `<flakyFailure>` of a test that passed at last, do not count.

use std::time::Duration;

use super::TestReport;
use super::failing_test::FailingTest;
use super::xml_reader::{XmlEvent, XmlProblem, XmlReader, XmlTag, push_unescaped};
use crate::time::Span;

/// The reason why a file is not a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JunitError {
    /// The file has no content.
    #[error("it is empty")]
    Empty,
    /// The file is not XML, or not all of it.
    #[error("it cannot be read as XML: {0}")]
    Xml(#[from] XmlProblem),
    /// The file is another kind of XML.
    #[error("its root is not `<testsuites>` or `<testsuite>`")]
    OtherRoot,
}

/// Reads a file. `cover` masks secrets in the name and message of a test that failed, before they are cut.
pub fn read_junit(bytes: &[u8], cover: &dyn Fn(&str) -> String) -> Result<TestReport, JunitError> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut xml = XmlReader::new(text);
    let mut document =
        JunitDocument { report: TestReport::default(), open: Vec::new(), case: None, cover };
    let mut is_empty = true;
    while let Some(event) = xml.next_event()? {
        is_empty = false;
        match event {
            XmlEvent::Start(tag) => document.start(tag)?,
            XmlEvent::End => document.end(),
            XmlEvent::Text(text) => document.text(|message| push_unescaped(message, text)),
            XmlEvent::Cdata(text) => document.text(|message| message.push_str(text)),
        }
    }
    if is_empty { Err(JunitError::Empty) } else { Ok(document.report) }
}

/// A document that is being read.
struct JunitDocument<'a> {
    report: TestReport,
    open: Vec<JunitElement>,
    case: Option<JunitCase>,
    cover: &'a dyn Fn(&str) -> String,
}

/// An open element.
struct JunitElement {
    kind: ElementKind,
    /// The duration that it states.
    stated: Option<Span>,
    /// The sum of the durations in it.
    inner: Span,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ElementKind {
    /// `<testsuites>` or `<testsuite>`, with its name.
    Suite(String),
    Case,
    /// `<failure>` or `<error>` of a case.
    Failure,
    Other,
}

/// An open test case.
struct JunitCase {
    class: String,
    name: String,
    result: CaseResult,
    /// The messages of its failures.
    message: String,
    /// The attribute and the text of the open failure.
    stated: String,
    body: String,
}

/// The result of a case. A failure outweighs a skip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CaseResult {
    Passed,
    Skipped,
    Failed,
    Error,
}

impl JunitDocument<'_> {
    fn start(&mut self, tag: XmlTag<'_>) -> Result<(), JunitError> {
        let kind = match (self.open.last().map(|element| &element.kind), tag.name) {
            (None | Some(ElementKind::Suite(_)), "testsuites" | "testsuite") => {
                ElementKind::Suite(tag.attribute("name").unwrap_or_default())
            }
            (None, _) => return Err(JunitError::OtherRoot),
            (Some(ElementKind::Suite(_)), "testcase") => {
                self.case = Some(JunitCase::new(tag));
                ElementKind::Case
            }
            (Some(ElementKind::Case), name) => self.start_in_case(name, tag),
            (Some(_), _) => ElementKind::Other,
        };
        let stated = tag.attribute("time").as_deref().and_then(seconds);
        self.open.push(JunitElement { kind, stated, inner: Span::ZERO });
        Ok(())
    }

    fn start_in_case(&mut self, name: &str, tag: XmlTag<'_>) -> ElementKind {
        let result = match name {
            "failure" => CaseResult::Failed,
            "error" => CaseResult::Error,
            "skipped" => CaseResult::Skipped,
            _ => return ElementKind::Other,
        };
        let Some(case) = &mut self.case else { return ElementKind::Other };
        case.result = case.result.max(result);
        if result == CaseResult::Skipped {
            return ElementKind::Other;
        }
        let mut stated = ["message", "type"].into_iter().filter_map(|name| tag.attribute(name));
        case.stated = stated.find(|text| !text.trim().is_empty()).unwrap_or_default();
        ElementKind::Failure
    }

    fn end(&mut self) {
        let Some(ended) = self.open.pop() else { return };
        let duration = ended.stated.unwrap_or(ended.inner);
        match ended.kind {
            ElementKind::Suite(_) => {}
            ElementKind::Case => self.end_case(duration),
            ElementKind::Failure => {
                if let Some(case) = &mut self.case {
                    case.end_failure();
                }
                return;
            }
            ElementKind::Other => return,
        }
        match self.open.last_mut() {
            Some(outer) => outer.inner = outer.inner + duration,
            None => self.report.duration = self.report.duration + duration,
        }
    }

    fn end_case(&mut self, duration: Span) {
        let Some(case) = self.case.take() else { return };
        self.report.tests = self.report.tests.saturating_add(1);
        let count = match case.result {
            CaseResult::Passed => return,
            CaseResult::Skipped => &mut self.report.skipped,
            CaseResult::Failed => &mut self.report.failures,
            CaseResult::Error => &mut self.report.errors,
        };
        *count = count.saturating_add(1);
        if case.result == CaseResult::Skipped || !self.report.has_room() {
            return;
        }
        let suite = if case.class.is_empty() { self.suite_name() } else { &case.class };
        let test = FailingTest {
            suite: (self.cover)(suite.trim()),
            name: (self.cover)(case.name.trim()),
            message: (self.cover)(case.message.trim_end()),
            duration,
        };
        self.report.add_failing(test);
    }

    /// The name of the innermost suite.
    fn suite_name(&self) -> &str {
        let mut names = self.open.iter().rev().filter_map(|element| match &element.kind {
            ElementKind::Suite(name) => Some(&**name),
            ElementKind::Case | ElementKind::Failure | ElementKind::Other => None,
        });
        names.next().unwrap_or_default()
    }

    /// Adds text to the open failure, if there is one.
    fn text(&mut self, push: impl FnOnce(&mut String)) {
        let is_failure = self.open.iter().any(|element| element.kind == ElementKind::Failure);
        if let Some(case) = self.case.as_mut().filter(|_| is_failure) {
            push(&mut case.body);
        }
    }
}

impl JunitCase {
    fn new(tag: XmlTag<'_>) -> Self {
        let text = |name: &str| tag.attribute(name).unwrap_or_default();
        // Google Test writes a disabled test as a case with this status and nothing in it.
        let is_disabled = matches!(&*text("status"), "notrun" | "disabled");
        Self {
            class: text("classname"),
            name: text("name"),
            result: if is_disabled { CaseResult::Skipped } else { CaseResult::Passed },
            message: String::new(),
            stated: String::new(),
            body: String::new(),
        }
    }

    /// Adds the message of the failure that ends here: the attribute, unless the text repeats it, and the text.
    fn end_failure(&mut self) {
        let (stated, body) = (std::mem::take(&mut self.stated), std::mem::take(&mut self.body));
        let (stated, body) = (stated.trim(), body.trim_end().trim_start_matches(['\r', '\n']));
        let first = |text: &str| text.lines().next().unwrap_or_default().trim().to_owned();
        let mut parts = vec![&*self.message, stated, body];
        if first(body).contains(&first(stated)) {
            parts.remove(1);
        }
        parts.retain(|part| !part.is_empty());
        self.message = parts.join("\n");
    }
}

/// Parses a number of seconds. Surefire separates thousands: `1,234.5`.
fn seconds(text: &str) -> Option<Span> {
    let seconds: f64 = text.trim().replace(',', "").parse().ok()?;
    let millis = Duration::try_from_secs_f64(seconds).ok()?.as_millis();
    u64::try_from(millis).ok().map(Span::millis)
}
