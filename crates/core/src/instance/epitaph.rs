//! What the leader of a shared run leaves to those who come when it is over.

use std::fmt;

use crate::outcome::RunStatus;

/// The words behind the id of a run that was cancelled.
const CANCELLED: &str = " was cancelled";

/// What became of a run, in words that are read by people and by instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epitaph(String);

impl Epitaph {
    /// That of a run which has ended.
    pub fn new(run: &str, status: RunStatus) -> Self {
        if status == RunStatus::Cancelled {
            return Self(format!("run {run}{CANCELLED}"));
        }
        Self(format!("run {run} {status}"))
    }

    /// That of one that was to be called so, and never began.
    pub fn called_off(name: &str) -> Self {
        Self(format!("{name}{CANCELLED}"))
    }

    /// One that was found.
    pub fn found(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether the run ended because somebody wanted it to.
    pub fn is_of_cancelled(&self) -> bool {
        self.0.ends_with(CANCELLED)
    }
}

impl fmt::Display for Epitaph {
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
            let found = Epitaph::found(&Epitaph::new("1x", status).to_string());
            assert_eq!(found.is_of_cancelled(), status == RunStatus::Cancelled, "{found}");
        }
        assert!(Epitaph::called_off("nightly-7").is_of_cancelled());
        assert!(!Epitaph::found("something else").is_of_cancelled());
    }
}
