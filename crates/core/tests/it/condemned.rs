//! Runs that an operator has condemned: the store is folded without them, and they fail.

use windlass_core::engine::{
    CancelReason, Engine, EngineAnswer, EngineRequest, Event, LEASE_TTL_MAX, RequestDenial,
    RunOptions, SubmitRun, event,
};
use windlass_core::id::RunId;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::report::WhyReport;
use windlass_core::session::{StopMode, StopOrder, StopReason};
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

fn two_workers() -> TestCluster {
    TestCluster::new().worker("alpha", 4, []).worker("beta", 4, [])
}

/// A run with one step of each kind: some are leased, one waits and one has ended. Another run waits for it.
fn poisoned() -> (TestCluster, RunId) {
    let mut cluster = two_workers();
    cluster.submit("bad", |plan| {
        plan.step("first", StepSpec::default(), []);
        plan.step("done", StepSpec::idempotent("v1"), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
        plan.step("publish", StepSpec::idempotent("v2"), []);
        plan.step("last", StepSpec::locking(["db"]), ["first"]);
        plan.step("waits", StepSpec::locking(["db"]), []);
    });
    cluster.submit("good", |plan| {
        plan.step("build", StepSpec::default(), []);
        plan.step("migrate", StepSpec::locking(["db"]), []);
        plan.step("announce", StepSpec::idempotent("v2"), []);
    });
    cluster.exchange("alpha");
    cluster.succeed(["bad/done"]);
    let bad = cluster.run_id("bad");
    (cluster, bad)
}

fn reasons(cluster: &TestCluster) -> Vec<CancelReason> {
    let reason = |event: &Event| match event {
        Event::RunCancelled(event::RunCancelled { reason, .. }) => Some(*reason),
        _ => None,
    };
    cluster.journal.iter().filter_map(reason).collect()
}

#[test]
fn condemned_run_has_no_steps_in_the_queues() {
    let (cluster, bad) = poisoned();
    let built = cluster.folded(None, &[]).counts();
    let hollow = cluster.folded(None, &[bad]).counts();
    assert!(built.leases > hollow.leases && built.ready > hollow.ready);
    assert_eq!(hollow.runs, 2, "it is listed");
    let mut cluster = two_workers();
    cluster.submit("bad", |plan| {
        for at in 0..50 {
            plan.step(&format!("s{at}"), StepSpec::locking(["a", "b", "c"]), []);
        }
    });
    let hollow = cluster.folded(None, &[cluster.run_id("bad")]).counts();
    assert_eq!((hollow.locks, hollow.ready, hollow.leases), (0, 0, 0));
}

#[test]
fn condemned_run_fails_and_the_others_continue() {
    let (mut cluster, bad) = poisoned();
    cluster.take_over_condemning(&[bad]);
    assert_eq!(cluster.run_status("bad"), RunStatus::Failed);
    assert_eq!(reasons(&cluster), [CancelReason::Condemned]);
    assert_eq!(cluster.status("bad/done"), StepStatus::Succeeded, "what ended before stays");
    assert_eq!(cluster.status("bad/deploy"), StepStatus::Cancelled);
    cluster.pump();
    cluster.succeed(["build"]);
    cluster.pass(LEASE_TTL_MAX + Span::secs(1));
    cluster.succeed(["migrate", "announce"]);
    assert_eq!(cluster.run_status("good"), RunStatus::Succeeded);
    assert_eq!(cluster.ask(EngineRequest::Seal { run: bad }), EngineAnswer::Done);
    cluster.take_over_condemning(&[bad]);
    assert_eq!(cluster.engine.run_status(bad), None, "it is folded, ended and sealed again");
    assert_eq!(cluster.engine.embargo_until(), None, "no later takeover waits for it");
}

#[test]
fn locks_and_keys_of_a_condemned_run_wait_for_the_longest_lease() {
    let (mut cluster, bad) = poisoned();
    cluster.cut("alpha");
    cluster.take_over_condemning(&[bad]);
    let until = cluster.now + LEASE_TTL_MAX;
    cluster.exchange("beta");
    for step in ["migrate", "announce"] {
        assert_eq!(cluster.why(step), WhyReport::Embargo { until }, "{step}");
    }
    cluster.pass(LEASE_TTL_MAX.saturating_sub(Span::secs(1)));
    assert_ne!(cluster.status("migrate"), StepStatus::Running);
    cluster.pass(Span::secs(2));
    cluster.succeed(["migrate", "announce"]);
}

#[test]
fn every_node_reaches_the_same_state_whenever_it_learns_that_a_run_is_condemned() {
    let (mut cluster, bad) = poisoned();
    // The replica of the test cluster folded the run before it was condemned, and is compared after each decision.
    let starts: Vec<(Engine, usize)> =
        (0..=cluster.journal.len()).map(|upto| (cluster.prefix(upto), upto)).collect();
    cluster.take_over_condemning(&[bad]);
    cluster.pass(TTL);
    cluster.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    let whole = cluster.folded(None, &[bad]);
    assert_eq!(whole.dump(), cluster.engine.dump());
    for (start, upto) in starts {
        let late = cluster.folded(Some((start.clone(), upto)), &[bad]);
        assert_eq!(late.dump(), whole.dump(), "from a snapshot at {upto}");
        assert_eq!(late.check(), [], "from a snapshot at {upto}");
        let unaware = cluster.folded(Some((start, upto)), &[]);
        assert_eq!(unaware.dump(), whole.dump(), "a standby that had folded {upto}");
    }
}

#[test]
fn key_completed_by_a_condemned_run_stays_completed() {
    let (mut cluster, bad) = poisoned();
    cluster.take_over_condemning(&[bad]);
    cluster.submit("next", |plan| plan.step("again", StepSpec::idempotent("v1"), []));
    assert_eq!(cluster.status("again"), StepStatus::Cached);
}

#[test]
fn worker_is_ordered_to_kill_a_condemned_step() {
    let (mut cluster, bad) = poisoned();
    let holder = cluster.holder("deploy").expect("a worker runs it");
    let fence = cluster.fence("deploy");
    cluster.take_over_condemning(&[bad]);
    cluster.pump();
    cluster.exchange(&holder);
    let stop = StopOrder { fence, how: StopMode::Kill, why: StopReason::Stale };
    assert!(cluster.mate(&holder).stops.contains(&stop), "the lease is not known any more");
    assert_eq!(
        cluster.engine.generation(),
        0,
        "a fence of a condemned run is no sign of lost history"
    );
}

#[test]
fn a_store_with_only_a_worker_in_the_leaders_process_needs_no_embargo() {
    let alone = TestCluster::new().leader_in_process("own", 4, []);
    // The worker of a node that another may replace goes on without it.
    let replaceable = TestCluster::new().leader("own", 4, []);
    for (mut cluster, waits) in [(alone, false), (replaceable, true)] {
        cluster.submit("bad", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
        let bad = cluster.run_id("bad");
        cluster.take_over_condemning(&[bad]);
        assert_eq!(cluster.engine.embargo_until().is_some(), waits);
        assert_eq!(cluster.run_status("bad"), RunStatus::Failed);
    }
}

#[test]
fn a_condemned_run_is_not_accepted_again() {
    let (mut cluster, bad) = poisoned();
    let plan = cluster.journal.iter().find_map(|event| match event {
        Event::RunSubmitted(event::RunSubmitted { run, plan, .. }) if *run == bad => {
            Some(plan.clone())
        }
        _ => None,
    });
    let plan = plan.expect("it was submitted");
    cluster.take_over_condemning(&[bad]);
    assert_eq!(cluster.ask(EngineRequest::Seal { run: bad }), EngineAnswer::Done);
    let submit = SubmitRun { run: bad, plan, options: RunOptions::default(), reused: Vec::new() };
    assert_eq!(
        cluster.ask(EngineRequest::Submit(submit)),
        EngineAnswer::Denied(RequestDenial::RunEnded(bad))
    );
}

#[test]
fn a_run_that_ended_before_it_was_condemned_keeps_its_end() {
    let mut cluster = two_workers();
    cluster.submit("bad", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    let bad = cluster.run_id("bad");
    cluster.exchange("alpha");
    cluster.succeed(["deploy"]);
    cluster.take_over_condemning(&[bad]);
    assert_eq!(cluster.run_status("bad"), RunStatus::Succeeded);
    assert_eq!(cluster.engine.embargo_until(), None);
}
