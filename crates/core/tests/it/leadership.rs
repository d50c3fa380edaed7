//! Takeovers: running steps continue, and leases that no worker confirms end.

use windlass_core::engine::{EngineAnswer, EngineRequest, ProvenTime, RequestDenial, StoreHistory};
use windlass_core::id::{Fence, Seq, Term};
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::{Placement, RetryPolicy, StepSpec};
use windlass_core::session::Exchange;
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

#[test]
fn lease_presented_to_the_new_leader_continues() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.pass(Span::secs(3));
    cluster.take_over();
    insta::assert_snapshot!(cluster.text(), @r"
    term t2 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      build running f1 on alpha s1 of t1 unconfirmed since 1203.000
    ");
    cluster.exchange("alpha");
    insta::assert_snapshot!(cluster.text(), @r"
    term t2 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 1 slots
    run 1 ship running
      build running f1 on alpha s1
    ");
    cluster.pass(Span::mins(2));
    cluster.succeed(["build"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn unconfirmed_lease_ends_a_ttl_after_the_first_takeover() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.join("beta", 1, []);
    cluster.cut("alpha");
    cluster.pass(Span::secs(10));
    cluster.take_over();
    cluster.pass(Span::secs(10));
    assert_eq!(cluster.status("build"), StepStatus::Running, "the old deadline no longer counts");
    cluster.take_over();
    cluster.exchange("beta");
    cluster.pass(Span::secs(5).saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("build"), StepStatus::Running);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.running("beta"), ["build"], "a TTL after the first, not the second");
    insta::assert_snapshot!(cluster.text(), @r"
    term t3 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 1 slots
    worker beta w2 i1 online 1 of 1 slots
    run 1 ship running
      build running attempt 1 delivery 2 losses 0 f2 on beta s7
      f1 GivenUp
    ");
}

#[test]
fn a_lease_that_a_takeover_interrupted_costs_no_delivery() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    for _ in 0..6 {
        cluster.kill("alpha");
        cluster.take_over();
        cluster.pass(TTL);
        assert_eq!(cluster.status("build"), StepStatus::Ready);
        cluster.restart("alpha");
        assert_eq!(cluster.running("alpha"), ["build"]);
    }
    insta::assert_snapshot!(cluster.text(), @r"
    term t7 ttl 15s fences 7
    worker alpha w1 i7 online 1 of 1 slots
    run 1 ship running
      build running attempt 1 delivery 7 losses 0 f7 on alpha s1
      f1 GivenUp
      f2 GivenUp
      f3 GivenUp
      f4 GivenUp
      f5 GivenUp
      f6 GivenUp
    ");
}

#[test]
fn a_step_that_must_not_run_twice_fails_even_if_a_takeover_interrupted_it() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let retry = windlass_core::plan::RetryPolicy { lost: 0, ..Default::default() };
    cluster
        .submit("ship", |plan| plan.step("deploy", StepSpec { retry, ..Default::default() }, []));
    cluster.kill("alpha");
    cluster.take_over();
    cluster.pass(TTL);
    assert_eq!(cluster.status("deploy"), StepStatus::Failed);
}

#[test]
fn a_term_that_is_not_newer_is_denied() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.take_over();
    let before = cluster.text();
    let lead = EngineRequest::Lead {
        term: Term(2),
        ttl: TTL,
        generation: 0,
        own: None,
        history: StoreHistory::Unbroken,
        proven: ProvenTime::ALL,
    };
    let stale = RequestDenial::StaleTerm { asked: Term(2), known: Term(2) };
    assert_eq!(cluster.ask(lead), EngineAnswer::Denied(stale));
    assert_eq!(cluster.text(), before);
}

#[test]
fn locks_stay_with_their_holders_over_a_takeover() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("one", StepSpec::locking(["prod"]), []);
        plan.step("two", StepSpec::locking(["prod"]), []);
    });
    assert_eq!(cluster.status("two"), StepStatus::Ready);
    cluster.take_over();
    cluster.exchange("beta");
    assert_eq!(cluster.status("two"), StepStatus::Ready, "alpha has not been heard yet");
    cluster.exchange("alpha");
    cluster.succeed(["one", "two"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn new_leader_with_a_shorter_ttl_waits_for_the_longer_one() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["prod"]), []));
    cluster.join("beta", 1, []);
    cluster.take_over_at(None, Span::secs(6));
    cluster.exchange("alpha");
    cluster.exchange("beta");
    let fence = cluster.fence("deploy");
    cluster.cut("alpha");
    let deadline = cluster.mate("alpha").session().deadline(fence).expect("it must not outlive it");
    let deadline = deadline.kills_at;
    cluster.pass(deadline.since(cluster.now));
    assert!(cluster.running("beta").is_empty(), "alpha may still hold the lock until its deadline");
}

#[test]
fn a_takeover_in_the_middle_of_a_cascade_finishes_it() {
    let config = windlass_core::engine::EngineConfig { batch_max: 8, ..Default::default() };
    let mut cluster = TestCluster::with(config).worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.chain("link", 100));
    let report = {
        cluster.cut("alpha");
        cluster.finish("alpha", "link0", windlass_core::outcome::Outcome::exit(1));
        cluster.mate("alpha").cut = false;
        cluster.send("alpha")
    };
    cluster.arrive(&report);
    assert_eq!(cluster.status("link99"), StepStatus::Waiting, "the first decision is full");
    cluster.take_over();
    cluster.pass(Span::ZERO);
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.status("link99"), StepStatus::Blocked);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

/// Lets both workers exchange with the new leader.
fn take_over(cluster: &mut TestCluster) {
    cluster.take_over();
    cluster.exchange("alpha");
    cluster.exchange("beta");
}

#[test]
fn a_step_that_failed_on_one_worker_is_tried_on_another_under_a_new_leader_too() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []).worker("beta", 1, []);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    cluster.submit("ship", |plan| {
        plan.step("test", StepSpec { retry, per_worker: Some(1), ..StepSpec::default() }, []);
        plan.plain("long", []);
    });
    assert_eq!(
        (cluster.running("alpha"), cluster.running("beta")),
        (vec!["test".into()], vec!["long".into()])
    );
    cluster.finish("alpha", "test", Outcome::exit(1));
    take_over(&mut cluster);
    cluster.pass(Span::secs(30));
    assert_eq!(cluster.status("test"), StepStatus::Ready, "alpha has room, and is avoided");
    cluster.succeed(["long"]);
    assert_eq!(cluster.running("beta"), ["test"]);
}

#[test]
fn per_worker_limit_counts_grants_of_a_former_leader() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 4, []);
    let gentle = |_: &str| StepSpec { per_worker: Some(1), ..StepSpec::default() };
    cluster.submit("ship", |plan| plan.matrix("load", ["1", "2", "3"], gentle));
    take_over(&mut cluster);
    cluster.pass(Span::secs(10));
    let (alpha, beta) = (cluster.running("alpha"), cluster.running("beta"));
    assert_eq!((alpha, beta), (vec!["load[1]".into()], vec!["load[2]".into()]));
    cluster.succeed(["load[2]"]);
    assert_eq!(cluster.running("beta"), ["load[3]"]);
}

#[test]
fn nodes_are_allowed_and_denied_under_a_new_leader_too() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 4, []);
    let only = |allow: &[&str], deny: &[&str]| {
        let names = |list: &[&str]| list.iter().map(|name| (*name).into()).collect();
        let placement =
            Placement { allow: names(allow), deny: names(deny), ..Placement::default() };
        StepSpec { placement, ..StepSpec::default() }
    };
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("allowed", only(&["beta"], &[]), ["build"]);
        plan.step("denied", only(&[], &["beta"]), ["build"]);
        plan.step("nobody", only(&["gamma"], &[]), []);
    });
    take_over(&mut cluster);
    cluster.succeed(["build"]);
    cluster.pass(Span::secs(10));
    assert_eq!(
        (cluster.running("alpha"), cluster.running("beta")),
        (vec!["denied".into()], vec!["allowed".into()])
    );
    assert_eq!(cluster.status("nobody"), StepStatus::Ready);
    cluster.join("gamma", 1, []);
    assert_eq!(cluster.running("gamma"), ["nobody"]);
}

/// The store was restored from a copy: it lacks the newest grants, and would repeat them.
#[test]
fn lease_newer_than_the_journal_begins_another_generation() {
    let mut cluster = TestCluster::new().worker("alpha", 2, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let mut exchange = cluster.send("alpha");
    let mut lost = exchange.in_flight[0];
    lost.lease.fence = Fence(lost.lease.fence.0 + 3);
    exchange.in_flight.push(lost);
    let replies = cluster.arrive(&exchange);
    cluster.deliver(replies);
    cluster.submit("next", |plan| plan.plain("test", []));
    cluster.exchange("alpha");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 76800001
    worker alpha w1 i1 online 2 of 2 slots
    run 1 ship running
      build running f1 on alpha s1
    run 2 next running
      test running f1.76800001 on alpha s4
    ");
    assert_eq!(
        cluster.fence("test"),
        Fence::new(1, 76_800_001),
        "it is greater than any that was lost"
    );
    // Repeating it has no further effect, and a store of that generation can be led.
    let again = Exchange { seq: Seq(exchange.seq.0 + 9), ..exchange };
    cluster.arrive(&again);
    assert_eq!(cluster.fence("test").generation(), 1);
}
