//! The final status of a shared run, for instances that start after its end.

use std::fmt;

use crate::outcome::RunStatus;

/// The text behind the id of a run that was cancelled.
const CANCELLED_SUFFIX: &str = " was cancelled";

/// The final status of a run, as text for people and for instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFinalStatus(String);

impl RunFinalStatus {
    /// Returns the status of a run that has ended.
    pub fn new(run: &str, status: RunStatus) -> Self {
        if status == RunStatus::Cancelled {
            return Self(format!("run {run}{CANCELLED_SUFFIX}"));
        }
        Self(format!("run {run} {status}"))
    }

    /// Returns the status of a run that was planned under this name and never started.
    pub fn never_started(name: &str) -> Self {
        Self(format!("{name}{CANCELLED_SUFFIX}"))
    }

    /// Reads a status.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the run was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.ends_with(CANCELLED_SUFFIX)
    }
}

impl fmt::Display for RunFinalStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_cancelled_run_is_read_as_one() {
        for status in [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled] {
            let found = RunFinalStatus::from_text(&RunFinalStatus::new("1x", status).to_string());
            assert_eq!(found.is_cancelled(), status == RunStatus::Cancelled, "{found}");
        }
        assert!(RunFinalStatus::never_started("nightly-7").is_cancelled());
        assert!(!RunFinalStatus::from_text("something else").is_cancelled());
    }
}
