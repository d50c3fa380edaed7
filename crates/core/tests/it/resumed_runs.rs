//! Interrupted runs that continue under another owner, from the engine or from the archive.

use std::sync::Arc;

use windlass_core::engine::{
    CancelLevel, EngineAnswer, EngineCall, Event, RequestDenial, ResumeRun, RunOptions, event,
};
use windlass_core::id::WorkerId;
use windlass_core::outcome::{Outcome, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{
    IdempotencySpec, RetryPolicy, StatusCondition, StepSpec, ValueCondition,
};
use windlass_core::summary::RunSummary;
use windlass_core::time::Span;

use crate::test_cluster::TestCluster;

/// Whether the run is sealed before it is resumed.
const PLACES: [bool; 2] = [false, true];

fn dies(crew: &mut TestCluster, owner: &str) {
    crew.kill(owner);
    assert_eq!(crew.guard_ended(owner), EngineAnswer::Done);
}

/// Returns the request that resumes a run, as its events describe it.
fn request(crew: &TestCluster, run: &str, owner: Option<&str>) -> ResumeRun {
    let run = crew.run_id(run);
    let of_run = crew.recorded().filter(|(_, event)| event.run() == Some(run));
    let resume = ResumeRun::from_events(of_run).expect("the run is interrupted");
    resume.owned_by(owner.map(|owner| crew.owner(owner)))
}

fn resume(crew: &mut TestCluster, run: &str, owner: Option<&str>) -> EngineAnswer {
    let (request, _) = EngineCall::resume(request(crew, run, owner)).into_parts();
    let answer = crew.ask(request);
    crew.pump();
    answer
}

fn seal(crew: &mut TestCluster, run: &str) {
    let (request, _) = EngineCall::seal(crew.run_id(run)).into_parts();
    assert_eq!(crew.ask(request), EngineAnswer::Done);
}

/// Interrupts the run of an owner, and seals it or not.
fn interrupts(crew: &mut TestCluster, run: &str, owner: &str, sealed: bool) {
    dies(crew, owner);
    assert_eq!(crew.run_status(run), RunStatus::Interrupted);
    if sealed {
        seal(crew, run);
    }
}

fn resumed() -> EngineAnswer {
    EngineAnswer::Submitted { warnings: Vec::new() }
}

#[test]
fn ended_steps_stay_ended_and_the_others_run() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben"]);
        crew.submit_owned("ship", "ben", |plan| {
            plan.plains(["build", "slow"]);
            let when = ValueCondition::Asks("steps.build.outputs.ok == 1".into());
            let reads = vec![windlass_core::id::StepIx(0)];
            plan.step(
                "publish",
                StepSpec { when, reads, ..StepSpec::default() },
                ["build", "slow"],
            );
        });
        let output = StepOutput::Inline("{\"ok\":1}".into());
        crew.finish("ben", "build", Outcome { output, ..Outcome::exit(0) });
        interrupts(&mut crew, "ship", "ben", sealed);
        assert_eq!(resume(&mut crew, "ship", Some("ann")), resumed());
        assert_eq!(crew.run_status("ship"), RunStatus::Running);
        assert_eq!(crew.status("build"), StepStatus::Succeeded);
        assert_eq!(crew.running("ann"), ["slow"]);
        crew.succeed(["slow"]);
        assert_eq!(crew.running("ann"), ["publish"], "its condition reads the output from before");
        crew.succeed(["publish"]);
        assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
    }
}

#[test]
fn progress_from_events_is_that_of_the_engine() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    let options = RunOptions { keep_going: true, ..crew.owned("ben") };
    crew.submit_with("ship", options, |plan| {
        plan.step("flaky", StepSpec { retry: RetryPolicy::times(2), ..StepSpec::default() }, []);
        plan.plains(["bad", "good"]);
        plan.step("blocked", StepSpec::default(), ["bad"]);
        let failure = StepSpec { condition: StatusCondition::Failure, ..StepSpec::default() };
        plan.step("tidy", failure.clone(), ["good"]);
        plan.step("tell", failure, ["bad"]);
        plan.matrix("cells", ["a", "b"], |_| StepSpec::default());
        plan.step("last", StepSpec::default(), ["cells", "blocked"]);
    });
    let ends = |step: &&String| ["flaky", "bad", "good"].contains(&step.as_str());
    while let Some(step) = crew.running("ben").iter().find(ends).cloned() {
        crew.finish("ben", &step, Outcome::exit(i32::from(step != "good")));
    }
    interrupts(&mut crew, "ship", "ben", false);
    let from_events = request(&crew, "ship", Some("ann"));
    resume(&mut crew, "ship", Some("ann"));
    let found = crew.journal.iter().find_map(|event| match event {
        Event::RunResumed(resumed) => Some(resumed.clone()),
        _ => None,
    });
    let event::RunResumed { run, plan, options, progress } = found.expect("it was resumed");
    assert_eq!(ResumeRun { run, plan, options, progress }, from_events);
    interrupts(&mut crew, "ship", "ann", false);
    let again = request(&crew, "ship", None);
    let progress = again.progress.clone();
    let (call, _) = EngineCall::resume(again).into_parts();
    crew.ask(call);
    let last = crew.journal.last().expect("it was resumed");
    let Event::RunResumed(last) = last else { panic!("{last:?}") };
    assert_eq!(last.progress, progress, "of a run that was resumed before");
}

#[test]
fn attempts_and_the_rest_of_a_back_off_go_on() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben"]);
        let retry = RetryPolicy {
            wait_min: Span::secs(40),
            wait_max: Span::secs(40),
            ..RetryPolicy::times(2)
        };
        crew.submit_owned("ship", "ben", |plan| {
            plan.step("flaky", StepSpec { retry, ..StepSpec::default() }, []);
        });
        crew.finish("ben", "flaky", Outcome::exit(1));
        crew.pass(Span::secs(30));
        interrupts(&mut crew, "ship", "ben", sealed);
        crew.pass(Span::hours(1));
        resume(&mut crew, "ship", Some("ann"));
        crew.pass(Span::millis(9_999));
        assert_eq!(crew.status("flaky"), StepStatus::Waiting, "ten seconds are left");
        crew.pass(Span::millis(1));
        crew.finish("ann", "flaky", Outcome::exit(1));
        crew.pass(Span::secs(40));
        crew.finish("ann", "flaky", Outcome::exit(1));
        assert_eq!(crew.run_status("ship"), RunStatus::Failed, "after three attempts in all");
    }
}

#[test]
fn keys_are_requested_again() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben", "cem"]);
        let retry = RetryPolicy::times(2);
        let key = IdempotencySpec::with_key("day");
        let once = StepSpec { idempotency: Some(key), retry, ..StepSpec::default() };
        crew.submit_owned("one", "ben", |plan| plan.step("first", once.clone(), []));
        crew.finish("ben", "first", Outcome::exit(1));
        interrupts(&mut crew, "one", "ben", sealed);
        crew.submit_owned("two", "ann", |plan| plan.step("second", once.clone(), []));
        resume(&mut crew, "one", Some("cem"));
        crew.pass(Span::mins(2));
        assert_eq!(crew.running("cem"), [""; 0], "the key is taken");
        crew.succeed(["second"]);
        assert_eq!(crew.status("first"), StepStatus::Cached, "the other run did the work");
        assert_eq!(crew.run_status("one"), RunStatus::Succeeded);
    }
}

#[test]
fn late_outcome_of_the_former_owner_counts_while_its_step_waits() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben"]);
        crew.submit_owned("ship", "ben", |plan| plan.plains(["a", "b", "c"]));
        crew.cut("ben");
        crew.finish("ben", "a", Outcome::exit(0));
        interrupts(&mut crew, "ship", "ben", sealed);
        resume(&mut crew, "ship", None);
        assert_eq!(crew.status("a"), StepStatus::Ready, "no worker serves all runs");
        crew.restart("ben");
        assert_eq!(crew.status("a"), StepStatus::Succeeded, "its outcome was in the spool");
        assert_eq!(crew.run_status("ship"), RunStatus::Running, "it has no owner that could end");
    }
}

#[test]
fn late_outcome_counts_while_the_run_is_interrupted_in_the_engine() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| plan.plains(["a", "b"]));
    let stale = request_before_the_outcome(&mut crew);
    crew.restart("ben");
    assert_eq!(crew.status("a"), StepStatus::Succeeded);
    let (call, _) = EngineCall::resume(stale).into_parts();
    crew.ask(call);
    assert_eq!(crew.status("a"), StepStatus::Succeeded, "the state of the engine counts");
}

fn request_before_the_outcome(crew: &mut TestCluster) -> ResumeRun {
    crew.cut("ben");
    crew.finish("ben", "a", Outcome::exit(0));
    interrupts(crew, "ship", "ben", false);
    request(crew, "ship", Some("ann"))
}

#[test]
fn repeated_request_is_harmless_and_others_are_denied() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben", "cem"]);
        crew.submit_owned("ship", "ben", |plan| plan.plains(["a"]));
        let run = crew.run_id("ship");
        interrupts(&mut crew, "ship", "ben", sealed);
        let ask = |crew: &mut TestCluster, resume: &ResumeRun| {
            let (call, _) = EngineCall::resume(resume.clone()).into_parts();
            crew.ask(call)
        };
        let first = request(&crew, "ship", Some("ann"));
        let second = first.clone().owned_by(Some(crew.owner("cem")));
        assert_eq!(ask(&mut crew, &first), resumed());
        let events = crew.journal.len();
        assert_eq!(ask(&mut crew, &first), resumed());
        assert_eq!(crew.journal.len(), events, "nothing happened");
        let denied = EngineAnswer::Denied(RequestDenial::RunNotInterrupted(run));
        assert_eq!(ask(&mut crew, &second), denied);
        crew.pump();
        crew.succeed(["a"]);
        let ended = EngineAnswer::Denied(RequestDenial::RunEnded(run));
        assert_eq!(ask(&mut crew, &first), ended);
        seal(&mut crew, "ship");
        assert_eq!(ask(&mut crew, &first), denied, "an ended run is not revived");
    }
}

#[test]
fn progress_of_an_earlier_interruption_is_denied() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| plan.plains(["a", "b"]));
    interrupts(&mut crew, "ship", "ben", true);
    let early = request(&crew, "ship", None);
    resume(&mut crew, "ship", Some("ann"));
    crew.succeed(["a"]);
    crew.pass(Span::secs(1));
    interrupts(&mut crew, "ship", "ann", true);
    let (call, _) = EngineCall::resume(early).into_parts();
    let denied = RequestDenial::BadProgress(crew.run_id("ship"));
    assert_eq!(crew.ask(call), EngineAnswer::Denied(denied));
}

#[test]
fn sealed_interrupted_run_cannot_be_submitted_again() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| plan.plains(["a"]));
    interrupts(&mut crew, "ship", "ben", true);
    let ResumeRun { run, plan, .. } = request(&crew, "ship", None);
    let again = windlass_core::engine::SubmitRun::new(run, Arc::clone(&plan));
    let (call, _) = EngineCall::submit(again).into_parts();
    let denied = EngineAnswer::Denied(RequestDenial::RunInterrupted(run));
    assert_eq!(crew.ask(call), denied);
}

#[test]
fn time_while_interrupted_does_not_count_against_the_timeout() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben"]);
        let options = RunOptions { timeout: Some(Span::mins(10)), ..crew.owned("ben") };
        crew.submit_with("ship", options, |plan| plan.plains(["a"]));
        crew.pass(Span::mins(4));
        interrupts(&mut crew, "ship", "ben", sealed);
        crew.pass(Span::hours(4));
        resume(&mut crew, "ship", Some("ann"));
        crew.pass(Span::mins(6).saturating_sub(Span::millis(1)));
        assert_eq!(crew.run_status("ship"), RunStatus::Running);
        crew.pass(Span::millis(1));
        assert_eq!(crew.run_status("ship"), RunStatus::Cancelling);
    }
}

#[test]
fn archived_run_is_cancelled_by_resuming_it_without_an_owner() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| {
        plan.plains(["a", "b"]);
        let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
        plan.step("tidy", always, ["a"]);
    });
    interrupts(&mut crew, "ship", "ben", true);
    assert!(matches!(resume(&mut crew, "ship", None), EngineAnswer::Submitted { .. }));
    let (call, _) = EngineCall::cancel(crew.run_id("ship"), CancelLevel::Kill).into_parts();
    assert_eq!(crew.ask(call), EngineAnswer::Done);
    assert_eq!(crew.run_status("ship"), RunStatus::Cancelled);
    seal(&mut crew, "ship");
}

#[test]
fn fail_fast_goes_on_after_a_resumption() {
    for sealed in PLACES {
        let mut crew = TestCluster::folder(["ann", "ben"]);
        crew.submit_owned("ship", "ben", |plan| {
            plan.plains(["bad", "other"]);
            let always = StepSpec { condition: StatusCondition::Always, ..StepSpec::default() };
            plan.step("tidy", always, ["bad", "other"]);
        });
        crew.finish("ben", "bad", Outcome::exit(1));
        crew.finish("ben", "other", Outcome::plain(windlass_core::outcome::OutcomeKind::Cancelled));
        assert_eq!(crew.running("ben"), ["tidy"]);
        interrupts(&mut crew, "ship", "ben", sealed);
        resume(&mut crew, "ship", Some("ann"));
        crew.succeed(["tidy"]);
        assert_eq!(crew.run_status("ship"), RunStatus::Failed);
    }
}

#[test]
fn summary_counts_the_interruption_and_not_its_time() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| plan.plains(["a", "b"]));
    crew.pass(Span::secs(10));
    crew.succeed(["a"]);
    interrupts(&mut crew, "ship", "ben", true);
    let fold = |crew: &TestCluster| {
        let run = crew.run_id("ship");
        let mut events = crew.recorded().skip_while(|(_, event)| event.run() != Some(run));
        let (at, first) = events.next().expect("it was submitted");
        let mut summary = RunSummary::from_submitted(at, first).expect("it begins with that");
        events.for_each(|(at, event)| summary.apply_event(at, event));
        summary
    };
    crew.pass(Span::hours(1));
    let summary = fold(&crew);
    assert_eq!(summary.status(), RunStatus::Interrupted);
    assert_eq!(summary.led_time(crew.now), Span::secs(10));
    resume(&mut crew, "ship", Some("ann"));
    crew.pass(Span::secs(5));
    crew.succeed(["b"]);
    let summary = fold(&crew);
    assert_eq!((summary.status(), summary.interruptions()), (RunStatus::Succeeded, 1));
    assert_eq!(summary.led_time(crew.now), Span::secs(15));
    assert_eq!(summary.options().owner.map(|owner| owner.worker), Some(WorkerId(100)));
}

#[test]
fn every_prefix_of_the_journal_folds_to_a_sound_state() {
    let mut crew = TestCluster::folder(["ann", "ben"]);
    crew.submit_owned("ship", "ben", |plan| plan.plains(["a", "b", "c"]));
    crew.succeed(["a"]);
    interrupts(&mut crew, "ship", "ben", true);
    resume(&mut crew, "ship", Some("ann"));
    crew.succeed(["b", "c"]);
    for events in 0..crew.journal.len() {
        let mut engine = crew.prefix(events);
        let (request, _) = EngineCall::contacts().into_parts();
        engine.decide(request, crew.now, 7);
        assert_eq!(engine.check(), [], "after {events} events");
    }
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}
