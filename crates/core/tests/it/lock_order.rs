//! The order of steps at a lock: oldest first, newest first, or only the newest.

use windlass_core::engine::EngineConfig;
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::{LockOrder, LockUse, StepSpec};
use windlass_core::session::StopReason;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

fn deploy(order: LockOrder) -> StepSpec {
    let locks = vec![LockUse { name: "prod".into(), order }];
    StepSpec { locks, ..StepSpec::default() }
}

fn submit_deploys<const N: usize>(cluster: &mut TestCluster, runs: [&str; N], order: LockOrder) {
    for run in runs {
        cluster.submit(run, |plan| plan.step("deploy", deploy(order), []));
        cluster.pass(Span::secs(1));
    }
}

#[test]
fn oldest_run_goes_first_by_default() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    submit_deploys(&mut cluster, ["one", "two", "three"], LockOrder::Fifo);
    for run in ["one", "two", "three"] {
        let step = format!("{run}/deploy");
        assert_eq!(cluster.status(&step), StepStatus::Running);
        cluster.succeed([step.as_str()]);
    }
}

#[test]
fn newest_first_lets_the_newest_run_go_before_waiting_ones() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    submit_deploys(&mut cluster, ["one", "two", "three"], LockOrder::NewestFirst);
    for run in ["one", "three", "two"] {
        let step = format!("{run}/deploy");
        assert_eq!(cluster.status(&step), StepStatus::Running, "{run}");
        cluster.succeed([step.as_str()]);
    }
}

#[test]
fn cancel_older_ends_waiting_steps_and_stops_running_ones() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.submit("one", |plan| {
        plan.step("deploy", deploy(LockOrder::CancelOlder), []);
        plan.plain("tell", ["deploy"]);
        plan.plain("docs", []);
    });
    submit_deploys(&mut cluster, ["two", "three"], LockOrder::CancelOlder);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 2 of 4 slots
    run 1 one running
      deploy running f1 on alpha s1 stop Term superseded
      tell waiting needs 1
      docs running f2 on alpha s1
    run 2 two cancelled
      deploy cancelled
    run 3 three running
      deploy ready
    lock prod 1 of 1 f1
    ");
    let stops = &cluster.workers["alpha"].stops;
    assert_eq!(stops.iter().map(|stop| stop.why).collect::<Vec<_>>(), [StopReason::Superseded]);
    cluster.finish("alpha", "one/deploy", Outcome::plain(OutcomeKind::Cancelled));
    cluster.succeed(["docs", "three/deploy"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w1 i1 online 0 of 4 slots
    run 1 one cancelled
      deploy cancelled
      tell blocked because of deploy
      docs succeeded
    run 2 two cancelled
      deploy cancelled
    run 3 three succeeded
      deploy succeeded
    ");
}

#[test]
fn cells_of_one_run_do_not_cancel_each_other() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.submit("ship", |plan| {
        plan.matrix("deploy", ["eu", "us"], |_| deploy(LockOrder::CancelOlder));
    });
    cluster.succeed(["deploy[eu]", "deploy[us]"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn cancel_older_does_not_affect_steps_with_another_order() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    submit_deploys(&mut cluster, ["one", "two"], LockOrder::Fifo);
    submit_deploys(&mut cluster, ["three"], LockOrder::CancelOlder);
    assert_eq!(cluster.status("one/deploy"), StepStatus::Running);
    assert_eq!(cluster.status("two/deploy"), StepStatus::Ready);
    assert_eq!(cluster.workers["alpha"].stops, []);
    cluster.succeed(["one/deploy", "two/deploy", "three/deploy"]);
}

#[test]
fn cancel_older_at_one_lock_does_not_end_steps_that_queue_at_another() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let both = |cancels: &str, queues: &str| StepSpec {
        locks: vec![
            LockUse { name: cancels.into(), order: LockOrder::CancelOlder },
            LockUse::fifo(queues),
        ],
        ..StepSpec::default()
    };
    cluster.submit("hold", |plan| plan.step("hold", StepSpec::locking(["shared"]), []));
    cluster.submit("one", |plan| plan.step("eu", both("eu-prod", "shared"), []));
    cluster.submit("two", |plan| plan.step("us", both("us-prod", "shared"), []));
    assert_eq!(cluster.status("eu"), StepStatus::Ready, "at `shared` both queue");
    cluster.succeed(["hold", "eu", "us"]);
}

#[test]
fn ending_many_older_steps_respects_the_bound_of_a_decision() {
    let mut cluster = TestCluster::with(EngineConfig { batch_max: 8, ..EngineConfig::default() })
        .worker("alpha", 1, []);
    cluster.submit("hold", |plan| plan.step("hold", StepSpec::locking(["prod"]), []));
    let cells = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"];
    cluster.submit("old", |plan| {
        plan.matrix("deploy", cells, |_| deploy(LockOrder::CancelOlder));
    });
    cluster.submit("new", |plan| plan.step("latest", deploy(LockOrder::CancelOlder), []));
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.status("deploy[12]"), StepStatus::Cancelled);
}
