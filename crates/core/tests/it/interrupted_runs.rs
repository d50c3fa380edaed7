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
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| {
        plan.step("deploy", StepSpec::locking(["prod"]), []);
        plan.plains(["build", "test"]);
        plan.step("mail", StepSpec::default(), ["deploy", "build"]);
    });
    crew
}

fn dies(crew: &mut TestCluster, owner: &str) {
    crew.kill(owner);
    assert_eq!(crew.guard_ended(owner), EngineAnswer::Done);
}

#[test]
fn run_is_interrupted_when_its_owner_has_ended() {
    let mut crew = shipping();
    dies(&mut crew, "ben");
    assert_eq!(crew.run_status("ship"), RunStatus::Interrupted);
    let statuses = ["deploy", "build", "test", "mail"].map(|step| crew.status(step));
    let (ready, waiting) = (StepStatus::Ready, StepStatus::Waiting);
    assert_eq!(statuses, [ready, ready, ready, waiting], "nothing is settled");
    assert_eq!(crew.why("test"), WhyReport::Interrupted);
    assert_eq!(crew.engine.counts().locks, 0, "no run in the queues names the lock");
}

#[test]
fn locks_and_keys_of_an_interrupted_run_are_free() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    let once = StepSpec {
        idempotency: Some(IdempotencySpec::with_key("day")),
        ..StepSpec::locking(["prod"])
    };
    crew.submit_owned("one", "ben", |plan| {
        plan.step("report", once.clone(), []);
    });
    crew.submit_owned("two", "ann", |plan| {
        plan.step("again", once, []);
    });
    assert_eq!(crew.running("ben"), ["report"]);
    assert!(matches!(crew.why("again"), WhyReport::Key { .. }));
    dies(&mut crew, "ben");
    assert_eq!(crew.running("ann"), ["again"]);
}

#[test]
fn restart_of_the_owner_with_proof_interrupts_its_former_runs() {
    let mut crew = shipping();
    crew.kill("ben");
    crew.restart("ben");
    assert_eq!(crew.run_status("ship"), RunStatus::Interrupted);
    assert_eq!(crew.running("ben"), [""; 0], "a run belongs to one incarnation");
    crew.submit_owned("next", "ben", |plan| plan.plains(["fresh"]));
    assert_eq!(crew.running("ben"), ["fresh"]);
}

#[test]
fn step_that_must_not_run_twice_fails_and_the_rest_waits() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    let lost = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    let options = RunOptions { keep_going: true, ..crew.owned("ben") };
    crew.submit_with("bill", options, |plan| {
        plan.step("pay", StepSpec { retry: lost, ..StepSpec::default() }, []);
        plan.step("mail", StepSpec::default(), ["pay"]);
        plan.plains(["count"]);
    });
    dies(&mut crew, "ben");
    assert_eq!(crew.run_status("bill"), RunStatus::Interrupted);
    let statuses = ["pay", "mail", "count"].map(|step| crew.status(step));
    assert_eq!(statuses, [StepStatus::Failed, StepStatus::Blocked, StepStatus::Ready]);
}

#[test]
fn run_with_no_step_left_ends() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    let lost = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    crew.submit_owned("bill", "ben", |plan| {
        plan.step("pay", StepSpec { retry: lost, ..StepSpec::default() }, []);
        plan.step("mail", StepSpec::default(), ["pay"]);
    });
    dies(&mut crew, "ben");
    assert_eq!(crew.run_status("bill"), RunStatus::Failed);
}

#[test]
fn cancelling_run_ends_with_its_owner() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| {
        plan.plains(["build"]);
        let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
        plan.step("tidy", always, ["build"]);
    });
    let (request, _) = EngineCall::cancel(crew.run_id("ship"), CancelLevel::Stop).into_parts();
    crew.ask(request);
    dies(&mut crew, "ben");
    assert_eq!(crew.run_status("ship"), RunStatus::Cancelled);
    assert_eq!(crew.status("tidy"), StepStatus::Cancelled, "no process is left to run it");
}

#[test]
fn cancelled_while_interrupted_it_ends_at_once() {
    let mut crew = shipping();
    dies(&mut crew, "ben");
    let (request, _) = EngineCall::cancel(crew.run_id("ship"), CancelLevel::Stop).into_parts();
    assert_eq!(crew.ask(request), EngineAnswer::Done);
    assert_eq!(crew.run_status("ship"), RunStatus::Cancelled);
}

#[test]
fn waits_of_an_interrupted_run_pause() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    let options = RunOptions { timeout: Some(Span::mins(5)), ..crew.owned("ben") };
    crew.submit_with("ship", options, |plan| {
        plan.step("flaky", StepSpec { retry: RetryPolicy::times(3), ..StepSpec::default() }, []);
    });
    crew.finish("ben", "flaky", Outcome::exit(1));
    assert_eq!(crew.status("flaky"), StepStatus::Waiting);
    dies(&mut crew, "ben");
    crew.pass(Span::hours(5));
    assert_eq!(crew.run_status("ship"), RunStatus::Interrupted);
    assert_eq!(crew.status("flaky"), StepStatus::Waiting);
}

#[test]
fn interrupted_run_can_be_sealed_and_not_submitted_again() {
    let mut crew = shipping();
    let run = crew.run_id("ship");
    let seal = || EngineCall::seal(run).into_parts().0;
    assert_eq!(crew.ask(seal()), EngineAnswer::Denied(RequestDenial::RunNotEnded(run)));
    dies(&mut crew, "ben");
    assert_eq!(crew.engine.ended_runs(), [run]);
    assert_eq!(crew.ask(seal()), EngineAnswer::Done);
    assert_eq!(crew.engine.counts().runs, 0);
}

#[test]
fn shared_run_is_interrupted_when_the_last_lease_of_others_has_ended() {
    let mut crew = TestCluster::folder(["ann"]);
    crew.join("free", 1, []);
    let mut owner = crew.owner("ann");
    owner.shares = true;
    crew.submit_of("ship", owner, |plan| {
        plan.plains(["a", "b", "c"]);
        plan.step("last", StepSpec::default(), ["a", "b", "c"]);
    });
    let [shared] = crew.running("free").try_into().expect("one step");
    dies(&mut crew, "ann");
    assert_eq!(
        crew.run_status("ship"),
        RunStatus::Running,
        "a living worker runs one of its steps"
    );
    crew.finish("free", &shared, Outcome::exit(0));
    assert_eq!(crew.status(&shared), StepStatus::Succeeded);
    assert_eq!(crew.run_status("ship"), RunStatus::Interrupted);
    assert_eq!(crew.running("free"), [""; 0]);
}

#[test]
fn losses_by_interruptions_are_free() {
    let mut crew = shipping();
    dies(&mut crew, "ben");
    let charged = crew.journal.iter().filter_map(|event| match event {
        Event::LeaseEnded(ended) => Some(ended.next),
        _ => None,
    });
    let free = windlass_core::engine::StepFollowUp::Again { charged: false };
    assert_eq!(charged.collect::<Vec<_>>(), [free; 3], "two that run, and one ahead");
}

#[test]
fn every_replay_up_to_an_event_leads_to_the_same_interruption() {
    let mut crew = shipping();
    let from = crew.journal.len();
    dies(&mut crew, "ben");
    for events in from..crew.journal.len() {
        let mut engine = crew.prefix(events);
        let (request, _) = EngineCall::contacts().into_parts();
        engine.decide(request, crew.now, 7);
        assert_eq!(engine.check(), [], "after {events} events");
    }
    assert_eq!(crew.run_id("ship"), RunId(1));
}
