//! The results of the tests of a step: counts, and the tests that failed.

use serde::{Deserialize, Serialize};

use super::failing_test::FailingTest;
use crate::time::Span;

/// Maximum failing tests that a report names. The rest are counted.
pub const FAILING_MAX: usize = 100;

/// Maximum bytes of all messages of a report: a page that a reader can load.
pub const MESSAGES_MAX: usize = 64 << 10;

/// Maximum bytes of a report as JSON: names and messages, each byte of them escaped.
pub const REPORT_JSON_MAX: usize = 1 << 20;

/// The results of the tests that a step ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestReport {
    /// The number of tests.
    pub tests: u32,
    /// The number of tests that failed.
    pub failures: u32,
    /// The number of tests that could not run to their end.
    pub errors: u32,
    /// The number of tests that were skipped.
    pub skipped: u32,
    /// The duration of the tests in milliseconds, as their runner reports it.
    #[serde(rename = "duration_ms")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub duration: Span,
    /// The tests that failed or had an error, in the order of the files: at most the first 100.
    pub failing: Vec<FailingTest>,
}

impl TestReport {
    /// Returns the number of tests that failed or had an error.
    pub const fn failing_count(&self) -> u32 {
        self.failures.saturating_add(self.errors)
    }

    /// Returns the number of tests that passed.
    pub const fn passed(&self) -> u32 {
        self.tests.saturating_sub(self.failing_count()).saturating_sub(self.skipped)
    }

    /// Adds the results of another file.
    pub fn add(&mut self, other: Self) {
        self.tests = self.tests.saturating_add(other.tests);
        self.failures = self.failures.saturating_add(other.failures);
        self.errors = self.errors.saturating_add(other.errors);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.duration = self.duration + other.duration;
        for test in other.failing {
            self.add_failing(test);
        }
    }

    /// Adds a failing test, if there is room, with as much of its message as fits.
    pub(super) fn add_failing(&mut self, mut test: FailingTest) {
        if !self.has_room() {
            return;
        }
        let used: usize = self.failing.iter().map(|test| test.message.len()).sum();
        test.limit(MESSAGES_MAX.saturating_sub(used));
        self.failing.push(test);
    }

    /// Whether another failing test is named.
    pub(super) const fn has_room(&self) -> bool {
        self.failing.len() < FAILING_MAX
    }
}
