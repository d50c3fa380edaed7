//! Runs that belong to a process: its worker runs their steps, and the leases of workers on the leader's host.

use windlass_core::engine::{EngineAnswer, EngineCall, RequestDenial, SubmitRun, WorkerStatus};
use windlass_core::id::{Incarnation, RunId};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::{PinTarget, Placement, StepSpec};
use windlass_core::requirement::WorkerScope;
use windlass_core::session::{FormerIncarnationProof, WorkerLocality};
use windlass_core::time::Span;

use crate::plan_sketch::PlanSketch;
use crate::session_worker::SessionWorker;
use crate::test_cluster::{TTL, TestCluster};

#[test]
fn steps_of_an_owned_run_go_to_its_owner_alone() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ann", |plan| plan.plains(["build", "test", "lint"]));
    cluster.submit_owned("bill", "ben", |plan| plan.plains(["pay", "mail"]));
    assert_eq!(cluster.running("ann"), ["build", "test"], "two slots");
    assert_eq!(cluster.running("ben"), ["pay", "mail"]);
    cluster.succeed(["pay", "mail"]);
    assert_eq!(cluster.running("ben"), [""; 0], "the third step is not its own");
    assert_eq!(cluster.run_status("bill"), RunStatus::Succeeded);
}

#[test]
fn worker_for_own_runs_serves_no_other_run() {
    let mut cluster = TestCluster::folder(["ann"]);
    cluster.submit("ship", |plan| plan.plains(["build"]));
    assert_eq!(cluster.status("build"), StepStatus::Ready);
    cluster.join("free", 1, []);
    assert_eq!(cluster.running("free"), ["build"]);
}

#[test]
fn shared_run_goes_to_its_owner_and_to_workers_for_all_runs() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.join("free", 1, []);
    let mut owner = cluster.owner("ann");
    owner.shares = true;
    cluster.submit_of("ship", owner, |plan| plan.plains(["a", "b", "c", "d"]));
    assert_eq!([cluster.running("ann").len(), cluster.running("free").len()], [2, 1]);
    assert_eq!(cluster.running("ben"), [""; 0]);
}

#[test]
fn pinned_step_of_an_owned_run_belongs_to_the_owner() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    let pin = Placement { pin: PinTarget::Leader, ..Placement::default() };
    cluster.submit_owned("ship", "ben", |plan| {
        plan.step("notify", StepSpec { placement: pin, ..StepSpec::default() }, []);
    });
    assert_eq!(cluster.running("ben"), ["notify"]);
}

#[test]
fn run_of_an_unknown_or_ended_owner_is_denied() {
    let mut cluster = TestCluster::folder(["ann"]);
    let mut submit = SubmitRun::new(RunId(1), PlanSketch::draw("ship", |plan| plan.plains(["a"])));
    for incarnation in [0, 2] {
        let mut owner = cluster.owner("ann");
        owner.incarnation = Incarnation(incarnation);
        submit.options.owner = Some(owner);
        let (request, _) = EngineCall::submit(submit.clone()).into_parts();
        let (worker, incarnation) = (owner.worker, owner.incarnation);
        let gone = RequestDenial::OwnerGone { worker, incarnation };
        assert_eq!(cluster.ask(request), EngineAnswer::Denied(gone));
    }
    cluster.kill("ann");
    cluster.guard_ended("ann");
    submit.options.owner = Some(cluster.owner("ann"));
    let (request, _) = EngineCall::submit(submit).into_parts();
    assert!(matches!(cluster.ask(request), EngineAnswer::Denied(RequestDenial::OwnerGone { .. })));
}

#[test]
fn lease_of_a_worker_on_the_same_host_outlives_silence_and_takeovers() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
    });
    cluster.cut("ben");
    cluster.pass(Span::hours(3));
    cluster.take_over_at(Some("ann"), TTL);
    cluster.pass(Span::hours(3));
    assert_eq!(cluster.running("ben"), ["deploy"]);
    assert_eq!(cluster.workers["ben"].stops, [], "the worker relies on its guard too");
    let ben = cluster.workers["ben"].id;
    assert_eq!(cluster.engine.worker_status(ben), Some(WorkerStatus::Online), "silence is no loss");
    cluster.heal("ben");
    cluster.succeed(["deploy"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn former_incarnation_on_the_same_host_keeps_its_lock_until_it_is_proven_dead() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
    });
    let mut next = cluster.workers["ben"].next_incarnation();
    next.former = FormerIncarnationProof::Unknown;
    cluster.enlist("ben2", next).unwrap();
    cluster.pump();
    cluster.pass(Span::hours(3));
    assert_eq!(cluster.status("deploy"), StepStatus::Running, "nothing proves that it is dead");
    assert_eq!(cluster.run_status("ship"), RunStatus::Running);
    cluster.guard_ended("ben");
    assert_eq!(cluster.run_status("ship"), RunStatus::Interrupted);
}

#[test]
fn node_that_does_not_allow_it_treats_such_a_worker_as_any_other() {
    let mut cluster = TestCluster::new();
    let mut mate = SessionWorker::new(1, "ann", 1, &[], WorkerLocality::SameHost);
    mate.scope = WorkerScope::OwnRuns;
    cluster.enlist("ann", mate).unwrap();
    cluster.submit_owned("ship", "ann", |plan| {
        plan.step("build", StepSpec { wait_for_worker: Span::hours(9), ..StepSpec::default() }, []);
    });
    cluster.cut("ann");
    cluster.pass(TTL);
    let ann = cluster.workers["ann"].id;
    assert_eq!(cluster.engine.worker_status(ann), Some(WorkerStatus::Lost));
    assert_eq!(cluster.status("build"), StepStatus::Ready, "its lease has expired");
    assert_eq!(cluster.run_status("ship"), RunStatus::Running, "a lost worker may return");
    cluster.pass(Span::hours(2));
    assert_eq!(cluster.run_status("ship"), RunStatus::Interrupted, "it was forgotten");
}
