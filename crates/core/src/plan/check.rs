//! What can be wrong with a plan.

use super::limits::{
    ALTERNATIVES_MAX, CELLS_MAX, CLAUSES_MAX, DEMANDS_MAX, EDGES_MAX, LOCK_USES_MAX, LOCKS_MAX,
    NAME_MAX, NODES_MAX, PLAN_BYTES_MAX, REPEATS_MAX, RETRY_ON_MAX, STEPS_MAX, WORK_MAX,
};
use super::step_spec::StepSpec;
use crate::id::StepIx;
use crate::requirement::RequirementClause;

/// A problem that keeps a plan from being built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No step at all.
    #[error("the plan has no steps")]
    Empty,
    /// Two nodes of one name.
    #[error("two steps are called `{0}`")]
    DuplicateName(String),
    /// A name that cannot be written in a path, a label or a command line.
    #[error(
        "`{0}` is no name: use 1 to {NAME_MAX} letters, digits, `_`, `-`, `.`, beginning with a letter or `_`; a \
         cell may have any printable text in its brackets"
    )]
    BadName(String),
    /// A need of a node that was never added.
    #[error("there is no node {0} to need or to be needed")]
    NoSuchNode(StepIx),
    /// More work than a message can carry.
    #[error("the work of `{0}` is longer than {WORK_MAX} bytes: put it into a file")]
    WorkTooLong(String),
    /// A step that needs itself.
    #[error("`{0}` needs itself")]
    SelfNeed(String),
    /// One need, twice.
    #[error("`{step}` needs `{need}` twice")]
    DuplicateNeed {
        /// Who needs.
        step: String,
        /// Whom.
        need: String,
    },
    /// Needs that run in a circle; the first name is repeated at the end.
    #[error("needs run in a circle: {}", .0.join(" needs "))]
    Cycle(Vec<String>),
    /// A matrix without cells.
    #[error("the matrix `{0}` has no cells")]
    EmptyMatrix(String),
    /// More cells than a matrix may have.
    #[error("the matrix `{name}` has {cells} cells; at most {CELLS_MAX} are allowed")]
    TooManyCells {
        /// Which matrix.
        name: String,
        /// How many it has.
        cells: usize,
    },
    /// More steps than a plan may have.
    #[error("the plan has {0} steps; at most {STEPS_MAX} are allowed")]
    TooManySteps(usize),
    /// More needs than a plan may have.
    #[error("the plan has {0} needs; at most {EDGES_MAX} are allowed")]
    TooManyEdges(usize),
    /// A list of a step that is longer than it may be.
    #[error("a step may have at most {max} {what}; `{step}` has {count}")]
    TooMany {
        /// Which step.
        step: String,
        /// What the list holds.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// More locks in all than a plan may name.
    #[error(
        "the steps of the plan take {0} locks in all, those with the same rules counted once; at most {LOCK_USES_MAX} \
         are allowed"
    )]
    TooManyLocks(usize),
    /// More labels and names of workers in all than a plan may demand.
    #[error(
        "the steps of the plan demand {0} labels and nodes in all, steps with equal demands counted once; at most \
         {DEMANDS_MAX} are allowed"
    )]
    TooManyDemands(usize),
    /// More bytes than a plan may take.
    #[error("the plan takes {0} bytes of memory; at most {PLAN_BYTES_MAX} are allowed")]
    TooLarge(usize),
    /// A lock named twice by one step.
    #[error("`{step}` takes the lock `{lock}` twice")]
    LockTwice {
        /// Which step.
        step: String,
        /// Which lock.
        lock: String,
    },
    /// A lock that nobody could ever hold.
    #[error("the lock `{0}` has no slots")]
    LockWithoutSlots(String),
    /// More repeats than make sense.
    #[error(
        "`{0}` may be repeated more than {REPEATS_MAX} times: `retry` and `retry.lost` are at most that"
    )]
    TooManyRepeats(String),
    /// A limit that lets nothing through.
    #[error("`{0}` may run zero times per worker: leave `per_worker` out or make it at least 1")]
    PerWorkerZero(String),
}

/// The lists of a step that are longer than they may be: what they hold, how much of it, and how much they may.
pub(super) fn excess_lists(spec: &StepSpec) -> impl Iterator<Item = (&'static str, usize, usize)> {
    let placement = &spec.placement;
    let clauses = &placement.requirement.0;
    let widest = clauses.iter().map(RequirementClause::alternative_count).max().unwrap_or_default();
    let lists = [
        ("locks", spec.locks.len(), LOCKS_MAX),
        ("requirements and preferences", clauses.len(), CLAUSES_MAX),
        ("alternatives in one requirement", widest, ALTERNATIVES_MAX),
        ("allowed workers", placement.allow.len(), NODES_MAX),
        ("denied workers", placement.deny.len(), NODES_MAX),
        ("kinds of failures in `retry.on`", spec.retry.on.len(), RETRY_ON_MAX),
    ];
    lists.into_iter().filter(|(_, count, max)| count > max)
}

/// Whether the name of a step or matrix can be used: `[A-Za-z_][A-Za-z0-9_.-]*`, with `[printable]` behind it for a
/// cell.
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
