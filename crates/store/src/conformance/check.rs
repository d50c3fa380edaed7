//! A check of one promise, and the function that runs checks, for every kind of store.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::harness::{FreshStorage, StorageHarness};
use super::report::{CheckDifference, CheckFailure, CheckResult, ConformanceReport};
use crate::journal::Journal;

/// A check of one promise.
pub struct ConformanceCheck<S: ?Sized + 'static = dyn Journal> {
    /// The theme and the promise, as a path.
    pub name: &'static str,
    run: fn(&FreshStorage<'_, S>) -> CheckResult,
}

impl<S: ?Sized> ConformanceCheck<S> {
    /// Creates a check with a name of the form `theme::promise`.
    pub const fn new(name: &'static str, run: fn(&FreshStorage<'_, S>) -> CheckResult) -> Self {
        Self { name, run }
    }

    /// Whether the check opens the storage again after the last handle is closed: its name says so.
    fn reopens(&self) -> bool {
        self.name.contains("reopen")
    }

    /// Runs the check. A panic of the backend fails this check only.
    fn run(&self, fresh: &FreshStorage<'_, S>) -> CheckResult {
        let run = AssertUnwindSafe(|| (self.run)(fresh));
        catch_unwind(run).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(CheckDifference(format!("it panicked: {}", said.unwrap_or("without a message"))))
        })
    }
}

impl<S: ?Sized> fmt::Debug for ConformanceCheck<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Creates checks from functions, each named by its path.
#[macro_export]
macro_rules! conformance_checks {
    ($($theme:ident::$check:ident,)*) => {
        &[$($crate::conformance::ConformanceCheck::new(
            concat!(stringify!($theme), "::", stringify!($check)),
            $theme::$check,
        ),)*]
    };
}

/// Runs checks against a backend of this kind of store.
pub fn run_all<S: ?Sized + 'static, H: StorageHarness<S> + 'static>(
    store: &'static str,
    backend: &str,
    checks: impl IntoIterator<Item = &'static ConformanceCheck<S>>,
    fresh: impl Fn() -> H,
) -> ConformanceReport {
    let fresh = || Box::new(fresh()) as Box<dyn StorageHarness<S>>;
    let reopens = fresh().outlives_its_handles();
    let mut report = ConformanceReport::of(store, backend);
    for check in checks {
        if check.reopens() && !reopens {
            report.skipped.push(check.name);
            continue;
        }
        match check.run(&fresh) {
            Ok(()) => report.passed.push(check.name),
            Err(difference) => report.failures.push(CheckFailure { check: check.name, difference }),
        }
    }
    report
}
