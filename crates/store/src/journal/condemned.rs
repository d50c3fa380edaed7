//! The way out of a store that cannot be folded: which run a start applies, and which runs are not to be applied.
//!
//! A start that is killed while it folds the journal (out of memory, a defect) is killed again by the next one. So a start
//! leaves a mark in the store before it applies anything costly, and removes the mark when it is done. The next start finds
//! the mark, names the run, and from then on marks every run that it applies. An operator condemns the run with
//! `windlass store condemn RUN`; every fold reads the list of condemned runs first.

use windlass_core::id::RunId;

/// Condemned runs that a journal keeps. Each is an act of an operator: more are a mistake of a script.
pub const CONDEMNED_MAX: usize = 1_000;

/// A start that has not finished to fold the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartMark {
    /// The node that starts.
    pub node: String,
    /// The run that it is applying, if the mark says so.
    pub applying: Option<RunId>,
}

impl StartMark {
    /// Tells an operator what the mark of a start means that is over; nothing if it names no run.
    pub fn warning(&self) -> Option<String> {
        let (node, run) = (&self.node, self.applying?);
        Some(format!(
            "the last start of {node} ended while it applied run {run}: if this start ends as well, `windlass store condemn {run}` fails that run and lets the others go on"
        ))
    }
}

/// Why one more run is not condemned.
pub(super) fn too_many_condemned() -> String {
    format!(
        "{CONDEMNED_MAX} runs are condemned already, and no more are taken: start with a new store"
    )
}
