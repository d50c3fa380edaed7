//! Locks: a limited number of holders, all locks of a step or none, and freed only when the holder has ended.

use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineRequest, RequestDenial, SubmitWarning,
};
use windlass_core::id::Fence;
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::report::{LockHolder, LockWait, WhyReport};
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

fn two_workers() -> TestCluster {
    TestCluster::new().worker("alpha", 4, []).worker("beta", 4, [])
}

#[test]
fn a_lock_lets_one_step_at_a_time_run_on_all_workers_together() {
    let mut cluster = two_workers();
    cluster.submit("ship", |plan| {
        for name in ["a", "b", "c"] {
            plan.step(name, StepSpec::locking(["db"]), []);
        }
    });
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 4 slots
    worker beta w2 i1 online 0 of 4 slots
    run 1 ship running
      a running f1 on alpha s1
      b ready
      c ready
    lock db 1 of 1 f1
    ");
    let (run, a) = cluster.find("a");
    let (name, worker) = ("a".into(), "alpha".into());
    let holder = LockHolder { run, step: a, name, worker, fence: Fence(1), since: cluster.now };
    let held = LockWait { lock: "db".into(), slots: 1, holders: vec![holder], reserved: false };
    assert_eq!(cluster.why("b"), WhyReport::Locks { waiting: vec![held] });
    for step in ["a", "b", "c"] {
        assert_eq!(cluster.engine.counts().leases, 1);
        cluster.succeed([step]);
    }
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    assert_eq!(cluster.engine.counts().locks, 0, "no run names it any more");
}

#[test]
fn lock_slots_bound_concurrent_steps() {
    let mut cluster = two_workers();
    cluster.submit("ship", |plan| {
        plan.lock_slots("farm", 2);
        plan.matrix("soak", ["1", "2", "3", "4"], |_| StepSpec::locking(["farm"]));
    });
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 4 slots
    worker beta w2 i1 online 1 of 4 slots
    run 1 ship running
      soak[1] running f1 on alpha s1
      soak[2] running f2 on beta s1
      soak[3] ready
      soak[4] ready
      soak waiting needs 4
    lock farm 2 of 2 f1 f2
    ");
    cluster.succeed(["soak[2]"]);
    assert_eq!(cluster.status("soak[3]"), StepStatus::Running);
    assert_eq!(cluster.status("soak[4]"), StepStatus::Ready);
}

#[test]
fn a_step_with_two_locks_takes_both_or_none() {
    let mut cluster = two_workers();
    cluster.submit("ship", |plan| {
        plan.step("a", StepSpec::locking(["db"]), []);
        plan.step("both", StepSpec::locking(["db", "net"]), []);
        plan.step("b", StepSpec::locking(["net"]), []);
    });
    assert_eq!(cluster.status("both"), StepStatus::Ready);
    assert_eq!(cluster.status("b"), StepStatus::Running, "`both` does not hold `net` meanwhile");
    cluster.succeed(["a"]);
    assert_eq!(cluster.status("both"), StepStatus::Ready);
    cluster.succeed(["b"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w1 i1 online 0 of 4 slots
    worker beta w2 i1 online 1 of 4 slots
    run 1 ship running
      a succeeded
      both running f3 on beta s3
      b succeeded
    lock db 1 of 1 f3
    lock net 1 of 1 f3
    ");
}

#[test]
fn step_with_two_locks_is_not_starved() {
    let mut cluster = two_workers();
    cluster.submit("first", |plan| plan.step("s0", StepSpec::locking(["net"]), []));
    cluster.submit("pair", |plan| plan.step("both", StepSpec::locking(["db", "net"]), []));
    // The steps of each lock follow one another, so that both locks are never free together.
    let mut passed_over = 0;
    for round in 1..40 {
        let lock = ["net", "db"][round % 2];
        let (step, before) = (format!("s{round}"), format!("s{}", round - 1));
        cluster.submit(&step, |plan| plan.step(&step, StepSpec::locking([lock]), []));
        passed_over += u32::from(cluster.status(&step) == StepStatus::Running);
        if cluster.holder(&before).is_some() {
            cluster.succeed([before.as_str()]);
        }
        if cluster.status("both") == StepStatus::Running {
            break;
        }
    }
    assert_eq!(cluster.status("both"), StepStatus::Running);
    assert_eq!(passed_over, 8);
}

#[test]
fn a_lock_is_reserved_for_a_step_that_waited_a_minute() {
    let mut cluster = two_workers();
    cluster.submit("one", |plan| {
        plan.step("net1", StepSpec::locking(["net"]), []);
        plan.step("both", StepSpec::locking(["db", "net"]), []);
    });
    cluster.pass(Span::secs(59));
    cluster.submit("two", |plan| plan.step("early", StepSpec::locking(["db"]), []));
    assert_eq!(cluster.status("early"), StepStatus::Running, "nothing is reserved yet");
    cluster.pass(Span::secs(1));
    cluster.submit("three", |plan| plan.step("late", StepSpec::locking(["db"]), []));
    cluster.succeed(["early"]);
    assert_eq!(cluster.status("late"), StepStatus::Ready, "`db` is kept for `both`");
    let WhyReport::Locks { waiting } = cluster.why("late") else {
        panic!("it waits for its lock: {:?}", cluster.why("late"));
    };
    assert!(waiting[0].reserved);
    cluster.succeed(["net1"]);
    assert_eq!(cluster.status("both"), StepStatus::Running);
    cluster.succeed(["both", "late"]);
}

#[test]
fn the_smallest_declared_number_of_slots_counts_and_the_sender_is_warned() {
    let mut cluster = two_workers();
    let soak = |slots: u32| {
        move |plan: &mut crate::plan_sketch::PlanSketch| {
            plan.lock_slots("farm", slots);
            plan.matrix("soak", ["1", "2", "3"], |_| StepSpec::locking(["farm"]));
        }
    };
    assert_eq!(cluster.submit("two", soak(2)), []);
    let warning = SubmitWarning::LockSlotsDiffer { lock: "farm".into(), declared: 3, effective: 2 };
    assert_eq!(cluster.submit("three", soak(3)), [warning]);
    assert_eq!(cluster.engine.counts().leases, 2);
    cluster.submit("one", soak(1));
    cluster.succeed(["two/soak[1]"]);
    assert_eq!(cluster.engine.counts().leases, 1, "no more than the new number");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 4 slots
    worker beta w2 i1 online 1 of 4 slots
    run 1 two running
      soak[1] succeeded
      soak[2] running f2 on beta s1
      soak[3] ready
      soak waiting needs 2
    run 2 three running
      soak[1] ready
      soak[2] ready
      soak[3] ready
      soak waiting needs 3
    run 3 one running
      soak[1] ready
      soak[2] ready
      soak[3] ready
      soak waiting needs 3
    lock farm 1 of 1 f2
    ");
}

#[test]
fn lock_slots_grow_back_when_the_run_with_fewer_ends() {
    let mut cluster = two_workers();
    cluster.submit("one", |plan| plan.step("a", StepSpec::locking(["farm"]), []));
    cluster.submit("two", |plan| {
        plan.lock_slots("farm", 2);
        plan.matrix("soak", ["1", "2", "3"], |_| StepSpec::locking(["farm"]));
    });
    assert_eq!(cluster.engine.counts().leases, 1);
    cluster.succeed(["a"]);
    assert_eq!(cluster.engine.counts().leases, 2);
}

#[test]
fn operator_can_take_a_lock_from_its_holder() {
    let mut cluster = two_workers();
    cluster.submit("ship", |plan| {
        plan.step("a", StepSpec::locking(["db"]), []);
        plan.step("b", StepSpec::locking(["db"]), []);
    });
    let force = |fence| EngineRequest::ForceRelease { lock: "db".into(), fence };
    let not_held = RequestDenial::LockNotHeld { lock: "db".into(), fence: Fence(77) };
    assert_eq!(cluster.ask(force(Fence(77))), EngineAnswer::Denied(not_held));
    assert_eq!(cluster.ask(force(cluster.fence("a"))), EngineAnswer::Done);
    cluster.pump();
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 1 of 4 slots
    worker beta w2 i1 online 1 of 4 slots
    run 1 ship running
      a running f1 on alpha s1
      b running f2 on beta s1
    lock db 1 of 1 f2
    ");
    cluster.succeed(["a", "b"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn a_step_that_waits_too_long_for_its_lock_fails() {
    let mut cluster = two_workers();
    let impatient = StepSpec { wait_for_lock: Span::mins(10), ..StepSpec::locking(["db"]) };
    cluster.submit("hold", |plan| plan.step("a", StepSpec::locking(["db"]), []));
    cluster.submit("wait", |plan| plan.step("b", impatient, []));
    cluster.pass(Span::mins(10).saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("b"), StepStatus::Ready);
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.status("b"), StepStatus::Failed);
    assert_eq!(cluster.status("a"), StepStatus::Running);
}

#[test]
fn a_cancelled_step_keeps_its_lock_until_it_has_ended() {
    let mut cluster = two_workers();
    cluster.submit("old", |plan| plan.step("a", StepSpec::locking(["db"]), []));
    cluster.submit("new", |plan| plan.step("b", StepSpec::locking(["db"]), []));
    cluster.ask(EngineRequest::Cancel { run: cluster.run_id("old"), level: CancelLevel::Stop });
    cluster.pass(Span::secs(9));
    assert_eq!(cluster.status("b"), StepStatus::Ready, "`a` is still being stopped");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 4 slots
    worker beta w2 i1 online 0 of 4 slots
    run 1 old cancelling
      a running f1 on alpha s1 stop Term run cancelled
    run 2 new running
      b ready
    lock db 1 of 1 f1
    ");
    let holder = cluster.holder("a").expect("it is held");
    cluster.finish(&holder, "a", Outcome::plain(OutcomeKind::Cancelled));
    assert_eq!(cluster.status("b"), StepStatus::Running);
}

#[test]
fn lock_of_a_lost_worker_is_free_when_its_lease_has_ended() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("a", StepSpec::locking(["db"]), []);
        plan.step("b", StepSpec::locking(["db"]), []);
    });
    cluster.join("beta", 1, []);
    cluster.kill("alpha");
    cluster.pass(TTL.saturating_sub(Span::millis(1)));
    assert!(cluster.running("beta").is_empty());
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.engine.counts().leases, 1, "one of them, and only one");
    assert_eq!(cluster.running("beta").len(), 1);
}
