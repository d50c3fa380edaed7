//! All problems of a plan are reported together, before anything runs.

use windlass_core::id::StepIx;
use windlass_core::plan::{
    CELLS_MAX, LockOrder, LockUse, NAME_MAX, OnFailure, OnLostContact, PinTarget, Plan,
    PlanBuilder, PlanError, RetryOn, RetryPolicy, STEPS_MAX, StatusCondition, StepSpec,
    ValueCondition,
};
use windlass_core::time::Span;

fn problems(draw: impl FnOnce(&mut PlanBuilder)) -> Vec<PlanError> {
    let mut plan = PlanBuilder::new("ship");
    draw(&mut plan);
    plan.build().expect_err("there is something wrong with it")
}

fn plan_of(spec: StepSpec) -> Plan {
    let mut plan = PlanBuilder::new("ship");
    let build = plan.step_with("build", spec, "cargo build");
    let test = plan.matrix("test", [("linux".to_owned(), StepSpec::requiring(["linux"]))]);
    plan.needs(test, build);
    plan.lock_slots("farm", 2);
    plan.build().expect("the plan is sound")
}

#[test]
fn cyclic_needs_are_reported_as_a_path() {
    let found = problems(|plan| {
        let steps = ["entry", "a", "b", "c"].map(|name| plan.step(name, StepSpec::default()));
        plan.needs(steps[1], steps[3]);
        plan.needs(steps[2], steps[1]);
        plan.needs(steps[3], steps[2]);
        plan.needs(steps[1], steps[0]);
    });
    let path = ["a", "c", "b", "a"].map(str::to_owned).to_vec();
    assert_eq!(found, [PlanError::Cycle(path)]);
    assert_eq!(found[0].to_string(), "`needs` form a cycle: a needs c needs b needs a");
}

#[test]
fn every_other_problem_is_reported_at_once() {
    let found = problems(|plan| {
        let own = plan.step("own", StepSpec::default());
        plan.needs(own, own);
        let twice = plan.step("twice", StepSpec::default());
        plan.step("twice", StepSpec::locking(["db", "db"]));
        plan.needs(twice, own);
        plan.needs_optional(twice, own);
        plan.step("9lives", StepSpec { per_worker: Some(0), ..StepSpec::default() });
        plan.matrix("empty", []);
        plan.lock_slots("none", 0);
    });
    let text: Vec<String> = found.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(text.join("\n"), @r"
    `twice` takes the lock `db` twice
    `9lives` has `per_worker: 0`: remove it or set it to at least 1
    the matrix `empty` has no cells
    the lock `none` has no slots
    two steps have the name `twice`
    `9lives` is not a valid name: use 1 to 128 letters, digits, `_`, `-`, `.`, beginning with a letter or `_`; a cell can have any printable text in brackets
    `own` needs itself
    `twice` needs `own` twice
    ");
}

#[test]
fn plan_without_steps_is_refused() {
    assert_eq!(problems(|_| {}), [PlanError::Empty]);
}

#[test]
fn plans_have_bounds() {
    let cells = |count: usize| (0..count).map(|at| (at.to_string(), StepSpec::default()));
    let found = problems(|plan| {
        plan.matrix("wide", cells(CELLS_MAX + 1));
    });
    let too_many = PlanError::TooManyCells { name: "wide".to_owned(), cells: CELLS_MAX + 1 };
    assert_eq!(found, [too_many]);
    let long = "x".repeat(NAME_MAX + 1);
    let found = problems(|plan| {
        plan.step(&long, StepSpec::default());
    });
    assert_eq!(found, [PlanError::BadName(long)]);
    let found = problems(|plan| {
        for at in 0..=STEPS_MAX {
            plan.step(&format!("s{at}"), StepSpec::default());
        }
    });
    assert_eq!(found, [PlanError::TooManySteps(STEPS_MAX + 1)]);
}

#[test]
fn name_of_a_cell_may_contain_any_printable_character() {
    let mut plan = PlanBuilder::new("ship");
    let cell = "os=linux, db=\"postgres 17\"".to_owned();
    plan.matrix("test", [(cell, StepSpec::default())]);
    let plan = plan.build().expect("the plan is sound");
    assert!(plan.find("test[os=linux, db=\"postgres 17\"]").is_some());
}

#[test]
fn fingerprint_is_stable() {
    let hash = plan_of(StepSpec::default()).fingerprint().to_string();
    assert_eq!(hash, "7fed3f58697e7f9c33549a484bbc4ce88f35a0fdec377979264b6ed601f5f316");
    assert_eq!(hash, plan_of(StepSpec::default()).fingerprint().to_string());
}

#[test]
fn a_fingerprint_changes_with_every_field() {
    let plain = StepSpec::default;
    let retry = |retry: RetryPolicy| StepSpec { retry, ..plain() };
    let lock = |order| StepSpec { locks: vec![LockUse { name: "db".into(), order }], ..plain() };
    let mut pinned = plain();
    pinned.placement.pin = PinTarget::Leader;
    let (mut allowed, mut denied) = (plain(), plain());
    allowed.placement.allow.push("alpha".into());
    denied.placement.deny.push("alpha".into());
    let specs = [
        plain(),
        StepSpec::requiring(["docker"]),
        StepSpec::preferring(["docker"]),
        StepSpec::preferring(["docker", "linux"]),
        pinned,
        allowed,
        denied,
        lock(LockOrder::Fifo),
        lock(LockOrder::NewestFirst),
        lock(LockOrder::CancelOlder),
        retry(RetryPolicy::times(1)),
        retry(RetryPolicy { wait_min: Span::secs(2), ..RetryPolicy::default() }),
        retry(RetryPolicy { wait_max: Span::secs(2), ..RetryPolicy::default() }),
        retry(RetryPolicy { on: vec![RetryOn::Failed], ..RetryPolicy::default() }),
        retry(RetryPolicy { on: vec![RetryOn::Exit(1)], ..RetryPolicy::default() }),
        retry(RetryPolicy { elsewhere: true, ..RetryPolicy::default() }),
        retry(RetryPolicy { lost: 1, ..RetryPolicy::default() }),
        StepSpec { timeout: Some(Span::secs(1)), ..plain() },
        StepSpec { kill_grace: Span::secs(1), ..plain() },
        StepSpec { priority: 1, ..plain() },
        StepSpec { condition: StatusCondition::Failure, ..plain() },
        StepSpec { condition: StatusCondition::Always, ..plain() },
        StepSpec { when: ValueCondition::Fails("x".into()), ..plain() },
        StepSpec { when: ValueCondition::Asks("x".into()), ..plain() },
        StepSpec::idempotent("x"),
        StepSpec::idempotent("y"),
        StepSpec { when: ValueCondition::Asks("x".into()), ..StepSpec::idempotent("x") },
        StepSpec { reads: vec![StepIx(0)], ..plain() },
        StepSpec { on_failure: OnFailure::Ignore, ..plain() },
        StepSpec { per_worker: Some(1), ..plain() },
        StepSpec { wait_for_worker: Span::secs(1), ..plain() },
        StepSpec { wait_for_lock: Span::secs(1), ..plain() },
        StepSpec { on_lost_contact: OnLostContact::Stop, ..plain() },
    ];
    let mut hashes: Vec<_> = specs.map(|spec| plan_of(spec).fingerprint()).to_vec();
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn fingerprint_does_not_depend_on_ignored_idempotency() {
    let plan = plan_of(StepSpec::idempotent("x"));
    let again = plan.clone().with_idempotency_ignored(true);
    assert!(again.specs().iter().filter_map(|spec| spec.idempotency.as_ref()).any(|it| it.again));
    assert_eq!(again.fingerprint(), plan.fingerprint());
    assert_eq!(again.with_idempotency_ignored(false), plan);
}

#[test]
fn a_fingerprint_does_not_depend_on_the_order_of_locks_and_names() {
    let mut one = StepSpec::locking(["a", "b"]);
    let mut other = StepSpec::locking(["b", "a"]);
    one.placement.allow = vec!["x".into(), "y".into()];
    other.placement.allow = vec!["y".into(), "x".into()];
    assert_eq!(plan_of(one).fingerprint(), plan_of(other).fingerprint());
}

#[test]
fn a_lock_of_the_pipeline_alone_has_its_name() {
    let plan = plan_of(StepSpec::locking(["./db"]));
    let locks = plan.specs().iter().flat_map(|spec| &spec.locks);
    assert_eq!(locks.map(|lock| &*lock.name).collect::<Vec<_>>(), ["ship/db"]);
}
