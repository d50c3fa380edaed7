//! A worker registers again while its former incarnation may still run: on a copy of its state directory, or on a
//! cloned machine.

use windlass_core::engine::{EngineAnswer, WorkerStatus};
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::session::{FormerLifeProof, WorkerLocality, WorkerRefusal};
use windlass_core::time::Span;

use crate::session_worker::SessionWorker;
use crate::test_cluster::{TTL, TestCluster};

/// A worker `alpha` that runs a step with a lock beside others, and an idle `beta`.
fn locked_on_alpha() -> TestCluster {
    let mut crew = TestCluster::new().worker("alpha", 3, []);
    crew.submit("ship", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.plain("build", []);
    });
    let lost = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    crew.submit("bill", |plan| {
        plan.step("pay", StepSpec { retry: lost, ..StepSpec::default() }, []);
    });
    crew.join("beta", 3, []);
    assert_eq!(crew.running("alpha"), ["deploy", "build", "pay"]);
    crew
}

/// The state directory was copied: another host registers as the same worker, and the first one still runs its steps.
fn clone_of(crew: &TestCluster) -> SessionWorker {
    life_of(crew, 2, FormerLifeProof::Unknown)
}

fn life_of(crew: &TestCluster, incarnation: u64, former: FormerLifeProof) -> SessionWorker {
    let mut mate = crew.mates["alpha"].next_life();
    (mate.incarnation, mate.former) = (Incarnation(incarnation), former);
    mate
}

#[test]
fn new_incarnation_without_proof_frees_locks_by_time_only() {
    let mut crew = locked_on_alpha();
    crew.cut("alpha");
    crew.pass(Span::secs(5));
    let clone = clone_of(&crew);
    crew.enlist("clone", clone).unwrap();
    crew.pump();
    assert_eq!(
        crew.status("deploy"),
        StepStatus::Running,
        "the former incarnation may still run it"
    );
    assert_eq!(crew.status("pay"), StepStatus::Running);
    let twice = [crew.running("beta"), crew.running("clone")].concat();
    assert_eq!(twice, ["build"], "a step that may run twice is granted again");
    crew.pass(TTL.saturating_sub(Span::millis(5001)));
    assert_eq!(
        crew.status("deploy"),
        StepStatus::Running,
        "counted from the last contact of the former incarnation"
    );
    crew.pass(Span::millis(1));
    assert_eq!(crew.status("pay"), StepStatus::Failed);
    let holders = [crew.running("beta"), crew.running("clone")].concat();
    assert!(holders.contains(&"deploy".to_owned()), "{holders:?}");
}

#[test]
fn new_incarnation_that_proves_the_former_dead_frees_locks_at_once() {
    let mut crew = locked_on_alpha();
    crew.kill("alpha");
    crew.restart("alpha");
    assert_eq!(crew.status("pay"), StepStatus::Failed);
    let holders = [crew.running("beta"), crew.running("alpha")].concat();
    assert_eq!(holders, ["deploy", "build"]);
}

#[test]
fn death_proof_counts_only_for_the_incarnations_it_names() {
    let mut crew = locked_on_alpha();
    crew.cut("alpha");
    let first = crew.mates["alpha"].incarnation;
    let clone = life_of(&crew, 7, FormerLifeProof::Unknown);
    crew.enlist("clone", clone).unwrap();
    let back = FormerLifeProof::ProvenDead(vec![Incarnation(6), Incarnation(8)]);
    let back = life_of(&crew, 9, back);
    crew.enlist("back", back).unwrap();
    assert_eq!(
        crew.status("deploy"),
        StepStatus::Running,
        "incarnation {first} is not proven dead"
    );
    let proof = FormerLifeProof::ProvenDead(vec![first]);
    let again = life_of(&crew, 10, proof);
    crew.enlist("again", again).unwrap();
    assert_eq!(crew.status("deploy"), StepStatus::Ready);
}

#[test]
fn guard_of_a_superseded_incarnation_frees_its_leases() {
    let mut crew = locked_on_alpha();
    let old = crew.send("alpha");
    let clone = clone_of(&crew);
    crew.enlist("clone", clone).unwrap();
    assert_eq!(
        crew.arrive(&old)[0].body,
        Err(WorkerRefusal::Superseded),
        "the newer one has the session"
    );
    assert_eq!(crew.status("deploy"), StepStatus::Running);
    assert_eq!(crew.guard_ended("alpha"), EngineAnswer::Done);
    assert_eq!(crew.running("beta"), ["build", "deploy"]);
    assert_eq!(
        crew.engine.worker_status(WorkerId(1)),
        Some(WorkerStatus::Online),
        "the newer incarnation continues"
    );
}

#[test]
fn leases_of_a_former_incarnation_take_no_slot_and_outlive_a_takeover_by_a_ttl() {
    let mut crew = locked_on_alpha();
    crew.cut("alpha");
    let clone = clone_of(&crew);
    crew.enlist("clone", clone).unwrap();
    crew.submit("more", |plan| plan.plains(["x", "y", "z", "u", "v"]));
    assert_eq!(crew.running("clone").len(), 3);
    crew.pass(Span::secs(10));
    crew.take_over();
    crew.pass(TTL.saturating_sub(Span::millis(1)));
    assert_eq!(crew.status("deploy"), StepStatus::Running);
    crew.pass(Span::millis(1));
    assert_eq!(crew.status("deploy"), StepStatus::Ready, "every slot is taken");
}

/// A store in a folder was copied to a database, and that controller has a worker of its own.
#[test]
fn worker_in_the_process_of_a_former_leader_leaves_its_name_free() {
    let mut crew = TestCluster::new();
    let own = SessionWorker::new(100, "here", 2, &[], WorkerLocality::SharedFate);
    crew.enlist("old", own).unwrap();
    crew.submit("ship", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
    });
    crew.pump();
    assert_eq!(crew.running("old"), ["deploy"]);
    crew.cut("old");
    crew.take_over();
    assert_eq!(crew.engine.worker_status(WorkerId(100)), Some(WorkerStatus::Lost));
    crew.join("here", 2, []);
    assert_eq!(crew.status("deploy"), StepStatus::Running, "the copied store may have been in use");
    crew.pass(TTL);
    assert_eq!(crew.running("here"), ["deploy"]);
}
