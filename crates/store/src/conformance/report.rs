//! The result of a check, and the report of all checks.

use std::fmt;

use crate::db::StoreError;
use crate::objects::ObjectError;

/// The result of a check.
pub type CheckResult = Result<(), CheckDifference>;

/// A difference between a store and its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDifference(pub String);

impl CheckDifference {
    /// Describes a difference.
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl From<StoreError> for CheckDifference {
    fn from(error: StoreError) -> Self {
        Self(format!("a call that has to succeed was refused: {error}"))
    }
}

impl From<ObjectError> for CheckDifference {
    fn from(error: ObjectError) -> Self {
        Self(format!("a call that has to succeed was refused: {error}"))
    }
}

impl fmt::Display for CheckDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks that two values are equal.
pub fn expect_same<T: PartialEq + fmt::Debug>(what: &str, found: &T, promised: &T) -> CheckResult {
    let differs = || format!("{what}: found {}, promised {}", brief(found), brief(promised));
    if found == promised { Ok(()) } else { Err(CheckDifference(differs())) }
}

/// Checks that two lists are equal, and reports the first difference.
pub(crate) fn expect_same_list<T: PartialEq + fmt::Debug>(
    what: &str,
    found: &[T],
    promised: &[T],
) -> CheckResult {
    let longer = found.len().max(promised.len());
    let Some(at) = (0..longer).find(|at| found.get(*at) != promised.get(*at)) else {
        return Ok(());
    };
    let (many, of) = (found.len(), promised.len());
    let what = format!("{what}, {many} long, promised {of}, at index {at}");
    expect_same(&what, &found.get(at), &promised.get(at))
}

/// Checks a condition.
pub fn expect_true(what: &str, it: bool) -> CheckResult {
    if it { Ok(()) } else { Err(CheckDifference::new(what)) }
}

/// Shortens a value, because a whole store on one line is unreadable.
fn brief(value: &impl fmt::Debug) -> String {
    const SHOWN: usize = 600;
    let text = format!("{value:?}");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text,
    }
}

/// A failed check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckFailure {
    /// The name of the check.
    pub check: &'static str,
    /// The difference.
    pub difference: CheckDifference,
}

/// The results of all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConformanceReport {
    /// The kind of store.
    pub store: &'static str,
    /// The backend.
    pub backend: String,
    /// The checks that passed.
    pub passed: Vec<&'static str>,
    /// The skipped checks: the storage does not outlive its handles.
    pub skipped: Vec<&'static str>,
    /// The checks that failed.
    pub failures: Vec<CheckFailure>,
}

impl ConformanceReport {
    /// Creates an empty report.
    pub fn of(store: &'static str, backend: &str) -> Self {
        let (passed, skipped, failures) = (Vec::new(), Vec::new(), Vec::new());
        Self { store, backend: backend.to_owned(), passed, skipped, failures }
    }

    /// Whether this check failed.
    pub fn has_failed(&self, check: &str) -> bool {
        self.failures.iter().any(|failure| failure.check == check)
    }
}

impl fmt::Display for ConformanceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, passed) = (self.failures.len(), self.passed.len());
        let skipped = self.skipped.len();
        let (store, backend) = (self.store, &self.backend);
        writeln!(f, "{store} `{backend}`: {failed} failed, {passed} passed, {skipped} skipped")?;
        for CheckFailure { check, difference } in &self.failures {
            writeln!(f, "  {backend}: {check}: {difference}")?;
        }
        Ok(())
    }
}
