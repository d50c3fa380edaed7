//! Faulty or hostile workers, guards and clients: their messages are bounded, checked and never trusted blindly.

use windlass_core::engine::{
    Engine, EngineAnswer, EngineConfig, EngineRequest, Event, ProvenTime, RequestDenial,
    StepSettlement, StoreHistory, SubmitRun, event,
};
use windlass_core::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, WorkerId};
use windlass_core::outcome::{
    INLINE_OUTPUT_MAX, Outcome, RunStatus, StepOutput, StepStatus, StepValue,
};
use windlass_core::plan::{PlanBuilder, PlanError, RetryPolicy, StepSpec, WORK_MAX};
use windlass_core::session::{
    Exchange, ExchangeReply, ExchangeReplyBody, FinishedAttempt, LeaseRef, OutcomeVerdict,
    WorkerLocality,
};
use windlass_core::time::{Span, Time};

use crate::plan_sketch::PlanSketch;
use crate::session_worker::SessionWorker;
use crate::test_cluster::{TTL, TestCluster};

/// The maximum size of a message.
const MESSAGE_MAX: usize = 1 << 20;

/// An exchange of a worker without leases.
fn bare(worker: u64, seq: u64, want: u32) -> Exchange {
    Exchange {
        worker: WorkerId(worker),
        drains: false,
        incarnation: Incarnation(1),
        seq: Seq(seq),
        seen: Seq(seq - 1),
        term: Term(1),
        finished: Vec::new(),
        in_flight: Vec::new(),
        want,
    }
}

/// A report that a lease ended with success.
fn claim(fence: u64, run: u64, step: u32) -> FinishedAttempt {
    let lease = LeaseRef { fence: Fence(fence), run: RunId(run), step: StepIx(step), attempt: 1 };
    FinishedAttempt { lease, outcome: Outcome::exit(0), ran: None }
}

fn numbered(run: u64, steps: usize) -> EngineRequest {
    let plan = PlanSketch::draw("ship", |plan| {
        (0..steps).for_each(|at| plan.plain(&format!("s{at}"), []));
    });
    EngineRequest::Submit(SubmitRun::new(RunId(run), plan))
}

/// A cluster with one worker that has joined and made no exchange.
fn silent(config: EngineConfig, slots: u32) -> TestCluster {
    let mut cluster = TestCluster::with(config);
    let mate = SessionWorker::new(1, "alpha", slots, &[], WorkerLocality::Apart);
    cluster.enlist("alpha", mate).expect("the worker may join");
    cluster
}

/// Returns the reply to the newest exchange; a parked exchange is answered before it.
fn body(replies: &[ExchangeReply]) -> &ExchangeReplyBody {
    let reply = replies.last().expect("the exchange is answered");
    reply.body.as_ref().expect("the worker is not refused")
}

/// Leads for the first time, with these durations.
fn lead(config: EngineConfig, ttl: Span) -> EngineAnswer {
    let request = EngineRequest::Lead {
        term: Term(1),
        ttl,
        generation: 0,
        own: None,
        history: StoreHistory::Unbroken,
        proven: ProvenTime::ALL,
    };
    Engine::new(config).decide(request, Time::from_millis(1_200_000), 1).answer
}

#[test]
fn report_of_an_absurd_run_time_has_no_other_effect() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plains(["one", "two", "three"]));
    let mut exchange = cluster.send("alpha");
    for listed in std::mem::take(&mut exchange.in_flight) {
        let (lease, ran) = (listed.lease, Some(Span::millis(u64::MAX)));
        exchange.finished.push(FinishedAttempt { lease, outcome: Outcome::exit(0), ran });
    }
    assert!(!exchange.finished.is_empty());
    cluster.arrive(&exchange);
    assert_eq!(cluster.status("one"), StepStatus::Succeeded);
    cluster.restart("alpha");
    while let Some(step) = cluster.running("alpha").first().cloned() {
        cluster.finish("alpha", &step, Outcome::exit(0));
    }
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn waiting_worker_gets_no_more_than_it_requested() {
    let mut cluster = silent(EngineConfig::default(), 4);
    assert_eq!(cluster.arrive(&bare(1, 1, 1)), [], "parked: there is nothing to do");
    let decision = cluster.decide(numbered(1, 9));
    assert_eq!(body(&decision.replies).grants.len(), 1);
}

#[test]
fn worker_gets_no_more_than_it_requested() {
    let mut cluster = silent(EngineConfig::default(), 4);
    cluster.decide(numbered(1, 9));
    assert_eq!(body(&cluster.arrive(&bare(1, 1, 1))).grants.len(), 1);
}

#[test]
fn resent_grants_never_exceed_the_reply_limit() {
    let mut cluster = silent(EngineConfig { grants_max: 4, ..EngineConfig::default() }, 20);
    cluster.decide(numbered(1, 40));
    for seq in 1..9 {
        let replies = cluster.arrive(&Exchange { seen: Seq(0), ..bare(1, seq, 40) });
        let grants = body(&replies).grants.len();
        assert!(grants <= 4, "{grants} grants in a reply of at most 4");
    }
}

#[test]
fn guard_report_that_omits_a_started_step_does_not_make_it_run_twice() {
    let once = RetryPolicy { lost: 0, ..RetryPolicy::default() };
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.step("deploy", StepSpec { retry: once, ..StepSpec::default() }, []);
    });
    cluster.exchange("alpha");
    assert_eq!(cluster.status("deploy"), StepStatus::Running);
    let (worker, incarnation) = (WorkerId(1), Incarnation(1));
    cluster.ask(EngineRequest::GuardEnded { worker, incarnation, started: Vec::new() });
    assert_eq!(cluster.status("deploy"), StepStatus::Failed);
}

#[test]
fn flood_of_outcomes_of_unknown_leases_counts_as_one_loss_at_most() {
    let mut cluster = TestCluster::with(EngineConfig { batch_max: 4, ..EngineConfig::default() })
        .worker("alpha", 9, []);
    let mut exchange = cluster.send("alpha");
    exchange.finished = (0..50).map(|at| claim(at, 77, 0)).collect();
    let before = cluster.journal.len();
    cluster.arrive(&exchange);
    assert_eq!(cluster.journal.len(), before + 1, "run 77 does not exist");
    exchange.seq = Seq(exchange.seq.0 + 1);
    cluster.arrive(&exchange);
    assert_eq!(cluster.journal.len(), before + 1, "it was lost once");
}

/// There are 65,536 generations. A worker that could use them up would end the cluster.
#[test]
fn reported_losses_count_once_a_term_and_only_within_bounds() {
    let mut cluster = TestCluster::new().worker("alpha", 9, []);
    let reported = |cluster: &mut TestCluster, fence: Fence| {
        let mut exchange = cluster.send("alpha");
        exchange.finished = vec![claim(fence.0, 77, 0)];
        let replies = cluster.arrive(&exchange);
        cluster.deliver(replies);
        cluster.engine.generation()
    };
    assert_eq!(
        reported(&mut cluster, Fence::new(60_000, 1)),
        0,
        "a store is not restored this often"
    );
    assert_eq!(reported(&mut cluster, Fence::new(0, 99)), 1);
    for generation in 1..10 {
        assert_eq!(
            reported(&mut cluster, Fence::new(generation, 99)),
            1,
            "the store cannot have lost more"
        );
    }
    cluster.take_over();
    assert_eq!(
        reported(&mut cluster, Fence::new(3, 99)),
        4,
        "a new leader may have found an older store"
    );
    assert_eq!(reported(&mut cluster, Fence::new(4, 99)), 4);
}

#[test]
fn late_outcome_is_kept_only_for_a_lease_that_existed() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let fence = cluster.fence("build");
    cluster.kill("alpha");
    cluster.guard_ended("alpha");
    cluster.join("beta", 1, []);
    let mut exchange = cluster.send("beta");
    let mut late = claim(fence.0, 1, 9999);
    late.outcome.output = StepOutput::inline("x".repeat(900_000));
    exchange.finished.push(late);
    cluster.arrive(&exchange);
    let kept = cluster.journal.iter().any(|event| matches!(event, Event::LateOutcome(_)));
    assert!(!kept, "the plan has no such step");
}

#[test]
fn the_outcome_of_a_step_that_was_never_leased_is_stale() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| {
        plan.plain("build", []);
        plan.plain("test", ["build"]);
    });
    cluster.finish("alpha", "build", Outcome::exit(1));
    assert_eq!(cluster.status("test"), StepStatus::Blocked);
    let mut exchange = cluster.send("alpha");
    exchange.finished.push(claim(0, 1, 1));
    let replies = cluster.arrive(&exchange);
    assert_eq!(body(&replies).verdicts, [(Fence(0), OutcomeVerdict::Stale)]);
}

#[test]
fn many_large_outputs_are_reported_in_messages_that_fit() {
    let mut cluster = TestCluster::new().worker("alpha", 20, []);
    let names: Vec<String> = (0..20).map(|at| format!("s{at}")).collect();
    cluster.submit("ship", |plan| names.iter().for_each(|name| plan.plain(name, [])));
    cluster.cut("alpha");
    for name in &names {
        let output = StepOutput::inline("x".repeat(INLINE_OUTPUT_MAX));
        cluster.finish("alpha", name, Outcome { output, ..Outcome::exit(0) });
    }
    let length = |finished: &FinishedAttempt| match &finished.outcome.output.value {
        StepValue::Inline(text) => text.len(),
        _ => 0,
    };
    let bytes: usize = cluster.send("alpha").finished.iter().map(length).sum();
    assert!((1..MESSAGE_MAX).contains(&bytes), "{bytes} bytes in one message");
    cluster.heal("alpha");
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded, "the rest came with later ones");
}

#[test]
fn worker_with_exhausted_sequence_numbers_ends_and_may_restart() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.arrive(&Exchange { seen: Seq(0), ..bare(1, u64::MAX, 1) });
    cluster.pass(Span::hours(2));
    assert!(cluster.mate("alpha").session().ended().is_some(), "it is not refused for ever");
    cluster.restart("alpha");
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.succeed(["build"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn event_about_an_unknown_step_is_an_error_and_no_panic() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.plain("build", []));
    let settled = StepSettlement::FailedNoLock;
    let event = Event::StepSettled(event::StepSettled { run: RunId(1), step: StepIx(9), settled });
    assert!(cluster.engine.apply(cluster.now, &event).is_err());
}

#[test]
fn a_generation_of_the_store_that_has_passed_cannot_lead() {
    let lead = |term, generation| EngineRequest::Lead {
        term,
        ttl: TTL,
        generation,
        own: None,
        history: StoreHistory::Unbroken,
        proven: ProvenTime::ALL,
    };
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    assert_eq!(cluster.ask(lead(Term(2), 1)), EngineAnswer::Done);
    cluster.pass(Span::secs(10));
    cluster.submit("ship", |plan| plan.plain("build", []));
    cluster.succeed(["build"]);
    let denial = RequestDenial::StaleGeneration { asked: 0, known: 1 };
    assert_eq!(cluster.ask(lead(Term(3), 0)), EngineAnswer::Denied(denial), "fences would fall");
}

#[test]
fn leases_must_outlast_two_exchanges() {
    let every = |secs| EngineConfig { interval: Some(Span::secs(secs)), ..EngineConfig::default() };
    for secs in [8, 60] {
        let denial = RequestDenial::BadTiming { ttl: TTL, interval: Span::secs(secs) };
        assert_eq!(lead(every(secs), TTL), EngineAnswer::Denied(denial));
    }
    assert_eq!(lead(every(7), TTL), EngineAnswer::Done);
    let none = lead(EngineConfig::default(), Span::ZERO);
    assert!(matches!(none, EngineAnswer::Denied(RequestDenial::BadTiming { .. })), "{none:?}");
}

#[test]
fn plan_with_foreign_needs_is_refused() {
    let mut builder = PlanBuilder::new("ship");
    let step = builder.step("build", StepSpec::default());
    builder.needs(step, StepIx(7));
    let problems = builder.build().expect_err("there is no step 7");
    assert_eq!(problems, [PlanError::NoSuchNode(StepIx(7))]);
}

#[test]
fn plan_with_steps_larger_than_a_message_is_refused() {
    let mut builder = PlanBuilder::new("ship");
    builder.step_with("build", StepSpec::default(), &"x".repeat(WORK_MAX + 1));
    let problems = builder.build().expect_err("it could not be granted");
    assert_eq!(problems, [PlanError::WorkTooLong("build".to_owned())]);
}

#[test]
fn a_flood_of_late_outcomes_stays_within_the_bound_of_events() {
    let mut cluster = TestCluster::with(EngineConfig { batch_max: 8, ..EngineConfig::default() })
        .worker("alpha", 20, []);
    let names: Vec<String> = (0..20).map(|at| format!("s{at}")).collect();
    cluster.submit("ship", |plan| names.iter().for_each(|name| plan.plain(name, [])));
    cluster.cut("alpha");
    for name in &names {
        cluster.finish("alpha", name, Outcome::exit(0));
    }
    cluster.join("beta", 20, []);
    cluster.pass(TTL);
    assert_eq!(cluster.running("beta").len(), 20);
    cluster.heal("alpha");
    let late = cluster.journal.iter().filter(|event| matches!(event, Event::LateOutcome(_)));
    assert_eq!(late.count(), 20, "what has no verdict is reported again");
}
