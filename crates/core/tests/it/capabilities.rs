//! A step goes only to a worker that can run it.

use windlass_core::engine::{Event, StepSettlement, SubmitRun, SubmitWarning, event};
use windlass_core::id::RunId;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::{PinTarget, Placement, StepSpec};
use windlass_core::report::WhyReport;
use windlass_core::requirement::Requirement;
use windlass_core::time::Span;

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::{TTL, TestCluster};

fn placed(placement: Placement) -> StepSpec {
    StepSpec { placement, ..StepSpec::default() }
}

fn pinned() -> StepSpec {
    placed(Placement { pin: PinTarget::Leader, ..Placement::default() })
}

fn texts(warnings: &[SubmitWarning]) -> Vec<String> {
    warnings.iter().map(ToString::to_string).collect()
}

/// Returns the reason of a step that no worker can run, in one line.
fn no_worker(why: WhyReport) -> String {
    let WhyReport::NoWorker { placement, workers, .. } = why else {
        panic!("a worker could run it: {why:?}");
    };
    let workers = workers.iter().map(|it| format!("{} {}", it.worker, it.reason));
    format!("{placement}: {}", workers.collect::<Vec<_>>().join("; "))
}

#[test]
fn only_the_worker_with_docker_gets_the_docker_step() {
    let mut cluster =
        TestCluster::new().worker("plain", 4, ["linux"]).worker("docked", 1, ["linux", "docker"]);
    cluster.submit("ship", |plan| {
        plan.step("image", StepSpec::requiring(["docker"]), []);
        plan.step("scan", StepSpec::requiring(["docker"]), []);
        plan.step("lint", StepSpec::requiring(["linux"]), []);
    });
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.running("plain"), ["lint"]);
    assert_eq!(cluster.running("docked"), ["image"], "the second one waits for its slot");
    cluster.succeed(["image", "scan", "lint"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker plain w1 i1 online 0 of 4 slots [linux]
    worker docked w2 i1 online 0 of 1 slots [docker,linux]
    run 1 ship succeeded
      image succeeded
      scan succeeded
      lint succeeded
    ");
}

#[test]
fn step_goes_to_a_worker_with_one_of_its_executors() {
    let mut cluster = TestCluster::new().worker("plain", 4, ["executor=shell"]);
    cluster.join("web", 4, ["executor=shell", "executor=http"]);
    cluster.join("boxed", 4, ["executor=docker"]);
    let either = Requirement::parse("executor=docker | executor=http").expect("a requirement");
    let placement = Placement { requirement: Requirement(vec![either]), ..Placement::default() };
    let one_each = StepSpec { per_worker: Some(1), ..placed(placement) };
    cluster.submit("ship", |plan| plan.matrix("call", ["1", "2", "3"], |_| one_each.clone()));
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.running("plain").len(), 0);
    assert_eq!((cluster.running("web").len(), cluster.running("boxed").len()), (1, 1));
    cluster.succeed(["call[1]", "call[2]", "call[3]"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn unplaceable_step_waits_names_the_label_and_finally_fails() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    let warnings = cluster.submit("ship", |plan| {
        plan.step("sign", StepSpec::requiring(["windows"]), []);
        plan.plain("upload", ["sign"]);
    });
    assert_eq!(texts(&warnings), ["no worker has `windows` (step sign requires windows)"]);
    cluster.pass(Span::mins(5).saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("sign"), StepStatus::Ready);
    assert_eq!(no_worker(cluster.why("sign")), "windows: alpha lacks windows");
    cluster.pass(Span::millis(1));
    let failed = |event: &Event| {
        matches!(
            event,
            Event::StepSettled(event::StepSettled { settled: StepSettlement::FailedNoWorker, .. })
        )
    };
    assert!(cluster.journal.iter().any(failed), "the reason is recorded");
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 0
    worker alpha w1 i1 online 0 of 1 slots [linux]
    run 1 ship failed
      sign failed
      upload blocked because of sign
    ");
}

#[test]
fn refusal_names_the_smallest_missing_requirement() {
    let clause = |text: &str| Requirement::parse(text).expect("a requirement");
    let demand = |texts: &[&str]| {
        let requirement = Requirement(texts.iter().map(|text| clause(text)).collect());
        placed(Placement { requirement, ..Placement::default() })
    };
    let mut cluster = TestCluster::new();
    let warned = |cluster: &mut TestCluster, name: &str, spec: StepSpec| {
        texts(&cluster.submit(name, |plan| plan.matrix("train", ["1", "2"], |_| spec.clone())))
    };
    assert_eq!(
        warned(&mut cluster, "nobody", demand(&["gpu"])),
        ["no worker is online (step train[1] requires gpu)"]
    );
    cluster.join("alpha", 1, ["linux", "cpu=8"]);
    cluster.join("beta", 1, ["arm", "cpu=2"]);
    assert_eq!(
        warned(&mut cluster, "label", demand(&["gpu | tpu", "cpu>=4"])),
        ["no worker has `gpu | tpu` (step train[1] requires gpu | tpu, cpu>=4)"]
    );
    assert_eq!(
        warned(&mut cluster, "none-of-both", demand(&["arm", "not slow", "cpu>=4"])),
        ["no worker has all of it at once: alpha, which comes nearest, lacks arm \
          (step train[1] requires arm, not slow, cpu>=4)"]
    );
    let elsewhere = placed(Placement { allow: vec!["delta".into()], ..Placement::default() });
    assert_eq!(
        warned(&mut cluster, "node", elsewhere),
        ["no worker may run it (step train[1] requires one of delta)"]
    );
    assert_eq!(warned(&mut cluster, "plain", demand(&["linux"])), [""; 0]);
}

#[test]
fn a_capable_worker_that_comes_too_late_does_not_revive_the_step() {
    let mut cluster = TestCluster::new();
    cluster.submit("ship", |plan| plan.step("sign", StepSpec::requiring(["windows"]), []));
    cluster.pass(Span::mins(5));
    cluster.join("late", 1, ["windows"]);
    cluster.pass(Span::mins(5));
    assert_eq!(cluster.status("sign"), StepStatus::Failed);
    assert!(cluster.running("late").is_empty());
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 0
    worker late w1 i1 online 0 of 1 slots [windows]
    run 1 ship failed
      sign failed
    ");
}

#[test]
fn a_capable_worker_that_comes_in_time_runs_the_step() {
    let mut cluster = TestCluster::new().worker("alpha", 1, ["linux"]);
    let patient = StepSpec { wait_for_worker: Span::mins(20), ..StepSpec::requiring(["windows"]) };
    cluster.submit("ship", |plan| plan.step("sign", patient, []));
    cluster.pass(Span::mins(19));
    cluster.join("late", 1, ["windows"]);
    assert_eq!(cluster.running("late"), ["sign"]);
}

#[test]
fn placement_wait_restarts_when_the_last_capable_worker_is_lost() {
    let mut cluster =
        TestCluster::new().worker("alpha", 1, ["linux"]).worker("winnie", 1, ["windows"]);
    let never_ahead = StepSpec { per_worker: Some(1), ..StepSpec::requiring(["windows"]) };
    cluster.submit("ship", |plan| {
        plan.step("sign", never_ahead.clone(), []);
        plan.step("pack", never_ahead, []);
    });
    cluster.pass(Span::mins(10));
    assert_eq!(cluster.status("pack"), StepStatus::Ready, "winnie is there, if busy");
    cluster.kill("winnie");
    cluster.pass(TTL + Span::mins(4));
    assert_eq!(cluster.status("pack"), StepStatus::Ready);
    assert_eq!(no_worker(cluster.why("pack")), "windows: alpha lacks windows; winnie is lost");
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.status("sign"), StepStatus::Failed);
    assert_eq!(cluster.status("pack"), StepStatus::Cancelled, "its run has failed");
}

#[test]
fn step_without_requirement_goes_to_any_worker_and_custom_labels_match() {
    let mut cluster = TestCluster::new()
        .leader("boss", 1, [])
        .worker("alpha", 1, ["High-Memory"])
        .worker("beta", 1, ["gpu"]);
    cluster.submit("ship", |plan| {
        plan.step("train", StepSpec::requiring(["GPU"]), []);
        plan.step("link", StepSpec::requiring(["high-memory"]), []);
        plan.plain("lint", []);
    });
    assert_eq!(cluster.running("beta"), ["train"]);
    assert_eq!(cluster.running("alpha"), ["link"]);
    assert_eq!(cluster.running("boss"), ["lint"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 3
    worker alpha w2 i1 online 1 of 1 slots [high-memory]
    worker beta w3 i1 online 1 of 1 slots [gpu]
    worker boss w100 i1 online 1 of 1 slots
    run 1 ship running
      train running f3 on beta s1
      link running f2 on alpha s1
      lint running f1 on boss s1
    ");
}

#[test]
fn a_step_runs_only_on_allowed_nodes_and_never_on_denied_ones() {
    let mut cluster =
        TestCluster::new().worker("alpha", 4, []).worker("beta", 4, []).worker("gamma", 4, []);
    cluster.submit("ship", |plan| {
        let allow = vec!["beta".into(), "gamma".into()];
        let deny = vec!["alpha".into(), "beta".into()];
        let only = |allow, deny| placed(Placement { allow, deny, ..Placement::default() });
        plan.step("allowed", only(vec!["beta".into()], Vec::new()), []);
        plan.step("denied", only(Vec::new(), deny.clone()), []);
        plan.step("both", only(allow.clone(), deny), []);
        plan.step("nobody", only(vec!["delta".into()], Vec::new()), []);
    });
    assert_eq!(cluster.running("beta"), ["allowed"]);
    assert_eq!(cluster.running("gamma"), ["denied", "both"]);
    assert!(cluster.running("alpha").is_empty());
    let reason = "is not among the allowed nodes";
    assert_eq!(
        no_worker(cluster.why("nobody")),
        format!("one of delta: alpha {reason}; beta {reason}; gamma {reason}")
    );
}

#[test]
fn a_pinned_step_runs_on_the_leaders_own_worker_only() {
    let mut cluster = TestCluster::new().leader("boss", 1, []).worker("alpha", 4, []);
    cluster.submit("ship", |plan| {
        plan.step("sign", pinned(), []);
        plan.step("tell", pinned(), []);
    });
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.running("boss"), ["sign"]);
    assert!(cluster.running("alpha").is_empty());
    cluster.succeed(["sign", "tell"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 2
    worker alpha w2 i1 online 0 of 4 slots
    worker boss w100 i1 online 0 of 1 slots
    run 1 ship succeeded
      sign succeeded
      tell succeeded
    ");
}

#[test]
fn a_pinned_step_follows_the_leadership_to_another_node() {
    let mut cluster = TestCluster::new().leader("boss", 1, []).worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("sign", pinned(), []);
        plan.step("tell", pinned(), ["sign"]);
    });
    assert_eq!(cluster.running("boss"), ["sign"]);
    cluster.take_over_at(Some("alpha"), TTL);
    cluster.pass(Span::secs(10));
    assert_eq!(cluster.running("boss"), ["sign"], "what has begun goes on where it is");
    cluster.succeed(["sign"]);
    cluster.pass(Span::secs(10));
    assert_eq!(cluster.running("alpha"), ["tell"]);
    insta::assert_snapshot!(cluster.text(), @r"
    term t2 ttl 15s fences 2
    worker alpha w2 i1 online 1 of 1 slots
    worker boss w100 i1 online 0 of 1 slots
    run 1 ship running
      sign succeeded
      tell running f2 on alpha s3
    ");
}

#[test]
fn a_pinned_step_waits_while_the_leading_node_has_no_worker() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("sign", pinned(), []));
    assert_eq!(
        no_worker(cluster.why("sign")),
        "the leader's own worker: alpha is not the leader's own worker"
    );
    cluster.take_over_at(Some("alpha"), TTL);
    cluster.pass(Span::secs(10));
    assert_eq!(cluster.running("alpha"), ["sign"]);
}

#[test]
fn a_worker_for_pinned_steps_only_runs_nothing_else() {
    let mut cluster = TestCluster::new().leader_for_pinned("boss", 2, ["linux"]);
    cluster.submit("ship", |plan| {
        plan.step("sign", pinned(), []);
        plan.step("test", StepSpec::requiring(["linux"]), []);
    });
    cluster.pass(Span::secs(10));
    assert_eq!(cluster.running("boss"), ["sign"], "a slot is free, and stays so");
    assert_eq!(
        no_worker(cluster.why("test")),
        "linux: boss runs only steps that are pinned to the leader"
    );
    cluster.join("alpha", 1, ["linux"]);
    assert_eq!(cluster.running("alpha"), ["test"]);
}

#[test]
fn a_worker_for_pinned_steps_only_is_idle_when_another_node_leads() {
    let mut cluster = TestCluster::new().leader_for_pinned("boss", 1, []).worker("alpha", 1, []);
    cluster.take_over_at(Some("alpha"), TTL);
    cluster.submit("ship", |plan| {
        plan.step("sign", pinned(), []);
        plan.plain("lint", []);
    });
    cluster.pass(Span::secs(10));
    assert!(cluster.running("boss").is_empty());
    cluster.succeed(["sign", "lint"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn per_worker_limit_bounds_concurrent_cells() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []).worker("beta", 4, []);
    let gentle = |_: &str| StepSpec { per_worker: Some(2), ..StepSpec::default() };
    cluster.submit("ship", |plan| plan.matrix("load", ["1", "2", "3", "4", "5", "6"], gentle));
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.running("alpha").len(), 2);
    assert_eq!(cluster.running("beta").len(), 2);
    insta::assert_snapshot!(cluster.text(), @r"
    term t1 ttl 15s fences 4
    worker alpha w1 i1 online 2 of 4 slots
    worker beta w2 i1 online 2 of 4 slots
    run 1 ship running
      load[1] running f1 on alpha s1
      load[2] running f2 on beta s1
      load[3] running f3 on alpha s1
      load[4] running f4 on beta s1
      load[5] ready
      load[6] ready
      load waiting needs 6
    ");
    cluster.succeed(["load[1]", "load[3]"]);
    assert_eq!(cluster.running("alpha"), ["load[5]", "load[6]"], "as soon as one has ended");
}

#[test]
fn two_steps_that_say_the_same_limit_per_worker_do_not_share_it() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let gentle = |_: &str| StepSpec { per_worker: Some(1), ..StepSpec::default() };
    cluster.submit("ship", |plan| {
        plan.matrix("load", ["1", "2"], gentle);
        plan.matrix("soak", ["1", "2"], gentle);
    });
    assert_eq!(cluster.running("alpha"), ["load[1]", "soak[1]"]);
}

/// Submits a second run of the pipeline `ship` under the name `again`.
fn ship_again(cluster: &mut TestCluster, draw: impl FnOnce(&mut PlanSketch)) {
    let submit = SubmitRun::new(RunId(2), PlanSketch::draw("ship", draw));
    cluster.submit_whole("again", submit);
}

#[test]
fn a_limit_per_worker_counts_the_steps_of_all_runs_of_a_pipeline() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let gentle = |_: &str| StepSpec { per_worker: Some(2), ..StepSpec::default() };
    cluster.submit("ship", |plan| plan.matrix("load", ["1"], gentle));
    ship_again(&mut cluster, |plan| plan.matrix("load", ["1", "2"], gentle));
    assert_eq!(cluster.running("alpha").len(), 2, "one of each run");
    assert_eq!(cluster.status("again/load[2]"), StepStatus::Ready);
    let WhyReport::Queue { workers, .. } = cluster.why("again/load[2]") else {
        panic!("it waits for a worker that may run it");
    };
    assert_eq!(workers[0].reason, "runs 2 of `load`, the limit per worker");
    cluster.succeed(["ship/load[1]"]);
    assert_eq!(cluster.running("alpha"), ["load[1]", "load[2]"], "the other run's end made room");
}

#[test]
fn a_limit_per_worker_counts_cells_with_different_rules_together() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let unlike = |cell: &str| {
        let priority = i32::from(cell == "1");
        StepSpec { per_worker: Some(1), priority, ..StepSpec::default() }
    };
    cluster.submit("ship", |plan| plan.matrix("load", ["1", "2"], unlike));
    assert_eq!(cluster.running("alpha"), ["load[1]"]);
}

#[test]
fn a_step_obeys_the_limit_per_worker_of_its_own_run() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let most = |most| move |_: &str| StepSpec { per_worker: Some(most), ..StepSpec::default() };
    cluster.submit("ship", |plan| plan.matrix("load", ["1", "2"], most(3)));
    ship_again(&mut cluster, |plan| plan.matrix("load", ["3"], most(1)));
    assert_eq!(cluster.running("alpha"), ["load[1]", "load[2]"]);
    cluster.succeed(["load[1]"]);
    assert_eq!(cluster.running("alpha"), ["load[2]"], "the newer run allows one of them at a time");
}

#[test]
fn pipelines_that_have_a_step_of_one_name_share_no_limit_per_worker() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    let gentle = StepSpec { per_worker: Some(1), ..StepSpec::default() };
    cluster.submit("ship", |plan| {
        plan.step("load", gentle.clone(), []);
    });
    cluster.submit("test", |plan| {
        plan.step("load", gentle, []);
    });
    assert_eq!(cluster.running("alpha").len(), 2);
}
