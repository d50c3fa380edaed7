//! One promise, and how promises are checked, whatever the kind of store.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::harness::{Fresh, Harness};
use super::report::{Checked, Difference, Failure, Report};
use crate::journal::Journal;

/// One promise.
pub struct Check<S: ?Sized + 'static = dyn Journal> {
    /// Its theme and what it says, as a path.
    pub name: &'static str,
    pub(super) run: fn(&Fresh<'_, S>) -> Checked,
}

impl<S: ?Sized> Check<S> {
    /// Whether it is about what is there after the last handle has gone: its name says so.
    fn reopens(&self) -> bool {
        self.name.contains("reopen")
    }

    /// A backend that panics fails this check and not the others.
    fn run(&self, fresh: &Fresh<'_, S>) -> Checked {
        let run = AssertUnwindSafe(|| (self.run)(fresh));
        catch_unwind(run).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Difference(format!("it panicked: {}", said.unwrap_or("without a word"))))
        })
    }
}

impl<S: ?Sized> fmt::Debug for Check<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Functions as checks, each named by its path.
macro_rules! checks {
    ($($theme:ident::$check:ident,)*) => {
        &[$($crate::conformance::check::Check {
            name: concat!(stringify!($theme), "::", stringify!($check)),
            run: $theme::$check,
        },)*]
    };
}
pub(super) use checks;

/// Makes checks against a backend of this kind of store.
pub(super) fn run_all<S: ?Sized + 'static, H: Harness<S> + 'static>(
    store: &'static str,
    backend: &str,
    checks: impl IntoIterator<Item = &'static Check<S>>,
    fresh: impl Fn() -> H,
) -> Report {
    let fresh = || Box::new(fresh()) as Box<dyn Harness<S>>;
    let reopens = fresh().outlives_its_handles();
    let mut report = Report::of(store, backend);
    for check in checks {
        if check.reopens() && !reopens {
            report.skipped.push(check.name);
            continue;
        }
        match check.run(&fresh) {
            Ok(()) => report.passed.push(check.name),
            Err(difference) => report.failures.push(Failure { check: check.name, difference }),
        }
    }
    report
}
