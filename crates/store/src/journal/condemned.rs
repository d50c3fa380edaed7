//! Recovery of a store that cannot be folded: the run that a start applies, and the runs that no fold applies.
//!
//! A start that is killed while it folds the journal (out of memory, a defect) is killed again by the next one. So a start
//! leaves a mark in the store before it applies anything costly, and removes the mark when it is done. The next start finds
//! the mark, names the run, and from then on marks every run that it applies. An operator condemns the run with
//! `windlass store condemn RUN`; every fold reads the list of condemned runs first.

use windlass_core::id::RunId;

/// The most condemned runs in a journal. An operator condemns each one; more are the mistake of a script.
pub const CONDEMNED_MAX: usize = 1_000;

/// The mark of a start that has not finished folding the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartMark {
    /// The name of the node that starts.
    pub node: String,
    /// The run that the start applies, if the mark names one.
    pub applying: Option<RunId>,
}

impl StartMark {
    /// Returns a warning for operators about the mark of a start that has ended; `None` if the mark names no run.
    pub fn warning(&self) -> Option<String> {
        let (node, run) = (&self.node, self.applying?);
        Some(format!(
            "the last start of {node} ended while it applied run {run}: if this start ends as well, `windlass store condemn {run}` fails that run and lets the others go on"
        ))
    }
}

/// Returns the reason why no more runs can be condemned.
pub(super) fn too_many_condemned() -> String {
    format!(
        "{CONDEMNED_MAX} runs are condemned already, and no more are taken: start with a new store"
    )
}
