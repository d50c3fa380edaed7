//! Random steps.

use windlass_core::plan::{
    IdempotencySpec, LockOrder, LockUse, OnFailure, PinTarget, Placement, RetryPolicy,
    StatusCondition, StepSpec, ValueCondition,
};
use windlass_core::requirement::{Requirement, RequirementAtom, RequirementClause};
use windlass_core::time::Span;

use super::plans::LABELS;
use super::rng::SimRng;

pub(super) fn spec(rng: &mut SimRng) -> StepSpec {
    let mut spec =
        StepSpec { kill_grace: Span::millis(rng.range(50, 4_000)), ..StepSpec::default() };
    spec.wait_for_worker = Span::secs(rng.range(20, 200));
    if rng.chance(350) {
        spec.placement = Placement {
            requirement: Requirement::all([rng.pick(&LABELS)]),
            ..Placement::default()
        };
    }
    if rng.chance(60) {
        spec.placement.pin = PinTarget::Leader;
    }
    if rng.chance(200) {
        let preferred = RequirementClause(vec![RequirementAtom::has(rng.pick(&LABELS))]);
        spec.placement.preferences.push(preferred);
    }
    spec.locks = locks(rng);
    spec.retry = RetryPolicy {
        times: u16::try_from(rng.below(4)).expect("few"),
        wait_min: Span::millis(rng.range(1, 2_000)),
        wait_max: Span::secs(5),
        elsewhere: rng.chance(300),
        lost: rng.pick(&[0, 1, 3, 3, 3]),
        ..RetryPolicy::default()
    };
    spec.priority = i32::try_from(rng.below(4)).expect("small");
    spec.condition = rng.pick(&[
        StatusCondition::Success,
        StatusCondition::Success,
        StatusCondition::Success,
        StatusCondition::Always,
        StatusCondition::Failure,
    ]);
    (spec.when, spec.idempotency) = when_and_key(rng);
    if rng.chance(100) {
        spec.on_failure = OnFailure::Ignore;
    }
    if rng.chance(80) {
        spec.per_worker = Some(1);
    }
    if rng.chance(150) {
        spec.timeout = Some(Span::millis(rng.range(500, 5_000)));
    }
    spec
}

/// Returns the condition on values and the idempotency settings of a step.
fn when_and_key(rng: &mut SimRng) -> (ValueCondition, Option<IdempotencySpec>) {
    if rng.chance(40) {
        let text = "params.ship  (params.ship = false)".into();
        return (ValueCondition::Fails(text), None);
    }
    if rng.chance(100) {
        let key = rng.pick(&["one", "two", "./own"]).into();
        let idempotency = IdempotencySpec { key, again: rng.chance(200) };
        return (ValueCondition::Holds, Some(idempotency));
    }
    (ValueCondition::Holds, None)
}

pub(super) fn locks(rng: &mut SimRng) -> Vec<LockUse> {
    let order = rng.pick(&[
        LockOrder::Fifo,
        LockOrder::Fifo,
        LockOrder::Fifo,
        LockOrder::NewestFirst,
        LockOrder::CancelOlder,
    ]);
    let mut locks = Vec::new();
    if rng.chance(300) {
        locks.push(LockUse { name: "alpha".into(), order });
    }
    if rng.chance(200) {
        locks.push(LockUse { name: "beta".into(), order });
    }
    locks
}

/// Returns a step that survives lost workers: these schedules test something else.
pub(super) fn loss_tolerant_spec() -> StepSpec {
    StepSpec {
        retry: RetryPolicy { times: 5, lost: 50, ..RetryPolicy::default() },
        kill_grace: Span::millis(500),
        ..StepSpec::default()
    }
}
