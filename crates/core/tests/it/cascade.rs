//! Endings of many steps at once, in bounded decisions; and runs that reuse outcomes of earlier ones.

use windlass_core::engine::{
    CancelLevel, Engine, EngineAnswer, EngineConfig, EngineRequest, ProvenTime, REUSED_BYTES_MAX,
    RequestDenial, ReusedOutcome, RunOptions, StoreHistory, SubmitRun,
};
use windlass_core::id::{Incarnation, RunId, StepIx, Term, WorkerId};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Outcome, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    Exchange, FinishedAttempt, FormerIncarnationProof, LeaseRef, RegisterRequest, WorkerLocality,
};
use windlass_core::time::{Span, Time};

use crate::plan_sketch::PlanSketch;
use crate::test_cluster::{TTL, TestCluster};

const LINKS: u32 = 100_000;
const NOW: Time = Time::from_millis(1_200_000);

/// A long chain whose first step is leased. It uses a bare engine, because the checks of the test cluster visit every
/// step.
fn long_chain() -> (Engine, LeaseRef) {
    let mut engine = Engine::new(EngineConfig::default());
    let lead = EngineRequest::Lead {
        term: Term(1),
        ttl: TTL,
        generation: 0,
        own: None,
        history: StoreHistory::Unbroken,
        proven: ProvenTime::ALL,
    };
    engine.decide(lead, NOW, 0);
    for (number, name) in [(1, "alpha"), (2, "beta")] {
        let register = RegisterRequest {
            worker: WorkerId(number),
            name: name.into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        engine.decide(EngineRequest::Register(register), NOW, 0);
    }
    let plan = PlanSketch::draw("chain", |plan| plan.chain("link", LINKS));
    engine.decide(EngineRequest::Submit(SubmitRun::new(RunId(1), plan)), NOW, 0);
    let decision = engine.decide(EngineRequest::Exchange(exchange(1, 1, Vec::new())), NOW, 0);
    let body = decision.replies[0].body.clone().expect("alpha is registered");
    (engine, body.grants[0].lease)
}

fn exchange(worker: u64, seq: u64, finished: Vec<FinishedAttempt>) -> Exchange {
    Exchange {
        worker: WorkerId(worker),
        drains: false,
        incarnation: Incarnation(1),
        seq: windlass_core::id::Seq(seq),
        seen: windlass_core::id::Seq(seq - 1),
        term: windlass_core::id::Term(1),
        finished,
        in_flight: Vec::new(),
        want: 1,
    }
}

#[test]
fn failure_at_the_root_of_a_long_chain_blocks_it_in_bounded_decisions() {
    let (mut engine, lease) = long_chain();
    let small = PlanSketch::draw("small", |plan| plan.plain("small", []));
    let finished = vec![FinishedAttempt { lease, outcome: Outcome::exit(1), ran: None }];
    let mut decisions =
        vec![engine.decide(EngineRequest::Exchange(exchange(1, 2, finished)), NOW, 0)];
    assert_eq!(engine.step_status(RunId(1), StepIx(LINKS - 1)), Some(StepStatus::Waiting));
    decisions.push(engine.decide(EngineRequest::Submit(SubmitRun::new(RunId(2), small)), NOW, 0));
    let served = engine.decide(EngineRequest::Exchange(exchange(2, 1, Vec::new())), NOW, 0);
    let body = served.replies[0].body.clone().expect("beta is registered");
    assert_eq!(body.grants[0].lease.run, RunId(2), "an exchange is served between");
    decisions.push(served);
    assert_eq!(engine.run_status(RunId(1)), Some(RunStatus::Running), "in the middle of it");
    while engine.next_deadline() == Some(NOW) {
        decisions.push(engine.decide(EngineRequest::Tick, NOW, 0));
    }
    let max = EngineConfig::default().batch_max;
    assert!(decisions.iter().all(|decision| decision.events.len() <= max));
    assert!(decisions.len() > LINKS as usize / max);
    assert_eq!(engine.run_status(RunId(1)), Some(RunStatus::Failed));
    let blocked = |at: u32| engine.step_status(RunId(1), StepIx(at)) == Some(StepStatus::Blocked);
    assert!((1..LINKS).all(blocked));
    assert_eq!(engine.check(), []);
}

#[test]
fn long_chain_is_cancelled_in_bounded_decisions() {
    let (mut engine, _) = long_chain();
    let cancel = EngineRequest::Cancel { run: RunId(1), level: CancelLevel::Kill };
    let first = engine.decide(cancel, NOW, 0);
    assert_eq!(first.events.len(), EngineConfig::default().batch_max);
    while engine.next_deadline() == Some(NOW) {
        let decision = engine.decide(EngineRequest::Tick, NOW, 0);
        assert!(decision.events.len() <= EngineConfig::default().batch_max);
    }
    let last = engine.step_status(RunId(1), StepIx(LINKS - 1));
    assert!(last.is_some_and(StepStatus::is_terminal));
    assert_eq!(engine.run_status(RunId(1)), Some(RunStatus::Cancelling), "alpha has not answered");
}

#[test]
fn no_step_of_a_failed_run_begins_while_the_others_are_being_ended() {
    let mut cluster = TestCluster::with(EngineConfig { batch_max: 4, ..EngineConfig::default() })
        .worker("alpha", 1, ["a"])
        .worker("beta", 1, ["b"])
        .worker("gamma", 1, ["a", "g"]);
    let retry = RetryPolicy { elsewhere: true, ..RetryPolicy::times(1) };
    cluster.submit("ship", |plan| {
        plan.step("bad", StepSpec::requiring(["b"]), []);
        for at in 0..40 {
            plan.plain(&format!("after{at}"), ["bad"]);
        }
        let flaky = StepSpec { retry, per_worker: Some(1), ..StepSpec::requiring(["a"]) };
        plan.step("flaky", flaky, []);
        plan.step("busy", StepSpec::requiring(["g"]), []);
    });
    assert_eq!((cluster.running("alpha"), cluster.running("gamma")), both("flaky", "busy"));
    cluster.finish("alpha", "flaky", Outcome::exit(1));
    cluster.pass(Span::secs(2));
    assert_eq!(cluster.status("flaky"), StepStatus::Ready, "gamma is busy, and alpha is avoided");
    cluster.cut("beta");
    cluster.finish("beta", "bad", Outcome::exit(1));
    cluster.heal("beta");
    cluster.finish("gamma", "busy", Outcome::exit(0));
    cluster.pass(Span::secs(1));
    assert_eq!(cluster.status("flaky"), StepStatus::Cancelled);
    assert_eq!(cluster.run_status("ship"), RunStatus::Failed);
}

fn both(one: &str, other: &str) -> (Vec<String>, Vec<String>) {
    (vec![one.to_owned()], vec![other.to_owned()])
}

fn rerun(cluster: &mut TestCluster, reused: Vec<ReusedOutcome>) -> EngineAnswer {
    let plan = PlanSketch::draw("ship", |plan| {
        plan.plain("build", []);
        plan.plain("test", ["build"]);
        plan.plain("deploy", ["test"]);
    });
    let root = Some(RunId(70));
    let options = RunOptions { root, ..RunOptions::default() };
    cluster.submit_whole("ship", SubmitRun { options, reused, ..SubmitRun::new(RunId(71), plan) })
}

fn reuse(step: u32) -> ReusedOutcome {
    let output = StepOutput::inline("version=3");
    ReusedOutcome { step: StepIx(step), from: RunId(70), output }
}

#[test]
fn rerun_reuses_outcomes_and_runs_the_other_steps() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    rerun(&mut cluster, vec![reuse(1), reuse(0)]);
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    insta::assert_snapshot!(cluster.text(), @r#"
    term t1 ttl 15s fences 1
    worker alpha w1 i1 online 1 of 1 slots
    run 27 ship running
      build cached output Inline("version=3")
      test cached output Inline("version=3")
      deploy running f1 on alpha s1
    "#);
    cluster.succeed(["deploy"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn rerun_of_a_successful_run_ends_at_once() {
    let mut cluster = TestCluster::new();
    rerun(&mut cluster, vec![reuse(0), reuse(1), reuse(2)]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    insta::assert_snapshot!(cluster.text(), @r#"
    term t1 ttl 15s fences 0
    run 27 ship succeeded
      build cached output Inline("version=3")
      test cached output Inline("version=3")
      deploy cached output Inline("version=3")
    "#);
}

#[test]
fn rerun_that_reuses_an_outcome_of_no_step_is_denied() {
    let mut cluster = TestCluster::new();
    let denied = |step| EngineAnswer::Denied(RequestDenial::BadReuse(StepIx(step)));
    assert_eq!(rerun(&mut cluster, vec![reuse(3)]), denied(3));
    assert_eq!(rerun(&mut cluster, vec![reuse(0), reuse(0)]), denied(0));
}

#[test]
fn repeated_submission_is_the_same_run_and_another_plan_under_its_id_is_denied() {
    let mut cluster = TestCluster::new();
    let plan = |step: &str| PlanSketch::draw("ship", |plan| plan.plain(step, []));
    let submit = |step: &str| EngineRequest::Submit(SubmitRun::new(RunId(5), plan(step)));
    cluster.ask(submit("build"));
    let before = cluster.text();
    assert_eq!(cluster.ask(submit("build")), EngineAnswer::Submitted { warnings: Vec::new() });
    assert_eq!(
        cluster.ask(submit("other")),
        EngineAnswer::Denied(RequestDenial::RunExists(RunId(5)))
    );
    assert_eq!(cluster.text(), before);
}

#[test]
fn number_of_active_runs_and_steps_is_bounded() {
    let mut cluster =
        TestCluster::with(EngineConfig { runs_max: 2, steps_max: 5, ..EngineConfig::default() });
    let submit = |run: u64, length: u32| {
        let plan = PlanSketch::draw("ship", |plan| plan.chain("link", length));
        EngineRequest::Submit(SubmitRun::new(RunId(run), plan))
    };
    cluster.ask(submit(1, 3));
    let too_many = RequestDenial::TooManySteps { active: 3, more: 3, max: 5 };
    assert_eq!(cluster.ask(submit(2, 3)), EngineAnswer::Denied(too_many));
    cluster.ask(submit(2, 2));
    assert_eq!(cluster.ask(submit(3, 1)), EngineAnswer::Denied(RequestDenial::TooManyRuns(2)));
}

#[test]
fn outputs_of_an_earlier_run_that_are_too_large_together_are_refused() {
    let mut cluster = TestCluster::new();
    let count = REUSED_BYTES_MAX / INLINE_OUTPUT_MAX + 1;
    let names: Vec<String> = (0..count).map(|at| format!("build{at}")).collect();
    let plan = PlanSketch::draw("ship", |plan| {
        for name in &names {
            plan.plain(name, []);
        }
    });
    let output = StepOutput::inline("x".repeat(INLINE_OUTPUT_MAX));
    let reuse = |step| ReusedOutcome { step, from: RunId(70), output: output.clone() };
    let reused = plan.nodes().map(reuse).collect();
    let options = RunOptions { root: Some(RunId(70)), ..RunOptions::default() };
    let answer = cluster.ask(EngineRequest::Submit(SubmitRun {
        options,
        reused,
        ..SubmitRun::new(RunId(71), plan)
    }));
    let max = REUSED_BYTES_MAX;
    let bytes = count * INLINE_OUTPUT_MAX;
    assert_eq!(answer, EngineAnswer::Denied(RequestDenial::TooMuchReused { bytes, max }));
}
