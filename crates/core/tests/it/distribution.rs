//! Work is distributed over all workers, and no step runs before its needs.

use windlass_core::engine::Event;
use windlass_core::outcome::{Outcome, RunStatus, StepOutput, StepStatus};
use windlass_core::time::Span;

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::TestCluster;

fn ten_steps(plan: &mut PlanSketch) {
    plan.plains(["a", "b", "c", "d", "e", "f"]);
    plan.plain("ab", ["a", "b"]);
    plan.plain("cd", ["c", "d"]);
    plan.plain("ef", ["e", "f"]);
    plan.plain("all", ["ab", "cd", "ef"]);
}

#[test]
fn six_independent_steps_spread_over_leader_and_workers_and_the_rest_wait() {
    let mut cluster =
        TestCluster::new().leader("boss", 2, []).worker("alpha", 2, []).worker("beta", 2, []);
    cluster.submit("ship", ten_steps);
    for worker in ["boss", "alpha", "beta"] {
        assert_eq!(cluster.running(worker).len(), 2, "{worker} has its share");
    }
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 6
    worker alpha w2 i1 online 2 of 2 slots
    worker beta w3 i1 online 2 of 2 slots
    worker boss w100 i1 online 2 of 2 slots
    run 1 ship running
      a running f1 on boss s1
      b running f2 on alpha s1
      c running f3 on beta s1
      d running f4 on boss s1
      e running f5 on alpha s1
      f running f6 on beta s1
      ab waiting needs 2
      cd waiting needs 2
      ef waiting needs 2
      all waiting needs 3
    ");
    cluster.succeed(["a", "b", "c", "d", "e", "f"]);
    cluster.succeed(["ab", "cd", "ef"]);
    cluster.succeed(["all"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 10
    worker alpha w2 i1 online 0 of 2 slots
    worker beta w3 i1 online 0 of 2 slots
    worker boss w100 i1 online 0 of 2 slots
    run 1 ship succeeded
      a succeeded
      b succeeded
      c succeeded
      d succeeded
      e succeeded
      f succeeded
      ab succeeded
      cd succeeded
      ef succeeded
      all succeeded
    ");
}

#[test]
fn a_dependent_on_another_worker_starts_only_when_the_outcome_is_recorded() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["build"]).worker("beta", 1, ["test"]);
    cluster.submit("ship", |plan| {
        plan.step("build", windlass_core::plan::StepSpec::requiring(["build"]), []);
        plan.step("test", windlass_core::plan::StepSpec::requiring(["test"]), ["build"]);
    });
    cluster.cut("alpha");
    let outcome = Outcome { output: StepOutput::inline("version=3"), ..Outcome::exit(0) };
    cluster.finish("alpha", "build", outcome);
    assert_eq!(cluster.status("test"), StepStatus::Waiting);
    assert!(cluster.running("beta").is_empty());
    cluster.heal("alpha");
    assert_eq!(cluster.running("beta"), ["test"]);
    let place = |wanted: fn(&Event) -> bool| cluster.journal.iter().position(wanted);
    let ended = place(|event| matches!(event, Event::LeaseEnded(_)));
    let last_grant = cluster.journal.iter().rposition(|it| matches!(it, Event::Granted(_)));
    assert!(ended < last_grant, "the need's outcome is recorded before the grant");
    insta::assert_snapshot!(cluster.text(), @r#"
    term t1 ttl 15s fences 2
    worker alpha w1 i1 online 0 of 1 slots [build]
    worker beta w2 i1 online 1 of 1 slots [test]
    run 1 ship running
      build succeeded output Inline("version=3")
      test running f2 on beta s1
    "#);
}

#[test]
fn leaders_own_worker_runs_everything_if_no_worker_joins() {
    let mut cluster = TestCluster::new().leader("boss", 1, []);
    cluster.submit("ship", ten_steps);
    for step in ["a", "b", "c", "d", "e", "f", "ab", "cd", "ef", "all"] {
        cluster.pass(Span::secs(20));
        assert_eq!(cluster.running("boss"), [step]);
        cluster.succeed([step]);
    }
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 10
    worker boss w100 i1 online 0 of 1 slots
    run 1 ship succeeded
      a succeeded
      b succeeded
      c succeeded
      d succeeded
      e succeeded
      f succeeded
      ab succeeded
      cd succeeded
      ef succeeded
      all succeeded
    ");
}

#[test]
fn worker_that_joins_late_gets_work_at_once() {
    let mut cluster = TestCluster::new().leader("boss", 1, []);
    cluster.submit("ship", |plan| plan.plains(["a", "b", "c", "d"]));
    assert_eq!(cluster.running("boss"), ["a"]);
    cluster.pass(Span::secs(3));
    cluster.join("late", 2, []);
    assert_eq!(cluster.running("late").len(), 2, "within the same instant");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker late w2 i1 online 2 of 2 slots
    worker boss w100 i1 online 2 of 1 slots
    run 1 ship running
      a running f1 on boss s1
      b leased f2 on boss s1
      c running f3 on late s1
      d running f4 on late s1
    ");
}

#[test]
fn steps_that_become_ready_together_start_on_idle_workers_at_once() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []).worker("beta", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.plain("lint", ["build"]);
        plan.plain("test", ["build"]);
    });
    cluster.succeed(["build"]);
    assert_eq!(cluster.running("alpha").len(), 1);
    assert_eq!(cluster.running("beta").len(), 1, "an idle worker goes before a lease ahead");
}

#[test]
fn run_without_a_capable_worker_waits_for_the_first_one() {
    let mut cluster = TestCluster::new();
    cluster.submit("ship", |plan| plan.plains(["a", "b"]));
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.status("a"), StepStatus::Ready);
    cluster.join("alpha", 2, []);
    cluster.succeed(["a", "b"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}
