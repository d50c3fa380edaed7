//! A worker registers again while its former incarnation may still run: on a copy of its state directory, or on a
//! cloned machine.

use windlass_core::engine::{EngineAnswer, WorkerStatus};
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::session::{FormerIncarnationProof, WorkerLocality, WorkerRefusal};
use windlass_core::time::Span;

use crate::session_worker::SessionWorker;
use crate::test_cluster::{TTL, TestCluster};

/// A worker `alpha` that runs a step with a lock beside others, and an idle `beta`.
fn locked_on_alpha() -> TestCluster {
    let mut cluster = TestCluster::new().worker("alpha", 3, []);
    cluster.submit("ship", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.plain("build", []);
    });
    let lost = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    cluster.submit("bill", |plan| {
        plan.step("pay", StepSpec { retry: lost, ..StepSpec::default() }, []);
    });
    cluster.join("beta", 3, []);
    assert_eq!(cluster.running("alpha"), ["deploy", "build", "pay"]);
    cluster
}

/// The state directory was copied: another host registers as the same worker, and the first one still runs its steps.
fn clone_of(cluster: &TestCluster) -> SessionWorker {
    incarnation_of(cluster, 2, FormerIncarnationProof::Unknown)
}

fn incarnation_of(
    cluster: &TestCluster,
    incarnation: u64,
    former: FormerIncarnationProof,
) -> SessionWorker {
    let mut mate = cluster.workers["alpha"].next_incarnation();
    (mate.incarnation, mate.former) = (Incarnation(incarnation), former);
    mate
}

#[test]
fn new_incarnation_without_proof_frees_locks_by_time_only() {
    let mut cluster = locked_on_alpha();
    cluster.cut("alpha");
    cluster.pass(Span::secs(5));
    let clone = clone_of(&cluster);
    cluster.enlist("clone", clone).unwrap();
    cluster.pump();
    assert_eq!(
        cluster.status("deploy"),
        StepStatus::Running,
        "the former incarnation may still run it"
    );
    assert_eq!(cluster.status("pay"), StepStatus::Running);
    let twice = [cluster.running("beta"), cluster.running("clone")].concat();
    assert_eq!(twice, ["build"], "a step that may run twice is granted again");
    cluster.pass(TTL.saturating_sub(Span::millis(5001)));
    assert_eq!(
        cluster.status("deploy"),
        StepStatus::Running,
        "counted from the last contact of the former incarnation"
    );
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("pay"), StepStatus::Failed);
    let holders = [cluster.running("beta"), cluster.running("clone")].concat();
    assert!(holders.contains(&"deploy".to_owned()), "{holders:?}");
}

#[test]
fn new_incarnation_that_proves_the_former_dead_frees_locks_at_once() {
    let mut cluster = locked_on_alpha();
    cluster.kill("alpha");
    cluster.restart("alpha");
    assert_eq!(cluster.status("pay"), StepStatus::Failed);
    let holders = [cluster.running("beta"), cluster.running("alpha")].concat();
    assert_eq!(holders, ["deploy", "build"]);
}

#[test]
fn death_proof_counts_only_for_the_incarnations_it_names() {
    let mut cluster = locked_on_alpha();
    cluster.cut("alpha");
    let first = cluster.workers["alpha"].incarnation;
    let clone = incarnation_of(&cluster, 7, FormerIncarnationProof::Unknown);
    cluster.enlist("clone", clone).unwrap();
    let back = FormerIncarnationProof::ProvenDead(vec![Incarnation(6), Incarnation(8)]);
    let back = incarnation_of(&cluster, 9, back);
    cluster.enlist("back", back).unwrap();
    assert_eq!(
        cluster.status("deploy"),
        StepStatus::Running,
        "incarnation {first} is not proven dead"
    );
    let proof = FormerIncarnationProof::ProvenDead(vec![first]);
    let again = incarnation_of(&cluster, 10, proof);
    cluster.enlist("again", again).unwrap();
    assert_eq!(cluster.status("deploy"), StepStatus::Ready);
}

#[test]
fn guard_of_a_superseded_incarnation_frees_its_leases() {
    let mut cluster = locked_on_alpha();
    let old = cluster.send("alpha");
    let clone = clone_of(&cluster);
    cluster.enlist("clone", clone).unwrap();
    assert_eq!(
        cluster.arrive(&old)[0].body,
        Err(WorkerRefusal::Superseded),
        "the newer one has the session"
    );
    assert_eq!(cluster.status("deploy"), StepStatus::Running);
    assert_eq!(cluster.guard_ended("alpha"), EngineAnswer::Done);
    assert_eq!(cluster.running("beta"), ["build", "deploy"]);
    assert_eq!(
        cluster.engine.worker_status(WorkerId(1)),
        Some(WorkerStatus::Online),
        "the newer incarnation continues"
    );
}

#[test]
fn leases_of_a_former_incarnation_take_no_slot_and_outlive_a_takeover_by_a_ttl() {
    let mut cluster = locked_on_alpha();
    cluster.cut("alpha");
    let clone = clone_of(&cluster);
    cluster.enlist("clone", clone).unwrap();
    cluster.submit("more", |plan| plan.plains(["x", "y", "z", "u", "v"]));
    assert_eq!(cluster.running("clone").len(), 3);
    cluster.pass(Span::secs(10));
    cluster.take_over();
    cluster.pass(TTL.saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("deploy"), StepStatus::Running);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("deploy"), StepStatus::Ready, "every slot is taken");
}

/// A store in a folder was copied to a database, and that controller has a worker of its own.
#[test]
fn worker_in_the_process_of_a_former_leader_leaves_its_name_free() {
    let mut cluster = TestCluster::new();
    let own = SessionWorker::new(100, "here", 2, &[], WorkerLocality::SharedFate);
    cluster.enlist("old", own).unwrap();
    cluster.submit("ship", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
    });
    cluster.pump();
    assert_eq!(cluster.running("old"), ["deploy"]);
    cluster.cut("old");
    cluster.take_over();
    assert_eq!(cluster.engine.worker_status(WorkerId(100)), Some(WorkerStatus::Lost));
    cluster.join("here", 2, []);
    assert_eq!(
        cluster.status("deploy"),
        StepStatus::Running,
        "the copied store may have been in use"
    );
    cluster.pass(TTL);
    assert_eq!(cluster.running("here"), ["deploy"]);
}
