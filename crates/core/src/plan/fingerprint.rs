//! A stable hash of a plan.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::plan_type::Plan;
use super::step_spec::{
    LockOrder, OnFailure, OnLostContact, PinTarget, Placement, RetryOn, StatusCondition, StepSpec,
    ValueCondition,
};

/// BLAKE3 of a plan's canonical form.
///
/// The form is defined here field by field, with a length before every list and string and a number for every choice.
/// Renaming a Rust item or adding a default does not change the hash. A new field with meaning must change it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct PlanFingerprint([u8; 32]);

impl PlanFingerprint {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut canon = CanonicalHasher(blake3::Hasher::new());
        canon.text("windlass plan 1");
        canon.text(&plan.pipeline);
        canon.number(u64::from(plan.node_count()));
        for node in plan.nodes() {
            canon.text(plan.name(node));
            canon.number(plan.spec_index(node).map_or(u64::MAX, |spec| u64::from(spec.0)));
            canon.text(&plan.work(node));
            canon.number(plan.needs(node).len() as u64);
            for need in plan.needs(node) {
                canon.number(u64::from(need.step().0) << 1 | u64::from(need.is_required()));
            }
        }
        canon.number(plan.specs.len() as u64);
        plan.specs.iter().for_each(|spec| canon.spec(spec));
        canon.number(plan.lock_slots.len() as u64);
        for (lock, slots) in &plan.lock_slots {
            canon.text(lock);
            canon.number(u64::from(*slots));
        }
        Self(*canon.0.finalize().as_bytes())
    }

    /// The hash itself.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for PlanFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PlanFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

struct CanonicalHasher(blake3::Hasher);

impl CanonicalHasher {
    fn number(&mut self, n: u64) {
        self.0.update(&n.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn texts(&mut self, list: &[impl ToString]) {
        self.number(list.len() as u64);
        for text in list {
            self.text(&text.to_string());
        }
    }

    fn spec(&mut self, spec: &StepSpec) {
        self.placement(&spec.placement);
        self.number(spec.locks.len() as u64);
        for lock in &spec.locks {
            self.text(&lock.name);
            self.number(match lock.order {
                LockOrder::Fifo => 0,
                LockOrder::NewestFirst => 1,
                LockOrder::CancelOlder => 2,
            });
        }
        self.retry(spec);
        self.rest(spec);
    }

    fn placement(&mut self, placement: &Placement) {
        self.texts(&placement.requirement.0);
        self.texts(&placement.preferences);
        self.number(match placement.pin {
            PinTarget::Anywhere => 0,
            PinTarget::Leader => 1,
        });
        self.texts(&placement.allow);
        self.texts(&placement.deny);
    }

    fn retry(&mut self, spec: &StepSpec) {
        let retry = &spec.retry;
        self.number(u64::from(retry.times));
        self.number(retry.wait_min.as_millis());
        self.number(retry.wait_max.as_millis());
        self.number(retry.on.len() as u64);
        for on in &retry.on {
            match on {
                RetryOn::Exit(code) => self.text(&format!("exit {code}")),
                RetryOn::Failed => self.text("failed"),
                RetryOn::TimedOut => self.text("timed_out"),
            }
        }
        self.number(u64::from(retry.elsewhere));
        self.number(u64::from(retry.lost));
    }

    fn rest(&mut self, spec: &StepSpec) {
        self.number(spec.timeout.map_or(u64::MAX, crate::time::Span::as_millis));
        self.number(spec.kill_grace.as_millis());
        self.text(&spec.priority.to_string());
        self.number(match spec.condition {
            StatusCondition::Success => 0,
            StatusCondition::Failure => 1,
            StatusCondition::Always => 2,
        });
        match &spec.when {
            ValueCondition::Holds => self.number(0),
            ValueCondition::Fails(text) => self.text(&format!("fails {text}")),
            ValueCondition::Asks(text) => self.text(&format!("asks {text}")),
        }
        self.number(u64::from(spec.idempotency.is_some()));
        if let Some(idempotency) = &spec.idempotency {
            // `again` is not part of the hash, see `Plan::with_idempotency_ignored`.
            self.text(&idempotency.key);
        }
        self.number(spec.reads.len() as u64);
        for step in &spec.reads {
            self.number(u64::from(step.0));
        }
        self.number(match spec.on_failure {
            OnFailure::Fail => 0,
            OnFailure::Ignore => 1,
        });
        self.number(spec.per_worker.map_or(u64::MAX, u64::from));
        self.number(spec.wait_for_worker.as_millis());
        self.number(spec.wait_for_lock.as_millis());
        self.number(match spec.on_lost_contact {
            OnLostContact::Continue => 0,
            OnLostContact::Stop => 1,
        });
        self.number(u64::from(spec.carries_files));
    }
}
