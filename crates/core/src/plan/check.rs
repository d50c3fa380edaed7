//! Errors of plans.

use serde::{Deserialize, Serialize};

use super::limits::{
    ALTERNATIVES_MAX, CELLS_MAX, CLAUSES_MAX, DEMANDS_MAX, EDGES_MAX, LOCK_USES_MAX, LOCKS_MAX,
    NAME_MAX, NODES_MAX, PLAN_BYTES_MAX, REPEATS_MAX, RETRY_ON_MAX, STEPS_MAX, WORK_MAX,
};
use super::step_spec::StepSpec;
use crate::id::StepIx;

/// An error that prevents building a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PlanError {
    /// No steps.
    #[error("the plan has no steps")]
    Empty,
    /// Two nodes with the same name.
    #[error("two steps have the name `{0}`")]
    DuplicateName(String),
    /// A name that is invalid in paths, labels or command lines.
    #[error(
        "`{0}` is not a valid name: use 1 to {NAME_MAX} letters, digits, `_`, `-`, `.`, beginning with a letter or `_`; a \
         cell can have any printable text in brackets"
    )]
    BadName(String),
    /// A need of an unknown node.
    #[error("a need refers to the unknown node {0}")]
    NoSuchNode(StepIx),
    /// Work that exceeds the size of a message.
    #[error("the work of `{0}` has more than {WORK_MAX} bytes: put it into a file")]
    WorkTooLong(String),
    /// A step that needs itself.
    #[error("`{0}` needs itself")]
    SelfNeed(String),
    /// A duplicate need.
    #[error("`{step}` needs `{need}` twice")]
    DuplicateNeed {
        /// The step with the need.
        step: String,
        /// The needed step.
        need: String,
    },
    /// A cycle of needs; the first name is repeated at the end.
    #[error("`needs` form a cycle: {}", .0.join(" needs "))]
    Cycle(Vec<String>),
    /// A matrix without cells.
    #[error("the matrix `{0}` has no cells")]
    EmptyMatrix(String),
    /// Too many cells in a matrix.
    #[error("the matrix `{name}` has {cells} cells; at most {CELLS_MAX} are allowed")]
    TooManyCells {
        /// The matrix.
        name: String,
        /// The number of cells.
        cells: usize,
    },
    /// Too many steps.
    #[error("the plan has {0} steps; at most {STEPS_MAX} are allowed")]
    TooManySteps(usize),
    /// Too many needs.
    #[error("the plan has {0} needs; at most {EDGES_MAX} are allowed")]
    TooManyEdges(usize),
    /// A list of a step that is too long.
    #[error("a step can have at most {max} {what}; `{step}` has {count}")]
    TooMany {
        /// The step.
        step: String,
        /// The kind of entries.
        what: Box<str>,
        /// The number of entries.
        count: usize,
        /// The maximum number.
        max: usize,
    },
    /// Too many lock uses in total.
    #[error(
        "the steps of the plan take {0} locks in total, counting steps with equal settings once; at most \
         {LOCK_USES_MAX} are allowed"
    )]
    TooManyLocks(usize),
    /// Too many required labels and worker names in total.
    #[error(
        "the steps of the plan require {0} labels and workers in total, counting steps with equal requirements once; at \
         most {DEMANDS_MAX} are allowed"
    )]
    TooManyDemands(usize),
    /// Too many bytes.
    #[error("the plan takes {0} bytes of memory; at most {PLAN_BYTES_MAX} are allowed")]
    TooLarge(usize),
    /// A duplicate lock of one step.
    #[error("`{step}` takes the lock `{lock}` twice")]
    LockTwice {
        /// The step.
        step: String,
        /// The lock.
        lock: String,
    },
    /// A lock without slots.
    #[error("the lock `{0}` has no slots")]
    LockWithoutSlots(String),
    /// Too many retries.
    #[error("`{0}` is retried more than {REPEATS_MAX} times: reduce `retry` or `retry.lost`")]
    TooManyRepeats(String),
    /// A per-worker limit of zero.
    #[error("`{0}` has `per_worker: 0`: remove it or set it to at least 1")]
    PerWorkerZero(String),
}

/// Returns the lists of a step that are too long: the kind of entries, their number and the maximum.
pub(super) fn excess_lists(spec: &StepSpec) -> impl Iterator<Item = (&'static str, usize, usize)> {
    let placement = &spec.placement;
    let widest = placement.clauses().map(|clause| clause.0.len()).max().unwrap_or_default();
    let lists = [
        ("locks", spec.locks.len(), LOCKS_MAX),
        ("requirements and preferences", placement.clauses().count(), CLAUSES_MAX),
        ("alternatives in one requirement", widest, ALTERNATIVES_MAX),
        ("allowed workers", placement.allow.len(), NODES_MAX),
        ("denied workers", placement.deny.len(), NODES_MAX),
        ("kinds of failures in `retry.on`", spec.retry.on.len(), RETRY_ON_MAX),
    ];
    lists.into_iter().filter(|(_, count, max)| count > max)
}

/// Whether the name of a step or matrix is valid: `[A-Za-z_][A-Za-z0-9_.-]*`, followed by `[printable]` for a cell.
pub(super) fn is_name(name: &str) -> bool {
    if name.len() > NAME_MAX {
        return false;
    }
    let (stem, cell) = match name.split_once('[') {
        Some((stem, rest)) => (stem, rest.strip_suffix(']')),
        None => (name, Some("x")),
    };
    let cell_ok = cell.is_some_and(|cell| !cell.is_empty() && !cell.chars().any(char::is_control));
    let mut bytes = stem.bytes();
    let first_ok = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    cell_ok
        && first_ok
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}
