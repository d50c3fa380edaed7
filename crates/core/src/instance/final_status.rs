//! What the leader of a shared run leaves to those who come when it is over.

use std::fmt;

use crate::outcome::RunStatus;

/// The words behind the id of a run that was cancelled.
const CANCELLED_SUFFIX: &str = " was cancelled";

/// What became of a run, in words that are read by people and by instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFinalStatus(String);

impl RunFinalStatus {
    /// That of a run which has ended.
    pub fn new(run: &str, status: RunStatus) -> Self {
        if status == RunStatus::Cancelled {
            return Self(format!("run {run}{CANCELLED_SUFFIX}"));
        }
        Self(format!("run {run} {status}"))
    }

    /// That of one that was to be called so, and never began.
    pub fn never_started(name: &str) -> Self {
        Self(format!("{name}{CANCELLED_SUFFIX}"))
    }

    /// One that was found.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the run ended because somebody wanted it to.
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
