//! The spec of a step: the settings that the engine reads.

use serde::{Deserialize, Serialize};

use crate::files::FILES_WITHIN;
use crate::id::StepIx;
use crate::requirement::{Labels, Requirement, RequirementClause, WorkerScope};
use crate::time::Span;

/// The condition on the status of the needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatusCondition {
    /// No need failed (`success()`).
    #[default]
    Success,
    /// A need failed (`failure()`); otherwise it is skipped.
    Failure,
    /// Always, even if the run is being cancelled (`always()`).
    Always,
}

/// The condition on values.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ValueCondition {
    /// No condition, or one that was true when the plan was made.
    #[default]
    Holds,
    /// A condition that was false when the plan was made: the step is skipped. The text has the condition and its values.
    Fails(Box<str>),
    /// An expression over outputs of needs, decided when they have ended.
    Asks(Box<str>),
}

impl ValueCondition {
    /// Returns the expression over outputs of needs, if any.
    pub fn expression(&self) -> Option<&str> {
        match self {
            Self::Holds | Self::Fails(_) => None,
            Self::Asks(text) => Some(text),
        }
    }

    /// Returns its size on the heap in bytes.
    fn heap_bytes(&self) -> usize {
        match self {
            Self::Holds => 0,
            Self::Fails(text) | Self::Asks(text) => text.len(),
        }
    }
}

/// The idempotency of a step: it runs once per key, over all runs. A recorded success under the key is reused.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IdempotencySpec {
    /// The key: a template that can read outputs of needs. `./key` is local to the pipeline of the plan.
    pub key: Box<str>,
    /// Whether it runs even if a success is recorded.
    pub again: bool,
}

impl IdempotencySpec {
    /// Creates a spec with this key and otherwise defaults.
    pub fn with_key(key: &str) -> Self {
        Self { key: key.into(), ..Self::default() }
    }
}

/// The worker that a step must run on, in addition to its labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PinTarget {
    /// Any worker.
    #[default]
    Anywhere,
    /// The worker of the leader.
    Leader,
}

/// The effect of a failure of the step on its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OnFailure {
    /// The failure fails the run and blocks the steps that need the step.
    #[default]
    Fail,
    /// The failure is recorded; the run continues as if the step had succeeded.
    Ignore,
}

/// The action of a worker on the step after losing contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OnLostContact {
    /// The step continues; its outcome is accepted if the lease is still valid.
    #[default]
    Continue,
    /// The worker stops the step before its lease can be reassigned. Steps that hold a lock always stop.
    Stop,
}

/// The order of the steps that wait for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LockOrder {
    /// The step that has waited longest.
    #[default]
    Fifo,
    /// The step of the newest run.
    NewestFirst,
    /// The step of the newest run; it cancels older ones, waiting or running.
    CancelOlder,
}

/// A lock that a step holds while it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LockUse {
    /// The name; `./name` is local to the pipeline of the plan.
    pub name: Box<str>,
    /// The order of waiting steps.
    pub order: LockOrder,
}

impl LockUse {
    /// Creates a lock use with the order `fifo`.
    pub fn fifo(name: &str) -> Self {
        Self { name: name.into(), order: LockOrder::Fifo }
    }
}

/// A kind of failure that is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RetryOn {
    /// The command ended with this exit code.
    Exit(i32),
    /// The command failed in any way.
    Failed,
    /// The attempt timed out.
    TimedOut,
}

/// The retry settings of a step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Maximum attempts after the first.
    pub times: u16,
    /// The wait before the second attempt; it doubles from attempt to attempt.
    pub wait_min: Span,
    /// The longest wait.
    pub wait_max: Span,
    /// The failures that are retried; empty for all.
    pub on: Vec<RetryOn>,
    /// Whether a retry prefers another worker than the one that failed.
    pub elsewhere: bool,
    /// Maximum redeliveries of one attempt after lost workers. With 0, an attempt that may have started is never delivered
    /// again.
    pub lost: u16,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            times: 0,
            wait_min: Span::secs(1),
            wait_max: Span::mins(1),
            on: Vec::new(),
            elsewhere: false,
            lost: Self::LOST_DEFAULT,
        }
    }
}

impl RetryPolicy {
    /// A step that loses four workers in a row is probably the cause.
    pub const LOST_DEFAULT: u16 = 3;

    /// Creates a policy with `times` retries and otherwise defaults.
    pub fn times(times: u16) -> Self {
        Self { times, ..Self::default() }
    }
}

/// The relation of a worker to the owner of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnerRelation {
    /// The run has no owner.
    #[default]
    NoOwner,
    /// The worker is the owner.
    IsOwner,
    /// Another worker is the owner, and shares the run.
    SharedByOther,
    /// Another worker is the owner, and runs all steps itself.
    KeptByOther,
}

/// The facts of a worker for placement.
#[derive(Clone, Copy, Debug)]
pub struct WorkerFacts<'a> {
    /// The advertised labels.
    pub labels: &'a Labels,
    /// The worker's name.
    pub name: &'a str,
    /// Whether it is the leader's own worker.
    pub leads: bool,
    /// The runs whose steps it serves.
    pub scope: WorkerScope,
    /// Its relation to the owner of the step's run.
    pub relation: OwnerRelation,
}

impl WorkerFacts<'_> {
    /// Whether it may run pinned steps: in a run with an owner, these belong to the machine on which the run was started.
    const fn is_pin_target(&self) -> bool {
        match self.relation {
            OwnerRelation::NoOwner => self.leads,
            OwnerRelation::IsOwner => true,
            OwnerRelation::SharedByOther | OwnerRelation::KeptByOther => false,
        }
    }
}

/// The workers that may run a step. Steps of equal placement form a *requirement class*.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Placement {
    /// Required labels.
    pub requirement: Requirement,
    /// Preferred labels. A worker without them runs the step only if no other worker can, or after a wait.
    pub preferences: Vec<RequirementClause>,
    /// Whether it is pinned to the leader.
    pub pin: PinTarget,
    /// Names of the only allowed workers; empty for all.
    pub allow: Vec<Box<str>>,
    /// Names of denied workers.
    pub deny: Vec<Box<str>>,
}

impl Placement {
    /// Whether the worker can run the step.
    pub fn accepts(&self, worker: WorkerFacts<'_>) -> bool {
        // Called for each class and worker, so it does not build strings.
        self.refusal_beyond_labels(worker).is_none() && self.requirement.matches(worker.labels)
    }

    /// Returns the clauses of its requirement and its preferences.
    pub fn clauses(&self) -> impl Iterator<Item = &RequirementClause> {
        self.requirement.0.iter().chain(&self.preferences)
    }

    /// Returns the preferences that a worker with these labels does not meet.
    pub fn unmet_preferences<'a>(
        &'a self,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a RequirementClause> {
        self.preferences.iter().filter(|clause| !clause.matches(labels))
    }

    /// Returns the number of labels and names that a worker is compared with.
    pub fn demand_count(&self) -> usize {
        let labels = self.clauses().map(|clause| clause.0.len()).sum::<usize>();
        labels + self.allow.len() + self.deny.len()
    }

    /// Returns its size on the heap in bytes.
    fn heap_bytes(&self) -> usize {
        let names = self.allow.iter().chain(&self.deny);
        self.clauses().map(RequirementClause::bytes).sum::<usize>()
            + names.map(|name| size_of::<Box<str>>() + name.len()).sum::<usize>()
    }

    /// Returns why the worker cannot run the step, as a phrase; `None` if it can.
    pub fn refusal(&self, worker: WorkerFacts<'_>) -> Option<String> {
        if let Some(barred) = self.refusal_beyond_labels(worker) {
            return Some(barred.to_owned());
        }
        let unmet = self.requirement.unmet_clauses(worker.labels);
        let unmet: Vec<String> =
            unmet.map(|clause| unmet_clause_phrase(clause, worker.labels)).collect();
        (!unmet.is_empty()).then(|| format!("lacks {}", unmet.join(", ")))
    }

    /// Returns why the worker cannot run the step regardless of its labels.
    pub fn refusal_beyond_labels(&self, worker: WorkerFacts<'_>) -> Option<&'static str> {
        let named = |list: &[Box<str>]| list.iter().any(|name| &**name == worker.name);
        if worker.relation == OwnerRelation::KeptByOther {
            return Some("belongs to another process than the run");
        }
        let pinned = self.pin == PinTarget::Leader;
        if pinned && !worker.is_pin_target() {
            return Some("is not the leader's own worker");
        }
        match worker.scope {
            WorkerScope::PinnedOnly if !pinned => {
                return Some("runs only steps that are pinned to the leader");
            }
            WorkerScope::OwnRuns if worker.relation != OwnerRelation::IsOwner => {
                return Some("runs only steps of runs that its process has started");
            }
            WorkerScope::AllRuns | WorkerScope::PinnedOnly | WorkerScope::OwnRuns => {}
        }
        if !self.allow.is_empty() && !named(&self.allow) {
            return Some("is not among the allowed nodes");
        }
        named(&self.deny).then_some("is among the denied nodes")
    }
}

/// Describes an unmet requirement. For a call with a signature, it adds the signature that the worker has.
fn unmet_clause_phrase(clause: &RequirementClause, labels: &Labels) -> String {
    let wanted = clause.to_string();
    let called = |label: &str| {
        let (name, _) = label.strip_prefix("call=")?.split_once('@')?;
        Some(name.to_owned())
    };
    let Some(name) = called(&wanted) else { return wanted };
    match labels.iter().find(|label| called(label).as_ref() == Some(&name)) {
        Some(other) => format!("{wanted} (it has {other}, of another build)"),
        None => wanted,
    }
}

/// The spec of a step: everything that the engine reads. Cells of a matrix and equal steps share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepSpec {
    /// The workers that can run it.
    pub placement: Placement,
    /// The locks that it holds while it runs.
    pub locks: Vec<LockUse>,
    /// The retry settings.
    pub retry: RetryPolicy,
    /// Maximum duration of one attempt.
    pub timeout: Option<Span>,
    /// Time between SIGTERM and SIGKILL.
    pub kill_grace: Span,
    /// The priority; higher runs first. It grows by one per minute of waiting.
    pub priority: i32,
    /// The condition on the status of its needs.
    pub condition: StatusCondition,
    /// The condition on values.
    pub when: ValueCondition,
    /// The idempotency settings, evaluated after the condition on values; `None` if the step runs in every run.
    pub idempotency: Option<IdempotencySpec>,
    /// Nodes whose status and outputs its condition, key and work read; all are direct or indirect needs.
    pub reads: Vec<StepIx>,
    /// Whether its failure fails the run.
    pub on_failure: OnFailure,
    /// Maximum concurrent executions of this step and its cells on one worker, over all runs of the pipeline.
    pub per_worker: Option<u32>,
    /// Maximum wait for a worker that can run it.
    pub wait_for_worker: Span,
    /// Maximum wait for its locks.
    pub wait_for_lock: Span,
    /// The action of a worker on the step after losing contact.
    pub on_lost_contact: OnLostContact,
    /// Whether its worker prepares or stores files for it, before and after its command.
    pub carries_files: bool,
}

impl Default for StepSpec {
    fn default() -> Self {
        Self {
            placement: Placement::default(),
            locks: Vec::new(),
            retry: RetryPolicy::default(),
            timeout: None,
            kill_grace: Span::secs(10),
            priority: 0,
            condition: StatusCondition::Success,
            when: ValueCondition::Holds,
            idempotency: None,
            reads: Vec::new(),
            on_failure: OnFailure::Fail,
            per_worker: None,
            wait_for_worker: Span::mins(5),
            wait_for_lock: Span::hours(24),
            on_lost_contact: OnLostContact::Continue,
            carries_files: false,
        }
    }
}

impl StepSpec {
    /// Creates a spec that requires these labels, with otherwise defaults.
    pub fn requiring<const N: usize>(labels: [&str; N]) -> Self {
        let placement = Placement { requirement: Requirement::all(labels), ..Placement::default() };
        Self { placement, ..Self::default() }
    }

    /// Creates a spec that prefers these labels, with otherwise defaults.
    pub fn preferring<const N: usize>(labels: [&str; N]) -> Self {
        let Requirement(preferences) = Requirement::all(labels);
        Self { placement: Placement { preferences, ..Placement::default() }, ..Self::default() }
    }

    /// Creates a spec that holds these locks, with otherwise defaults.
    pub fn locking<const N: usize>(names: [&str; N]) -> Self {
        Self { locks: names.iter().map(|name| LockUse::fifo(name)).collect(), ..Self::default() }
    }

    /// Creates an idempotent spec with this key and otherwise defaults.
    pub fn idempotent(key: &str) -> Self {
        Self { idempotency: Some(IdempotencySpec::with_key(key)), ..Self::default() }
    }

    /// Returns how long its worker may take for its files beyond its timeout: to prepare them, and to store them.
    pub const fn files_allowance(&self) -> Span {
        if self.carries_files { FILES_WITHIN.times(2) } else { Span::ZERO }
    }

    /// Returns its size in memory in bytes.
    pub fn bytes(&self) -> usize {
        let locks = self.locks.iter().map(|lock| size_of::<LockUse>() + lock.name.len());
        size_of::<Self>()
            + locks.sum::<usize>()
            + self.placement.heap_bytes()
            + self.retry.on.len() * size_of::<RetryOn>()
            + self.reads.len() * size_of::<StepIx>()
            + self.when.heap_bytes()
            + self.idempotency.as_ref().map_or(0, |idempotency| idempotency.key.len())
    }

    /// Whether its condition on values or its key can settle it once its needs have ended.
    pub fn is_decided_after_needs(&self) -> bool {
        self.when != ValueCondition::Holds || self.idempotency.is_some()
    }

    /// Whether a worker that has lost contact must stop it before its lease can be reassigned. This includes steps with a
    /// lock or a key, which must not run twice at the same time.
    pub fn stops_on_lost_contact(&self) -> bool {
        !self.locks.is_empty()
            || self.idempotency.is_some()
            || self.on_lost_contact == OnLostContact::Stop
    }

    /// Whether it can be leased before a slot is free. Excluded are steps with a lock, a key or a per-worker limit, pinned
    /// steps, steps with preferences, and steps that must not be delivered twice.
    pub fn may_lease_ahead(&self) -> bool {
        self.locks.is_empty()
            && self.idempotency.is_none()
            && self.placement.preferences.is_empty()
            && self.placement.pin == PinTarget::Anywhere
            && self.per_worker.is_none()
            && self.retry.lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_both_signatures() {
        let placement = StepSpec::requiring(["call=build@aa11"]).placement;
        let refused = |labels: &[&str]| {
            let labels = Labels::new(labels.iter().map(|label| (*label).to_owned()));
            placement.refusal(WorkerFacts {
                labels: &labels,
                name: "w",
                leads: false,
                scope: WorkerScope::AllRuns,
                relation: OwnerRelation::NoOwner,
            })
        };
        assert_eq!(refused(&["call=build", "call=build@aa11"]), None);
        let other = refused(&["call=build", "call=build@bb22", "call=test@cc33"]);
        let expected = "lacks call=build@aa11 (it has call=build@bb22, of another build)";
        assert_eq!(other.as_deref(), Some(expected));
        assert_eq!(refused(&["linux"]).as_deref(), Some("lacks call=build@aa11"));
    }
}
