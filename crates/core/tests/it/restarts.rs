//! Restarted workers, names that are taken, and former incarnations.

use windlass_core::engine::{EngineAnswer, Event, event};
use windlass_core::id::{Incarnation, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};
use windlass_core::session::{
    OutcomeVerdict, SessionAction, StopMode, StopOrder, StopReason, WorkerLocality, WorkerRefusal,
};
use windlass_core::time::Span;

use crate::session_worker::SessionWorker;
use crate::test_cluster::{TTL, TestCluster};

#[test]
fn restarted_worker_takes_over_at_once_after_its_spooled_outcomes() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| {
        plan.plains(["done", "begun"]);
        plan.plain("after", ["done"]);
    });
    cluster.cut("alpha");
    cluster.finish("alpha", "done", Outcome::exit(0));
    cluster.kill("alpha");
    cluster.restart("alpha");
    assert_eq!(cluster.status("done"), StepStatus::Succeeded, "from the spool");
    assert_eq!(cluster.running("alpha"), ["after", "begun"], "`begun` is lost and granted again");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i2 online 2 of 2 slots
    run 1 ship running
      done succeeded
      begun running attempt 1 delivery 2 losses 1 f4 on alpha s1
      after running f3 on alpha s1
      f2 GivenUp
    ");
}

#[test]
fn dropped_worker_still_gets_a_verdict_for_each_spooled_outcome() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.cut("alpha");
    cluster.finish("alpha", "build", Outcome::exit(0));
    cluster.pass(TTL + Span::hours(1));
    assert_eq!(cluster.engine.worker_status(WorkerId(1)), None, "forgotten");
    let mate = cluster.workers["alpha"].next_incarnation();
    let spooled: Vec<_> = mate.register().spooled;
    let answer = cluster.ask(windlass_core::engine::EngineRequest::Register(mate.register()));
    let EngineAnswer::Registered(reply) = answer else {
        panic!("it may join again: {answer:?}");
    };
    assert_eq!(reply.verdicts, [(spooled[0].lease.fence, OutcomeVerdict::Stale)]);
}

#[test]
fn former_incarnation_of_a_restarted_worker_is_refused() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let old = cluster.send("alpha");
    cluster.restart("alpha");
    let replies = cluster.arrive(&old);
    assert_eq!(replies[0].body, Err(WorkerRefusal::Superseded));
}

#[test]
fn a_second_worker_of_the_same_name_is_refused_while_the_first_is_live() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let twin = || SessionWorker::new(9, "alpha", 1, &[], WorkerLocality::Apart);
    let refused = cluster.enlist("twin", twin());
    assert_eq!(refused, Err(WorkerRefusal::NameTaken { name: "alpha".into(), by: WorkerId(1) }));
    cluster.cut("alpha");
    cluster.pass(TTL.saturating_sub(Span::millis(1)));
    assert!(cluster.enlist("twin", twin()).is_err(), "it may still be there");
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.enlist("twin", twin()), Ok(()));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 0
    worker alpha w1 i1 lost 0 of 1 slots
    worker alpha w9 i1 online 0 of 1 slots
    ");
}

#[test]
fn a_worker_without_slots_and_one_too_many_are_refused() {
    let config = windlass_core::engine::EngineConfig { workers_max: 1, ..Default::default() };
    let mut cluster = TestCluster::with(config);
    assert_eq!(
        cluster.join_at("alpha", 0, [], WorkerLocality::Apart),
        Err(WorkerRefusal::BadSlots(0))
    );
    cluster.join("alpha", 1, []);
    assert_eq!(
        cluster.join_at("beta", 1, [], WorkerLocality::Apart),
        Err(WorkerRefusal::TooManyWorkers(1))
    );
}

#[test]
fn incarnation_ended_by_its_guard_is_refused_and_the_next_may_join() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let last = cluster.send("alpha");
    assert_eq!(cluster.guard_ended("alpha"), EngineAnswer::Done);
    assert_eq!(cluster.arrive(&last)[0].body, Err(WorkerRefusal::Ended));
    assert_eq!(cluster.guard_ended("alpha"), EngineAnswer::Done, "twice is once");
    let ended = cluster.journal.iter().filter(|event| matches!(event, Event::WorkerEnded(_)));
    assert_eq!(ended.count(), 1);
    cluster.restart("alpha");
    assert_eq!(cluster.workers["alpha"].incarnation, Incarnation(2));
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 0
    worker alpha w1 i2 online 0 of 1 slots
    ");
}

/// The worker's deadline counts from before an exchange that the leader parks for an interval, so renewals must come
/// earlier.
#[test]
fn step_with_a_lock_continues_while_the_leader_answers_and_if_one_exchange_is_lost() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("deploy", windlass_core::plan::StepSpec::locking(["prod"]), []);
    });
    cluster.pass(Span::mins(2));
    cluster.cut("alpha");
    cluster.pass(TTL.divided_by(5));
    cluster.heal("alpha");
    cluster.pass(Span::mins(2));
    assert!(cluster.workers["alpha"].stops.is_empty());
    assert_eq!(cluster.running("alpha"), ["deploy"]);
}

#[test]
fn abandoning_worker_returns_waiting_leases_and_kills_running_steps() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
    });
    let actions = cluster.mate("alpha").session().abandon_all();
    let fence = cluster.fence("build");
    let stop = StopOrder { fence, how: StopMode::Kill, why: StopReason::Stale };
    assert_eq!(actions, [SessionAction::Stop(stop)]);
    cluster.join("beta", 1, []);
    cluster.finish("alpha", "build", Outcome::exit(137));
    assert_eq!(cluster.running("beta"), ["build"]);
    assert!(
        cluster.mate("alpha").session().unacknowledged_outcomes().is_empty(),
        "it has every verdict"
    );
}

#[test]
fn step_with_a_lock_is_killed_by_its_worker_before_the_next_lease() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("deploy", windlass_core::plan::StepSpec::locking(["prod"]), []);
    });
    cluster.join("beta", 1, []);
    let fence = cluster.fence("deploy");
    cluster.cut("alpha");
    let deadline = cluster.mate("alpha").session().deadline(fence).expect("it must not outlive it");
    let deadline = deadline.kills_at;
    assert!(deadline < cluster.now + TTL);
    let left = deadline.since(cluster.now);
    cluster.pass(left);
    let how: Vec<_> = cluster.workers["alpha"].stops.iter().map(|stop| stop.how).collect();
    assert_eq!(
        how,
        [windlass_core::session::StopMode::Term, windlass_core::session::StopMode::Kill]
    );
    assert!(cluster.running("beta").is_empty());
    cluster.finish("alpha", "deploy", Outcome::exit(137));
    cluster.pass(TTL.saturating_sub(left));
    assert_eq!(cluster.running("beta"), ["deploy"]);
    cluster.heal("alpha");
    cluster.succeed(["deploy"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    let late = cluster.journal.iter().find_map(|event| match event {
        Event::LateOutcome(event::LateOutcome { outcome, .. }) => Some(outcome.kind),
        _ => None,
    });
    assert_eq!(late, Some(OutcomeKind::Lost), "it was stopped for lost contact, not by itself");
}
