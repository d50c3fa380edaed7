//! The properties of test reports.

use windlass_core::test_report::{
    FAILING_MAX, MESSAGE_MAX, MESSAGES_MAX, REPORT_JSON_MAX, TestReport, read_junit,
};

use crate::check::{FuzzOutcome, promise};

/// Checks bytes as a `JUnit` file.
pub(crate) fn check(bytes: &[u8]) -> FuzzOutcome {
    let report = match read_junit(bytes, &str::to_owned) {
        Ok(report) => report,
        Err(error) => return Ok(error_kind(&error.to_string())),
    };
    let seen = || format!("{report:?}");
    let again = read_junit(bytes, &str::to_owned);
    promise(again.as_ref() == Ok(&report), "a second reading differs", seen)?;
    let failing = report.failing_count() as usize;
    promise(report.failing.len() == failing.min(FAILING_MAX), "failing tests are lost", seen)?;
    let sum = report.passed() + report.failing_count() + report.skipped;
    promise(sum == report.tests, "a test is in two counts", seen)?;
    let sizes: Vec<usize> = report.failing.iter().map(|test| test.message.len()).collect();
    let fits = sizes.iter().all(|size| *size <= MESSAGE_MAX);
    promise(fits && sizes.iter().sum::<usize>() <= MESSAGES_MAX, "long messages", seen)?;
    let json = serde_json::to_string(&report).unwrap_or_default();
    promise(json.len() <= REPORT_JSON_MAX, "a large report", seen)?;
    let read: Option<TestReport> = serde_json::from_str(&json).ok();
    promise(read.as_ref() == Some(&report), "a report that is not read back", seen)?;
    let TestReport { tests, failures, errors, skipped, .. } = &report;
    Ok(format!("{} {} {} {}", tests.min(&3), failures.min(&3), errors.min(&3), skipped.min(&3)))
}

/// The kind of an error, without the number of the line and the name of the element.
fn error_kind(text: &str) -> String {
    let before_name = text.split('`').next().unwrap_or_default();
    before_name.chars().filter(|c| !c.is_ascii_digit()).collect()
}
