//! Workers that vanish: their leases go to others, within bounds.

use windlass_core::engine::{
    EngineAnswer, EngineRequest, Event, WorkerContacts, WorkerStatus, event,
};
use windlass_core::id::WorkerId;
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::session::StopReason;
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

fn lost(lost: u16) -> StepSpec {
    StepSpec { retry: RetryPolicy { lost, ..RetryPolicy::default() }, ..StepSpec::default() }
}

#[test]
fn step_of_a_silent_worker_moves_to_another_after_the_ttl() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    assert_eq!(cluster.running("alpha"), ["build"]);
    cluster.join("beta", 1, []);
    cluster.cut("alpha");
    cluster.pass(TTL.saturating_sub(Span::millis(1)));
    assert!(cluster.running("beta").is_empty(), "not before the lease has ended");
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.running("beta"), ["build"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 lost 0 of 1 slots
    worker beta w2 i1 online 1 of 1 slots
    run 1 ship running
      build running attempt 1 delivery 2 losses 1 f2 on beta s3
      f1 GivenUp
    ");
}

#[test]
fn returning_worker_stops_steps_that_others_have_now() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.join("beta", 1, []);
    cluster.cut("alpha");
    cluster.pass(TTL);
    assert_eq!(cluster.engine.worker_status(WorkerId(1)), Some(WorkerStatus::Lost));
    cluster.heal("alpha");
    assert_eq!(cluster.engine.worker_status(WorkerId(1)), Some(WorkerStatus::Online));
    let stops = &cluster.workers["alpha"].stops;
    assert_eq!(stops.len(), 1);
    assert_eq!(stops[0].why, StopReason::Stale);
    cluster.finish("alpha", "build", Outcome::exit(143));
    cluster.succeed(["build"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn retry_elsewhere_uses_another_worker() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []).worker("beta", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    let flaky = StepSpec { retry, per_worker: Some(1), ..StepSpec::default() };
    cluster.submit("ship", |plan| {
        plan.step("test", flaky, []);
        plan.plain("long", []);
    });
    assert_eq!((cluster.running("alpha"), cluster.running("beta")), names(["test"], ["long"]));
    cluster.finish("alpha", "test", Outcome::exit(1));
    cluster.pass(Span::secs(30));
    assert_eq!(cluster.status("test"), StepStatus::Ready, "beta is busy, and alpha is avoided");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 2 slots
    worker beta w2 i1 online 1 of 1 slots
    run 1 ship running
      test ready attempt 2 delivery 0 losses 0 avoiding w1
      long running f2 on beta s1
      f1 Reported
    ");
    cluster.succeed(["long"]);
    assert_eq!(cluster.running("beta"), ["test"]);
    cluster.succeed(["test"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

fn names<const N: usize, const M: usize>(
    one: [&str; N],
    other: [&str; M],
) -> (Vec<String>, Vec<String>) {
    (one.map(str::to_owned).to_vec(), other.map(str::to_owned).to_vec())
}

#[test]
fn only_worker_retries_its_own_step() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    cluster.submit("ship", |plan| plan.step("test", StepSpec { retry, ..lost(3) }, []));
    cluster.finish("alpha", "test", Outcome::exit(1));
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.running("alpha"), ["test"]);
    cluster.succeed(["test"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_step_that_waits_too_long_for_another_worker_runs_where_it_failed() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    cluster.submit("ship", |plan| {
        plan.step("test", StepSpec { retry, per_worker: Some(1), ..lost(3) }, []);
        plan.plain("long", []);
    });
    cluster.finish("alpha", "test", Outcome::exit(1));
    cluster.pass(Span::secs(59));
    assert!(cluster.running("alpha").is_empty());
    cluster.pass(Span::secs(8));
    assert_eq!(cluster.running("alpha"), ["test"]);
}

#[test]
fn number_of_deliveries_is_bounded() {
    let mut cluster = TestCluster::new();
    cluster.submit("ship", |plan| {
        plan.step("poison", lost(2), []);
        plan.plain("after", ["poison"]);
    });
    for victim in ["alpha", "beta", "gamma"] {
        cluster.join(victim, 1, []);
        assert_eq!(cluster.running(victim), ["poison"]);
        cluster.kill(victim);
        cluster.guard_ended(victim);
    }
    cluster.join("delta", 1, []);
    cluster.pass(Span::mins(1));
    assert!(cluster.running("delta").is_empty());
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w1 i1 ended 0 of 1 slots
    worker beta w2 i1 ended 0 of 1 slots
    worker gamma w3 i1 ended 0 of 1 slots
    worker delta w4 i1 online 0 of 1 slots
    run 1 ship failed
      poison failed attempt 1 delivery 3 losses 2
      after blocked because of poison
      f1 GivenUp
      f2 GivenUp
      f3 GivenUp
    ");
}

#[test]
fn step_that_kills_its_worker_before_the_acknowledgement_is_bounded() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.kill("alpha");
    cluster.submit("ship", |plan| plan.plain("poison", []));
    for _ in 0..20 {
        let mate = cluster.workers["alpha"].next_incarnation();
        cluster.enlist("alpha", mate).expect("a restarted worker takes over");
        let exchange = cluster.send("alpha");
        let replies = cluster.arrive(&exchange);
        cluster.deliver(replies);
        cluster.kill("alpha");
    }
    let granted = cluster.journal.iter().filter(|event| matches!(event, Event::Granted(_)));
    assert_eq!(granted.count(), 12, "eight unacknowledged ones, one more and three repeats");
}

#[test]
fn step_that_kills_its_leader_and_its_worker_is_bounded() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("poison", lost(2), []));
    for _ in 0..20 {
        cluster.kill("alpha");
        cluster.take_over();
        cluster.restart("alpha");
    }
    let granted = cluster.journal.iter().filter(|event| matches!(event, Event::Granted(_)));
    assert_eq!(granted.count(), 11, "eight that are free, and three that count");
    assert_eq!(cluster.status("poison"), StepStatus::Failed);
}

#[test]
fn step_that_must_not_be_redelivered_fails_with_its_worker() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    cluster.submit("ship", |plan| plan.step("deploy", lost(0), []));
    cluster.kill("alpha");
    cluster.pass(TTL);
    assert!(cluster.running("beta").is_empty());
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 lost 0 of 1 slots
    worker beta w2 i1 online 0 of 1 slots
    run 1 ship failed
      deploy failed
      f1 GivenUp
    ");
}

#[test]
fn guard_report_frees_the_steps_of_a_dead_worker_at_once_and_unstarted_ones_cost_no_delivery() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plains(["begun", "ahead"]));
    assert_eq!(cluster.running("alpha"), ["begun"]);
    assert_eq!(cluster.status("ahead"), StepStatus::Leased);
    cluster.kill("alpha");
    cluster.guard_ended("alpha");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 ended 0 of 1 slots
    run 1 ship running
      begun ready attempt 1 delivery 1 losses 1
      ahead ready
      f1 GivenUp
      f2 GivenUp
    ");
    cluster.join("beta", 2, []);
    cluster.succeed(["begun", "ahead"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn step_that_must_not_run_twice_is_released_if_the_guard_reports_that_it_never_started() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.cut("alpha");
    cluster.submit("ship", |plan| plan.step("deploy", lost(0), []));
    assert_eq!(cluster.status("deploy"), StepStatus::Leased, "in a reply that is lost");
    cluster.kill("alpha");
    cluster.guard_ended("alpha");
    assert_eq!(cluster.status("deploy"), StepStatus::Ready);
    cluster.join("beta", 1, []);
    assert_eq!(cluster.running("beta"), ["deploy"]);
}

#[test]
fn many_vanished_workers_are_declared_lost_one_by_one() {
    let mut cluster = TestCluster::new();
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    for name in names {
        cluster.join(name, 1, []);
    }
    cluster.pass(Span::secs(30));
    for name in names {
        cluster.cut(name);
    }
    let lost = |cluster: &TestCluster| {
        let ids = cluster.workers.values().map(|mate| mate.id);
        ids.filter(|id| cluster.engine.worker_status(*id) == Some(WorkerStatus::Lost)).count()
    };
    cluster.pass(TTL);
    assert_eq!(lost(&cluster), 1);
    cluster.pass(Span::secs(1));
    assert_eq!(lost(&cluster), 2);
    let braked = cluster.journal.iter().filter(|event| matches!(event, Event::Braked(_)));
    assert_eq!(
        braked.cloned().collect::<Vec<_>>(),
        [Event::Braked(event::Braked { late: 7, of: 7 })]
    );
    for name in names {
        cluster.heal(name);
    }
    cluster.pass(Span::mins(1));
    assert_eq!(lost(&cluster), 0, "the fault has passed, and most were never given up");
    assert!(cluster.journal.iter().filter(|it| matches!(it, Event::WorkerLost(_))).count() <= 3);
}

#[test]
fn few_vanished_workers_are_declared_lost_together() {
    let mut cluster = TestCluster::new();
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        cluster.join(name, 1, []);
    }
    for name in ["a", "b", "c"] {
        cluster.cut(name);
    }
    cluster.pass(TTL);
    let lost = cluster.journal.iter().filter(|event| matches!(event, Event::WorkerLost(_)));
    assert_eq!(lost.count(), 3);
}

fn contacts(cluster: &mut TestCluster) -> WorkerContacts {
    let EngineAnswer::Contacts(contacts) = cluster.ask(EngineRequest::Contacts) else {
        panic!("it is a question")
    };
    contacts
}

#[test]
fn leader_records_last_contact_of_each_worker() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    let at = |cluster: &mut TestCluster| {
        contacts(cluster).heard.iter().map(|(_, at)| *at).collect::<Vec<_>>()
    };
    let before = at(&mut cluster);
    cluster.cut("alpha");
    cluster.pass(TTL.divided_by(2));
    let after = at(&mut cluster);
    assert_eq!(after[0], before[0], "alpha is not heard any more");
    assert!(after[1] > before[1], "beta is");
    assert_eq!(contacts(&mut cluster).last_contact(WorkerId(u64::MAX)), None);
}

/// Returns each worker's name and status.
fn standings(cluster: &mut TestCluster) -> String {
    let contacts = contacts(cluster);
    let workers = cluster.engine.workers();
    let words = workers
        .map(|worker| format!("{} {}", worker.name, worker.contact_status(&contacts.silent)));
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn worker_that_missed_two_exchanges_is_stale_before_it_is_lost() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    cluster.cut("alpha");
    cluster.pass(TTL.divided_by(3).times(2));
    assert_eq!(standings(&mut cluster), "alpha online, beta online");
    cluster.pass(Span::millis(1));
    assert_eq!(standings(&mut cluster), "alpha stale, beta online");
    cluster.heal("alpha");
    assert_eq!(standings(&mut cluster), "alpha online, beta online");
    cluster.ask(EngineRequest::Drain { worker: WorkerId(1) });
    cluster.cut("alpha");
    assert_eq!(standings(&mut cluster), "alpha draining, beta online");
    cluster.pass(TTL.saturating_sub(Span::secs(1)));
    assert_eq!(standings(&mut cluster), "alpha stale, beta online");
    cluster.pass(Span::secs(1));
    assert_eq!(standings(&mut cluster), "alpha lost, beta online");
}

#[test]
fn new_leader_reports_no_worker_stale_before_a_contact_interval() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.cut("alpha");
    cluster.pass(Span::secs(12));
    assert_eq!(standings(&mut cluster), "alpha stale");
    cluster.take_over();
    assert_eq!(standings(&mut cluster), "alpha online");
    cluster.pass(Span::secs(12));
    assert_eq!(standings(&mut cluster), "alpha stale");
}
