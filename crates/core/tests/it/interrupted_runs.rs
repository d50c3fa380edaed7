//! Runs whose owner has ended: what ends with the owner, and what waits.

use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineCall, Event, RequestDenial, RunOptions,
};
use windlass_core::id::RunId;
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::{IdempotencySpec, RetryPolicy, StatusCondition, StepSpec};
use windlass_core::report::WhyReport;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// A run of `ben` with a step that runs, one that waits for a slot, and one that waits for both.
fn shipping() -> TestCluster {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.plains(["build", "test"]);
        plan.step("mail", StepSpec::default(), ["deploy", "build"]);
    });
    cluster
}

fn dies(cluster: &mut TestCluster, owner: &str) {
    cluster.kill(owner);
    assert_eq!(cluster.guard_ended(owner), EngineAnswer::Done);
}

#[test]
fn run_is_interrupted_when_its_owner_has_ended() {
    let mut cluster = shipping();
    dies(&mut cluster, "ben");
    assert_eq!(cluster.run_status("ship"), RunStatus::Interrupted);
    let statuses = ["deploy", "build", "test", "mail"].map(|step| cluster.status(step));
    let (ready, waiting) = (StepStatus::Ready, StepStatus::Waiting);
    assert_eq!(statuses, [ready, ready, ready, waiting], "nothing is settled");
    assert_eq!(cluster.why("test"), WhyReport::Interrupted);
    assert_eq!(cluster.engine.counts().locks, 0, "no run in the queues names the lock");
}

#[test]
fn locks_and_keys_of_an_interrupted_run_are_free() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    let once = StepSpec {
        idempotency: Some(IdempotencySpec::with_key("day")),
        ..StepSpec::locking(["prod"])
    };
    cluster.submit_owned("one", "ben", |plan| {
        plan.step("report", once.clone(), []);
    });
    cluster.submit_owned("two", "ann", |plan| {
        plan.step("again", once, []);
    });
    assert_eq!(cluster.running("ben"), ["report"]);
    assert!(matches!(cluster.why("again"), WhyReport::Key { .. }));
    dies(&mut cluster, "ben");
    assert_eq!(cluster.running("ann"), ["again"]);
}

#[test]
fn restart_of_the_owner_with_proof_interrupts_its_former_runs() {
    let mut cluster = shipping();
    cluster.kill("ben");
    cluster.restart("ben");
    assert_eq!(cluster.run_status("ship"), RunStatus::Interrupted);
    assert_eq!(cluster.running("ben"), [""; 0], "a run belongs to one incarnation");
    cluster.submit_owned("next", "ben", |plan| plan.plains(["fresh"]));
    assert_eq!(cluster.running("ben"), ["fresh"]);
}

#[test]
fn step_that_must_not_run_twice_fails_and_the_rest_waits() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    let lost = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    let options = RunOptions { keep_going: true, ..cluster.owned("ben") };
    cluster.submit_with("bill", options, |plan| {
        plan.step("pay", StepSpec { retry: lost, ..StepSpec::default() }, []);
        plan.step("mail", StepSpec::default(), ["pay"]);
        plan.plains(["count"]);
    });
    dies(&mut cluster, "ben");
    assert_eq!(cluster.run_status("bill"), RunStatus::Interrupted);
    let statuses = ["pay", "mail", "count"].map(|step| cluster.status(step));
    assert_eq!(statuses, [StepStatus::Failed, StepStatus::Blocked, StepStatus::Ready]);
}

#[test]
fn run_with_no_step_left_ends() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    let lost = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    cluster.submit_owned("bill", "ben", |plan| {
        plan.step("pay", StepSpec { retry: lost, ..StepSpec::default() }, []);
        plan.step("mail", StepSpec::default(), ["pay"]);
    });
    dies(&mut cluster, "ben");
    assert_eq!(cluster.run_status("bill"), RunStatus::Failed);
}

#[test]
fn cancelling_run_ends_with_its_owner() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    cluster.submit_owned("ship", "ben", |plan| {
        plan.plains(["build"]);
        let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
        plan.step("tidy", always, ["build"]);
    });
    let (request, _) = EngineCall::cancel(cluster.run_id("ship"), CancelLevel::Stop).into_parts();
    cluster.ask(request);
    dies(&mut cluster, "ben");
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelled);
    assert_eq!(cluster.status("tidy"), StepStatus::Cancelled, "no process is left to run it");
}

#[test]
fn cancelled_while_interrupted_it_ends_at_once() {
    let mut cluster = shipping();
    dies(&mut cluster, "ben");
    let (request, _) = EngineCall::cancel(cluster.run_id("ship"), CancelLevel::Stop).into_parts();
    assert_eq!(cluster.ask(request), EngineAnswer::Done);
    assert_eq!(cluster.run_status("ship"), RunStatus::Cancelled);
}

#[test]
fn waits_of_an_interrupted_run_pause() {
    let mut cluster = TestCluster::folder(["ann", "ben"]);
    let options = RunOptions { timeout: Some(Span::mins(5)), ..cluster.owned("ben") };
    cluster.submit_with("ship", options, |plan| {
        plan.step("flaky", StepSpec { retry: RetryPolicy::times(3), ..StepSpec::default() }, []);
    });
    cluster.finish("ben", "flaky", Outcome::exit(1));
    assert_eq!(cluster.status("flaky"), StepStatus::Waiting);
    dies(&mut cluster, "ben");
    cluster.pass(Span::hours(5));
    assert_eq!(cluster.run_status("ship"), RunStatus::Interrupted);
    assert_eq!(cluster.status("flaky"), StepStatus::Waiting);
}

#[test]
fn interrupted_run_can_be_sealed_and_not_submitted_again() {
    let mut cluster = shipping();
    let run = cluster.run_id("ship");
    let seal = || EngineCall::seal(run).into_parts().0;
    assert_eq!(cluster.ask(seal()), EngineAnswer::Denied(RequestDenial::RunNotEnded(run)));
    dies(&mut cluster, "ben");
    assert_eq!(cluster.engine.ended_runs(), [run]);
    assert_eq!(cluster.ask(seal()), EngineAnswer::Done);
    assert_eq!(cluster.engine.counts().runs, 0);
}

#[test]
fn shared_run_is_interrupted_when_the_last_lease_of_others_has_ended() {
    let mut cluster = TestCluster::folder(["ann"]);
    cluster.join("free", 1, []);
    let mut owner = cluster.owner("ann");
    owner.shares = true;
    cluster.submit_of("ship", owner, |plan| {
        plan.plains(["a", "b", "c"]);
        plan.step("last", StepSpec::default(), ["a", "b", "c"]);
    });
    let [shared] = cluster.running("free").try_into().expect("one step");
    dies(&mut cluster, "ann");
    assert_eq!(
        cluster.run_status("ship"),
        RunStatus::Running,
        "a living worker runs one of its steps"
    );
    cluster.finish("free", &shared, Outcome::exit(0));
    assert_eq!(cluster.status(&shared), StepStatus::Succeeded);
    assert_eq!(cluster.run_status("ship"), RunStatus::Interrupted);
    assert_eq!(cluster.running("free"), [""; 0]);
}

#[test]
fn losses_by_interruptions_are_free() {
    let mut cluster = shipping();
    dies(&mut cluster, "ben");
    let charged = cluster.journal.iter().filter_map(|event| match event {
        Event::LeaseEnded(ended) => Some(ended.next),
        _ => None,
    });
    let free = windlass_core::engine::StepFollowUp::Again { charged: false };
    assert_eq!(charged.collect::<Vec<_>>(), [free; 3], "two that run, and one ahead");
}

#[test]
fn every_replay_up_to_an_event_leads_to_the_same_interruption() {
    let mut cluster = shipping();
    let from = cluster.journal.len();
    dies(&mut cluster, "ben");
    for events in from..cluster.journal.len() {
        let mut engine = cluster.prefix(events);
        let (request, _) = EngineCall::contacts().into_parts();
        engine.decide(request, cluster.now, 7);
        assert_eq!(engine.check(), [], "after {events} events");
    }
    assert_eq!(cluster.run_id("ship"), RunId(1));
}
