//! What the engine knows of a step: the rules for placing, repeating and ending it.

use serde::{Deserialize, Serialize};

use crate::id::StepIx;
use crate::requirement::{Labels, Requirement, RequirementClause};
use crate::time::Span;

/// When a step runs, seen from its needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatusCondition {
    /// No need failed (`success()`).
    #[default]
    Success,
    /// A need failed (`failure()`); otherwise it is skipped.
    Failure,
    /// In any case, also when the run is being cancelled (`always()`).
    Always,
}

/// A condition on values, beside the one on needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ValueCondition {
    /// None, or one that held when the plan was made.
    #[default]
    Holds,
    /// It did not hold when the plan was made: the step is skipped. The text says what was asked, with the values.
    Fails(Box<str>),
    /// An expression over outputs of needs, decided when they have ended.
    Asks(Box<str>),
    /// Done once under a key, whatever run asks for it.
    Once(IdempotencySpec),
}

impl ValueCondition {
    /// The expression over outputs of needs, if there is one.
    pub fn expression(&self) -> Option<&str> {
        match self {
            Self::Holds | Self::Fails(_) => None,
            Self::Asks(text) => Some(text),
            Self::Once(once) => once.asks.as_deref(),
        }
    }

    /// What is done once, and under which key.
    pub const fn idempotency(&self) -> Option<&IdempotencySpec> {
        match self {
            Self::Once(once) => Some(once),
            Self::Holds | Self::Fails(_) | Self::Asks(_) => None,
        }
    }
}

/// What is done once under a key: a success that is on record is taken over instead.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IdempotencySpec {
    /// The key: a template that reads outputs of needs at most. `./key` belongs to the plan's pipeline alone.
    pub key: Box<str>,
    /// An expression over outputs of needs, decided before anybody asks for the key.
    pub asks: Option<Box<str>>,
    /// Whether it is done though a success is on record.
    pub again: bool,
}

impl IdempotencySpec {
    /// Under this key, otherwise ordinary.
    pub fn with_key(key: &str) -> Self {
        Self { key: key.into(), ..Self::default() }
    }
}

/// Where a step must run, beyond labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PinTarget {
    /// On any worker.
    #[default]
    Anywhere,
    /// On the worker of the node that leads.
    Leader,
}

/// Whether a failure of the step fails the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OnFailure {
    /// It fails the run and blocks what needs it.
    #[default]
    Fail,
    /// It is recorded; the run goes on as if the step had succeeded.
    Ignore,
}

/// What a worker that has lost contact does with the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OnLostContact {
    /// Goes on; the outcome is accepted if the lease is still current by then.
    #[default]
    Continue,
    /// Stops it before its lease can pass on. Steps that hold a lock always do.
    Stop,
}

/// Who goes first among the steps that wait for a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LockOrder {
    /// The one that waited longest.
    #[default]
    Fifo,
    /// The one of the newest run.
    NewestFirst,
    /// The newest, and it ends the older ones, waiting or running.
    CancelOlder,
}

/// A lock that a step holds while it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LockUse {
    /// Its name; `./name` belongs to the plan's pipeline alone.
    pub name: Box<str>,
    /// Who goes first.
    pub order: LockOrder,
}

impl LockUse {
    /// The lock of this name, first come first served.
    pub fn fifo(name: &str) -> Self {
        Self { name: name.into(), order: LockOrder::Fifo }
    }
}

/// A kind of failure that is worth another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RetryOn {
    /// This exit code.
    Exit(i32),
    /// Any failure of the command.
    Failed,
    /// A timeout.
    TimedOut,
}

/// How often and when a step is tried again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Attempts after the first.
    pub times: u16,
    /// The wait before the second attempt; it doubles from attempt to attempt.
    pub wait_min: Span,
    /// The longest wait.
    pub wait_max: Span,
    /// Which failures are tried again; empty: all.
    pub on: Vec<RetryOn>,
    /// Whether another worker than the one that failed should try, if there is one.
    pub elsewhere: bool,
    /// Hand-outs of one attempt after the first, when workers are lost. 0: once it may have started it is never handed
    /// out again.
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
    /// A step that loses four workers in a row is more likely the cause than the victim.
    pub const LOST_DEFAULT: u16 = 3;

    /// `times` attempts after the first, the rest by default.
    pub fn times(times: u16) -> Self {
        Self { times, ..Self::default() }
    }
}

/// What a worker is, as far as placement asks.
#[derive(Clone, Copy, Debug)]
pub struct WorkerFacts<'a> {
    /// What it advertises.
    pub labels: &'a Labels,
    /// Its name.
    pub name: &'a str,
    /// Whether it is the leading node's own.
    pub leads: bool,
}

/// Which workers may run a step. Steps of equal placement form a *requirement class*.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Placement {
    /// Labels demanded.
    pub requirement: Requirement,
    /// On the leading node, or anywhere.
    pub pin: PinTarget,
    /// Names of the only workers allowed; empty: all.
    pub allow: Vec<Box<str>>,
    /// Names of workers not allowed.
    pub deny: Vec<Box<str>>,
}

impl Placement {
    /// Whether the worker may run it.
    pub fn accepts(&self, worker: WorkerFacts<'_>) -> bool {
        // It is asked for each class and worker, so it makes no text.
        self.refusal_beyond_labels(worker).is_none()
            && self.requirement.unmet_demands(worker.labels).next().is_none()
    }

    /// How many labels and names a worker is compared with.
    pub fn demand_count(&self) -> usize {
        let labels =
            self.requirement.0.iter().map(RequirementClause::alternative_count).sum::<usize>();
        labels + self.allow.len() + self.deny.len()
    }

    /// Why the worker may not run it, as one phrase; `None` if it may.
    pub fn refusal(&self, worker: WorkerFacts<'_>) -> Option<String> {
        if let Some(barred) = self.refusal_beyond_labels(worker) {
            return Some(barred.to_owned());
        }
        let unmet = self.requirement.unmet_demands(worker.labels);
        let unmet: Vec<String> =
            unmet.map(|clause| unmet_clause_phrase(clause, worker.labels)).collect();
        (!unmet.is_empty()).then(|| format!("lacks {}", unmet.join(", ")))
    }

    /// Why the worker may not run it, whatever labels it had.
    pub fn refusal_beyond_labels(&self, worker: WorkerFacts<'_>) -> Option<&'static str> {
        let named = |list: &[Box<str>]| list.iter().any(|name| &**name == worker.name);
        if self.pin == PinTarget::Leader && !worker.leads {
            return Some("is not the leader's own worker");
        }
        if self.pin != PinTarget::Leader && worker.labels.has(Labels::PINNED_ONLY) {
            return Some("runs only steps that are pinned to the leader");
        }
        if !self.allow.is_empty() && !named(&self.allow) {
            return Some("is not among the allowed nodes");
        }
        named(&self.deny).then_some("is among the denied nodes")
    }
}

/// A demand that labels do not meet; beside that for a step with certain types, the one that is there.
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

/// All that the engine knows of a step. Cells of a matrix and steps alike share one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepSpec {
    /// Which workers may run it.
    pub placement: Placement,
    /// Locks that it holds while it runs.
    pub locks: Vec<LockUse>,
    /// How often it is tried.
    pub retry: RetryPolicy,
    /// The longest that one attempt may run.
    pub timeout: Option<Span>,
    /// From the polite order to stop to the other one.
    pub kill_grace: Span,
    /// Greater goes first; grows by one for each minute waited.
    pub priority: i32,
    /// When it runs, seen from its needs.
    pub condition: StatusCondition,
    /// Whether it runs, by values.
    pub when: ValueCondition,
    /// Nodes whose status and outputs its condition and its work refer to; all among its needs, near or far.
    pub reads: Vec<StepIx>,
    /// Whether its failure fails the run.
    pub on_failure: OnFailure,
    /// The most of this step, cells included, that one worker runs at a time, over all runs of the pipeline.
    pub per_worker: Option<u32>,
    /// How long it waits while no worker could run it.
    pub wait_for_worker: Span,
    /// How long it waits for its locks.
    pub wait_for_lock: Span,
    /// What a worker that has lost contact does with it.
    pub on_lost_contact: OnLostContact,
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
            reads: Vec::new(),
            on_failure: OnFailure::Fail,
            per_worker: None,
            wait_for_worker: Span::mins(5),
            wait_for_lock: Span::hours(24),
            on_lost_contact: OnLostContact::Continue,
        }
    }
}

impl StepSpec {
    /// A step for workers with all these labels, otherwise ordinary.
    pub fn requiring<const N: usize>(labels: [&str; N]) -> Self {
        let placement = Placement { requirement: Requirement::all(labels), ..Placement::default() };
        Self { placement, ..Self::default() }
    }

    /// A step that had better run on a worker with all these labels, otherwise ordinary.
    pub fn preferring<const N: usize>(labels: [&str; N]) -> Self {
        let Requirement(wished) = Requirement::all(labels);
        let requirement = wished.into_iter().fold(Requirement::default(), Requirement::preferring);
        Self { placement: Placement { requirement, ..Placement::default() }, ..Self::default() }
    }

    /// A step that holds all these locks, otherwise ordinary.
    pub fn locking<const N: usize>(names: [&str; N]) -> Self {
        Self { locks: names.iter().map(|name| LockUse::fifo(name)).collect(), ..Self::default() }
    }

    /// A step that is done once under this key, otherwise ordinary.
    pub fn idempotent(key: &str) -> Self {
        Self { when: ValueCondition::Once(IdempotencySpec::with_key(key)), ..Self::default() }
    }

    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let names = self.placement.allow.iter().chain(&self.placement.deny);
        let locks = self.locks.iter().map(|lock| size_of::<LockUse>() + lock.name.len());
        let when = match &self.when {
            ValueCondition::Holds => 0,
            ValueCondition::Fails(text) | ValueCondition::Asks(text) => text.len(),
            ValueCondition::Once(once) => {
                once.key.len() + once.asks.as_ref().map_or(0, |asks| asks.len())
            }
        };
        size_of::<Self>()
            + locks.sum::<usize>()
            + names.map(|name| size_of::<Box<str>>() + name.len()).sum::<usize>()
            + self.placement.requirement.0.iter().map(RequirementClause::bytes).sum::<usize>()
            + self.retry.on.len() * size_of::<RetryOn>()
            + self.reads.len() * size_of::<StepIx>()
            + when
    }

    /// Whether a worker that has lost contact must end it before its lease can pass on. Under a key as under a lock:
    /// what is to be done once is not done twice at a time either.
    pub fn stops_on_lost_contact(&self) -> bool {
        !self.locks.is_empty()
            || self.when.idempotency().is_some()
            || self.on_lost_contact == OnLostContact::Stop
    }

    /// Whether it may be handed out before a slot is free for it. Not if something waits for it to end (a lock, a key, a
    /// per-worker limit), if only one worker can have it or some suit it better, or if it must not be handed out in vain.
    pub fn may_lease_ahead(&self) -> bool {
        self.locks.is_empty()
            && self.when.idempotency().is_none()
            && self.placement.requirement.preferences().next().is_none()
            && self.placement.pin == PinTarget::Anywhere
            && self.per_worker.is_none()
            && self.retry.lost > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_of_another_build_is_refused_with_both_named() {
        let placement = StepSpec::requiring(["call=build@aa11"]).placement;
        let refused = |labels: &[&str]| {
            let labels = Labels::new(labels.iter().map(|label| (*label).to_owned()));
            placement.refusal(WorkerFacts { labels: &labels, name: "w", leads: false })
        };
        assert_eq!(refused(&["call=build", "call=build@aa11"]), None);
        let other = refused(&["call=build", "call=build@bb22", "call=test@cc33"]);
        let told = "lacks call=build@aa11 (it has call=build@bb22, of another build)";
        assert_eq!(other.as_deref(), Some(told));
        assert_eq!(refused(&["linux"]).as_deref(), Some("lacks call=build@aa11"));
    }
}
