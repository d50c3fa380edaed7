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
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    assert_eq!(crew.running("alpha"), ["build"]);
    crew.join("beta", 1, []);
    crew.cut("alpha");
    crew.pass(TTL.saturating_sub(Span::millis(1)));
    assert!(crew.running("beta").is_empty(), "not before the lease has ended");
    crew.pass(Span::millis(1));
    assert_eq!(crew.running("beta"), ["build"]);
    insta::assert_snapshot!(crew.text(), @r"
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
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plain("build", []));
    crew.join("beta", 1, []);
    crew.cut("alpha");
    crew.pass(TTL);
    assert_eq!(crew.engine.worker_status(WorkerId(1)), Some(WorkerStatus::Lost));
    crew.heal("alpha");
    assert_eq!(crew.engine.worker_status(WorkerId(1)), Some(WorkerStatus::Online));
    let stops = &crew.mates["alpha"].stops;
    assert_eq!(stops.len(), 1);
    assert_eq!(stops[0].why, StopReason::Stale);
    crew.finish("alpha", "build", Outcome::exit(143));
    crew.succeed(["build"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn retry_elsewhere_uses_another_worker() {
    let mut crew = TestCluster::new().worker("alpha", 2, []).worker("beta", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    let flaky = StepSpec { retry, per_worker: Some(1), ..StepSpec::default() };
    crew.submit("ship", |plan| {
        plan.step("test", flaky, []);
        plan.plain("long", []);
    });
    assert_eq!((crew.running("alpha"), crew.running("beta")), names(["test"], ["long"]));
    crew.finish("alpha", "test", Outcome::exit(1));
    crew.pass(Span::secs(30));
    assert_eq!(crew.status("test"), StepStatus::Ready, "beta is busy, and alpha is avoided");
    insta::assert_snapshot!(crew.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 2 slots
    worker beta w2 i1 online 1 of 1 slots
    run 1 ship running
      test ready attempt 2 delivery 0 losses 0 avoiding w1
      long running f2 on beta s1
      f1 Reported
    ");
    crew.succeed(["long"]);
    assert_eq!(crew.running("beta"), ["test"]);
    crew.succeed(["test"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

fn names<const N: usize, const M: usize>(
    one: [&str; N],
    other: [&str; M],
) -> (Vec<String>, Vec<String>) {
    (one.map(str::to_owned).to_vec(), other.map(str::to_owned).to_vec())
}

#[test]
fn only_worker_retries_its_own_step() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    crew.submit("ship", |plan| plan.step("test", StepSpec { retry, ..lost(3) }, []));
    crew.finish("alpha", "test", Outcome::exit(1));
    crew.pass(Span::secs(1));
    assert_eq!(crew.running("alpha"), ["test"]);
    crew.succeed(["test"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_step_that_waits_too_long_for_another_worker_runs_where_it_failed() {
    let mut crew = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    crew.submit("ship", |plan| {
        plan.step("test", StepSpec { retry, per_worker: Some(1), ..lost(3) }, []);
        plan.plain("long", []);
    });
    crew.finish("alpha", "test", Outcome::exit(1));
    crew.pass(Span::secs(59));
    assert!(crew.running("alpha").is_empty());
    crew.pass(Span::secs(8));
    assert_eq!(crew.running("alpha"), ["test"]);
}

#[test]
fn number_of_deliveries_is_bounded() {
    let mut crew = TestCluster::new();
    crew.submit("ship", |plan| {
        plan.step("poison", lost(2), []);
        plan.plain("after", ["poison"]);
    });
    for victim in ["alpha", "beta", "gamma"] {
        crew.join(victim, 1, []);
        assert_eq!(crew.running(victim), ["poison"]);
        crew.kill(victim);
        crew.guard_ended(victim);
    }
    crew.join("delta", 1, []);
    crew.pass(Span::mins(1));
    assert!(crew.running("delta").is_empty());
    insta::assert_snapshot!(crew.text(), @r"
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
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.kill("alpha");
    crew.submit("ship", |plan| plan.plain("poison", []));
    for _ in 0..20 {
        let mate = crew.mates["alpha"].next_life();
        crew.enlist("alpha", mate).expect("a restarted worker takes over");
        let exchange = crew.send("alpha");
        let replies = crew.arrive(&exchange);
        crew.deliver(replies);
        crew.kill("alpha");
    }
    let granted = crew.journal.iter().filter(|event| matches!(event, Event::Granted(_)));
    assert_eq!(granted.count(), 12, "eight unacknowledged ones, one more and three repeats");
}

#[test]
fn step_that_kills_its_leader_and_its_worker_is_bounded() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.step("poison", lost(2), []));
    for _ in 0..20 {
        crew.kill("alpha");
        crew.take_over();
        crew.restart("alpha");
    }
    let granted = crew.journal.iter().filter(|event| matches!(event, Event::Granted(_)));
    assert_eq!(granted.count(), 11, "eight that are free, and three that count");
    assert_eq!(crew.status("poison"), StepStatus::Failed);
}

#[test]
fn step_that_must_not_be_redelivered_fails_with_its_worker() {
    let mut crew = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    crew.submit("ship", |plan| plan.step("deploy", lost(0), []));
    crew.kill("alpha");
    crew.pass(TTL);
    assert!(crew.running("beta").is_empty());
    insta::assert_snapshot!(crew.text(), @r"
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
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.plains(["begun", "ahead"]));
    assert_eq!(crew.running("alpha"), ["begun"]);
    assert_eq!(crew.status("ahead"), StepStatus::Leased);
    crew.kill("alpha");
    crew.guard_ended("alpha");
    insta::assert_snapshot!(crew.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 ended 0 of 1 slots
    run 1 ship running
      begun ready attempt 1 delivery 1 losses 1
      ahead ready
      f1 GivenUp
      f2 GivenUp
    ");
    crew.join("beta", 2, []);
    crew.succeed(["begun", "ahead"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn step_that_must_not_run_twice_is_released_if_the_guard_reports_that_it_never_started() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.cut("alpha");
    crew.submit("ship", |plan| plan.step("deploy", lost(0), []));
    assert_eq!(crew.status("deploy"), StepStatus::Leased, "in a reply that is lost");
    crew.kill("alpha");
    crew.guard_ended("alpha");
    assert_eq!(crew.status("deploy"), StepStatus::Ready);
    crew.join("beta", 1, []);
    assert_eq!(crew.running("beta"), ["deploy"]);
}

#[test]
fn many_vanished_workers_are_declared_lost_one_by_one() {
    let mut crew = TestCluster::new();
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    for name in names {
        crew.join(name, 1, []);
    }
    crew.pass(Span::secs(30));
    for name in names {
        crew.cut(name);
    }
    let lost = |crew: &TestCluster| {
        let ids = crew.mates.values().map(|mate| mate.id);
        ids.filter(|id| crew.engine.worker_status(*id) == Some(WorkerStatus::Lost)).count()
    };
    crew.pass(TTL);
    assert_eq!(lost(&crew), 1);
    crew.pass(Span::secs(1));
    assert_eq!(lost(&crew), 2);
    let braked = crew.journal.iter().filter(|event| matches!(event, Event::Braked(_)));
    assert_eq!(
        braked.cloned().collect::<Vec<_>>(),
        [Event::Braked(event::Braked { late: 7, of: 7 })]
    );
    for name in names {
        crew.heal(name);
    }
    crew.pass(Span::mins(1));
    assert_eq!(lost(&crew), 0, "the fault has passed, and most were never given up");
    assert!(crew.journal.iter().filter(|it| matches!(it, Event::WorkerLost(_))).count() <= 3);
}

#[test]
fn few_vanished_workers_are_declared_lost_together() {
    let mut crew = TestCluster::new();
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        crew.join(name, 1, []);
    }
    for name in ["a", "b", "c"] {
        crew.cut(name);
    }
    crew.pass(TTL);
    let lost = crew.journal.iter().filter(|event| matches!(event, Event::WorkerLost(_)));
    assert_eq!(lost.count(), 3);
}

fn contacts(crew: &mut TestCluster) -> WorkerContacts {
    let EngineAnswer::Contacts(contacts) = crew.ask(EngineRequest::Contacts) else {
        panic!("it is a question")
    };
    contacts
}

#[test]
fn leader_records_last_contact_of_each_worker() {
    let mut crew = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    let at =
        |crew: &mut TestCluster| contacts(crew).heard.iter().map(|(_, at)| *at).collect::<Vec<_>>();
    let before = at(&mut crew);
    crew.cut("alpha");
    crew.pass(TTL.divided_by(2));
    let after = at(&mut crew);
    assert_eq!(after[0], before[0], "alpha is not heard any more");
    assert!(after[1] > before[1], "beta is");
    assert_eq!(contacts(&mut crew).last_contact(WorkerId(u64::MAX)), None);
}

/// Returns each worker's name and status.
fn standings(crew: &mut TestCluster) -> String {
    let contacts = contacts(crew);
    let workers = crew.engine.workers();
    let words = workers
        .map(|worker| format!("{} {}", worker.name, worker.contact_status(&contacts.silent)));
    words.collect::<Vec<_>>().join(", ")
}

#[test]
fn worker_that_missed_two_exchanges_is_stale_before_it_is_lost() {
    let mut crew = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    crew.cut("alpha");
    crew.pass(TTL.divided_by(3).times(2));
    assert_eq!(standings(&mut crew), "alpha online, beta online");
    crew.pass(Span::millis(1));
    assert_eq!(standings(&mut crew), "alpha stale, beta online");
    crew.heal("alpha");
    assert_eq!(standings(&mut crew), "alpha online, beta online");
    crew.ask(EngineRequest::Drain { worker: WorkerId(1) });
    crew.cut("alpha");
    assert_eq!(standings(&mut crew), "alpha draining, beta online");
    crew.pass(TTL.saturating_sub(Span::secs(1)));
    assert_eq!(standings(&mut crew), "alpha stale, beta online");
    crew.pass(Span::secs(1));
    assert_eq!(standings(&mut crew), "alpha lost, beta online");
}

#[test]
fn new_leader_reports_no_worker_stale_before_a_contact_interval() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.cut("alpha");
    crew.pass(Span::secs(12));
    assert_eq!(standings(&mut crew), "alpha stale");
    crew.take_over();
    assert_eq!(standings(&mut crew), "alpha online");
    crew.pass(Span::secs(12));
    assert_eq!(standings(&mut crew), "alpha stale");
}
