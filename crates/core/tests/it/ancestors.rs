//! Runs that were started inside a step of another run, and need what that step holds.

use windlass_core::engine::{
    AncestorStep, Event, ParentStep, RunOptions, StepSettlement, SubmitRun, event,
};
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::{IdempotencySpec, StepSpec};
use windlass_core::report::WhyReport;
use windlass_core::summary::RunSummary;

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

/// Submits a run that is started inside a step.
fn nested(cluster: &mut TestCluster, run: &str, inside: &str, draw: impl FnOnce(&mut PlanSketch)) {
    let (of, step) = cluster.find(inside);
    let parent = Some(ParentStep { run: of, step });
    cluster.submit_with(run, RunOptions { parent, ..RunOptions::default() }, draw);
}

fn settlement(cluster: &TestCluster, step: &str) -> Option<StepSettlement> {
    let at = cluster.find(step);
    cluster.journal.iter().find_map(|event| match event {
        Event::StepSettled(it) if (it.run, it.step) == at => Some(it.settled.clone()),
        _ => None,
    })
}

fn outer(lock: &str) -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.submit("outer", |plan| plan.step("deploy", StepSpec::locking([lock]), []));
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    cluster
}

#[test]
fn step_that_needs_a_lock_of_an_ancestor_fails_at_once() {
    let mut cluster = outer("prod");
    nested(&mut cluster, "middle", "deploy", |plan| plan.plains(["call"]));
    nested(&mut cluster, "inner", "call", |plan| {
        plan.step("push", StepSpec::locking(["prod"]), []);
        plan.step("other", StepSpec::locking(["test"]), []);
    });
    assert_eq!(cluster.status("push"), StepStatus::Failed);
    let holder = AncestorStep { run: RunId(1), step: StepIx(0), name: "deploy".into() };
    let expected = StepSettlement::FailedAncestorLock { lock: "prod".into(), holder };
    assert_eq!(settlement(&cluster, "push"), Some(expected));
    let mut events = cluster.recorded().filter(|(_, event)| event.run() == Some(RunId(3)));
    let (at, submitted) = events.next().expect("it was submitted");
    let mut summary = RunSummary::from_submitted(at, submitted).expect("it begins with that");
    events.for_each(|(at, event)| summary.apply_event(at, event));
    let reason = summary.step(StepIx(0)).and_then(|step| step.reason());
    let run = RunId(1);
    let words =
        format!("lock prod is held by deploy of run {run}, inside which this run was started");
    assert_eq!(reason, Some(words));
}

/// A lock of two slots that an ancestor and another step hold, and a step that waits for it.
fn shared_lock() -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.submit("outer", |plan| {
        plan.lock_slots("gpu", 2);
        plan.step("deploy", StepSpec::locking(["gpu"]), []);
        plan.step("train", StepSpec::locking(["gpu"]), []);
    });
    nested(&mut cluster, "inner", "deploy", |plan| {
        plan.lock_slots("gpu", 2);
        plan.step("push", StepSpec::locking(["gpu"]), []);
    });
    assert_eq!(cluster.status("push"), StepStatus::Ready, "train is no ancestor, and will end");
    cluster
}

#[test]
fn lock_with_a_slot_for_others_is_awaited() {
    let mut cluster = shared_lock();
    assert!(matches!(cluster.why("push"), WhyReport::Locks { .. }));
    cluster.succeed(["train"]);
    cluster.succeed(["push", "deploy"]);
    assert_eq!(cluster.run_status("inner"), RunStatus::Succeeded);
}

#[test]
fn lock_whose_other_holder_ends_without_freeing_a_slot_is_not_awaited() {
    let mut cluster = shared_lock();
    // While this run is there, the lock has one slot, and two holders.
    cluster.submit("single", |plan| {
        plan.lock_slots("gpu", 1);
        plan.step("tune", StepSpec::locking(["gpu"]), []);
    });
    assert_eq!(cluster.status("push"), StepStatus::Ready, "train will end");
    cluster.succeed(["train"]);
    assert_eq!(cluster.status("push"), StepStatus::Failed);
    assert!(matches!(
        settlement(&cluster, "push"),
        Some(StepSettlement::FailedAncestorLock { .. })
    ));
}

#[test]
fn lock_that_loses_its_free_slot_to_a_new_run_is_not_awaited() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("outer", |plan| {
        plan.lock_slots("gpu", 2);
        plan.step("deploy", StepSpec::locking(["gpu"]), []);
    });
    nested(&mut cluster, "inner", "deploy", |plan| {
        plan.lock_slots("gpu", 2);
        plan.step("push", StepSpec::locking(["gpu"]), []);
    });
    assert_eq!(cluster.status("push"), StepStatus::Ready, "it waits for a slot of the worker");
    cluster.submit("single", |plan| {
        plan.lock_slots("gpu", 1);
        plan.step("tune", StepSpec::locking(["gpu"]), []);
    });
    assert_eq!(cluster.status("push"), StepStatus::Failed);
}

#[test]
fn lock_of_an_ancestor_that_holds_it_no_more_is_awaited() {
    let mut cluster = outer("prod");
    cluster.succeed(["deploy"]);
    cluster.submit("next", |plan| plan.step("release", StepSpec::locking(["prod"]), []));
    nested(&mut cluster, "inner", "deploy", |plan| {
        plan.step("push", StepSpec::locking(["prod"]), []);
    });
    assert!(matches!(cluster.why("push"), WhyReport::Locks { .. }));
}

#[test]
fn lock_that_an_ancestor_takes_again_is_not_awaited() {
    let mut cluster = outer("prod");
    cluster.submit("next", |plan| plan.step("release", StepSpec::locking(["prod"]), []));
    cluster.kill("alpha");
    cluster.guard_ended("alpha");
    nested(&mut cluster, "inner", "deploy", |plan| {
        plan.step("push", StepSpec::locking(["prod"]), []);
    });
    assert_eq!(cluster.status("push"), StepStatus::Ready, "the lock is free");
    cluster.restart("alpha");
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    assert_eq!(cluster.status("push"), StepStatus::Failed);
}

#[test]
fn step_that_needs_the_key_of_an_ancestor_fails_at_once() {
    let once =
        || StepSpec { idempotency: Some(IdempotencySpec::with_key("day")), ..StepSpec::default() };
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.submit("outer", |plan| plan.step("report", once(), []));
    nested(&mut cluster, "inner", "report", |plan| plan.step("again", once(), []));
    let holder = AncestorStep { run: RunId(1), step: StepIx(0), name: "report".into() };
    let expected = StepSettlement::FailedAncestorKey { key: "day".into(), holder };
    assert_eq!(settlement(&cluster, "again"), Some(expected));
    cluster.finish("alpha", "report", Outcome::exit(0));
    assert_eq!(cluster.run_status("outer"), RunStatus::Succeeded);
}

#[test]
fn unknown_parents_and_cycles_are_ignored() {
    let mut cluster = outer("prod");
    for (number, parent) in [(7, RunId(99)), (8, RunId(8))] {
        let plan = PlanSketch::draw("odd", |plan| {
            plan.step("push", StepSpec::locking(["prod"]), []);
        });
        let mut submit = SubmitRun::new(RunId(number), plan);
        submit.options.parent = Some(ParentStep { run: parent, step: StepIx(0) });
        cluster.submit_whole(&format!("odd{number}"), submit);
    }
    let settled = cluster.journal.iter().filter(|it| matches!(it, Event::StepSettled(_))).count();
    assert_eq!(settled, 0);
    let event::RunSubmitted { options, .. } = cluster
        .journal
        .iter()
        .find_map(|event| match event {
            Event::RunSubmitted(it) if it.run == RunId(8) => Some(it.clone()),
            _ => None,
        })
        .expect("it was submitted");
    assert_eq!(options.parent.map(|parent| parent.run), Some(RunId(8)));
}
