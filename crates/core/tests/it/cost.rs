//! The cost of decisions: plans that multiply lanes, locks and classes do not multiply the time of one decision.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::engine::{
    BATCH_BYTES_MAX, CancelLevel, Engine, EngineAnswer, EngineConfig, EngineRequest, Event,
    LEASE_TTL_MAX, ProvenTime, RequestDenial, RunOptions, StoreHistory, SubmitRun, SubmitWarning,
};
use windlass_core::id::{RunId, StepIx, Term};
use windlass_core::outcome::{INLINE_OUTPUT_MAX, Outcome, OutcomeKind, RunStatus, StepOutput};
use windlass_core::plan::{
    DEMANDS_MAX, LockOrder, LockUse, Plan, PlanBuilder, PlanError, StepSpec,
};
use windlass_core::session::{FinishedAttempt, RegisterReply, WorkerLocality};
use windlass_core::time::{Span, Time};

use crate::session_worker::SessionWorker;

/// The maximum time of one decision in a test build on a busy machine. The faults that these tests guard against took a
/// hundred times as long.
const DECISION_MAX: Duration = Duration::from_secs(2);

/// An engine with one worker, and the longest time of a decision.
struct MeasuredEngine {
    engine: Engine,
    now: Time,
    worker: SessionWorker,
    longest: Duration,
    /// The bytes of the events of each decision.
    bytes: Vec<usize>,
}

impl MeasuredEngine {
    fn new(slots: u32, labels: &[&str]) -> Self {
        let mut measured = Self {
            engine: Engine::new(EngineConfig::default()),
            now: Time::from_millis(1_000_000),
            worker: SessionWorker::new(1, "alpha", slots, labels, WorkerLocality::Apart),
            longest: Duration::ZERO,
            bytes: Vec::new(),
        };
        let lead = EngineRequest::Lead {
            term: Term(1),
            ttl: LEASE_TTL_MAX,
            generation: 0,
            own: None,
            history: StoreHistory::Unbroken,
            proven: ProvenTime::ALL,
        };
        measured.ask(lead);
        let register = EngineRequest::Register(measured.worker.register());
        let EngineAnswer::Registered(reply) = measured.ask(register) else { panic!("it may join") };
        let reply: RegisterReply = reply;
        measured.worker.joined(&reply);
        measured
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the time that a decision takes is what is measured"
    )]
    fn ask(&mut self, request: EngineRequest) -> EngineAnswer {
        let begun = Instant::now();
        let decision = self.engine.decide(request, self.now, 7);
        self.longest = self.longest.max(begun.elapsed());
        self.bytes.push(decision.events.iter().map(Event::bytes).sum());
        for reply in decision.replies {
            self.worker.take(reply, self.now);
        }
        decision.answer
    }

    fn submit(&mut self, plan: Plan) -> Vec<SubmitWarning> {
        match self.try_submit(1, plan) {
            EngineAnswer::Submitted { warnings } => warnings,
            other => panic!("submitting was answered with {other:?}"),
        }
    }

    fn try_submit(&mut self, run: u64, plan: Plan) -> EngineAnswer {
        let mut submit = SubmitRun::new(RunId(run), Arc::new(plan));
        submit.options = RunOptions { keep_going: true, ..RunOptions::default() };
        self.ask(EngineRequest::Submit(submit))
    }

    /// Adds a worker that requests no steps.
    fn join(&mut self, id: u64, labels: &[&str]) {
        let mate = SessionWorker::new(id, &format!("other-{id}"), 1, labels, WorkerLocality::Apart);
        self.ask(EngineRequest::Register(mate.register()));
    }

    fn exchange(&mut self) {
        let exchange = self.worker.session().exchange(self.now);
        self.ask(EngineRequest::Exchange(exchange));
    }

    /// Lets time pass, with every deadline in it.
    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        while self.engine.next_deadline().is_some_and(|at| at <= self.now) {
            self.ask(EngineRequest::Tick);
        }
    }

    /// Ends the running steps.
    fn finish(&mut self) -> usize {
        self.finish_with(&StepOutput::NONE)
    }

    /// Ends the running steps, and reports all of them at once.
    fn finish_with(&mut self, output: &StepOutput) -> usize {
        let running: Vec<(RunId, StepIx)> = self.worker.running().collect();
        for (run, step) in &running {
            let outcome = Outcome::plain(OutcomeKind::Succeeded);
            let outcome = Outcome { output: output.clone(), ..outcome };
            self.worker.finish(*run, *step, outcome, self.now);
        }
        self.exchange();
        self.pass(Span::millis(1));
        running.len()
    }

    /// Checks that no decision took long.
    fn check_time(&self) {
        assert!(self.longest < DECISION_MAX, "a decision took {:?}", self.longest);
    }

    /// Checks that no decision took long, and that the invariants hold.
    fn check(&self) {
        self.check_time();
        assert_eq!(self.engine.check(), []);
    }
}

/// A step with these locks, in a lane of its own.
fn locking(at: u64, locks: usize, order: LockOrder) -> StepSpec {
    let used = |lock: usize| LockUse { name: format!("lock-{lock}").into(), order };
    StepSpec {
        locks: (0..locks).map(used).collect(),
        wait_for_lock: Span::hours(1) + Span::millis(at),
        ..StepSpec::default()
    }
}

#[test]
fn lanes_that_wait_for_the_same_locks_are_looked_at_once_per_change() {
    let mut engine = MeasuredEngine::new(4, &[]);
    let mut plan = PlanBuilder::new("locks");
    for at in 0..500 {
        plan.step(&format!("s{at}"), locking(at, 32, LockOrder::Fifo));
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.pass(Span::secs(61));
    engine.check();
    for _ in 0..20 {
        assert_eq!(engine.finish(), 1, "one step at a time holds the locks");
    }
    engine.check();
    engine.ask(EngineRequest::Cancel { run: RunId(1), level: CancelLevel::Stop });
    engine.pass(Span::secs(1));
    engine.finish();
    assert_eq!(engine.engine.run_status(RunId(1)), Some(RunStatus::Cancelled));
    engine.check();
}

#[test]
fn thousand_lanes_at_one_lock_are_removed_in_short_decisions() {
    let mut engine = MeasuredEngine::new(4, &[]);
    let mut plan = PlanBuilder::new("lock");
    plan.lock_slots("lock-0", 1_000_000);
    for at in 0..10_000 {
        plan.step(&format!("s{at}"), locking(at, 1, LockOrder::Fifo));
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.pass(Span::secs(61));
    assert_eq!(engine.finish(), 4);
    engine.ask(EngineRequest::Cancel { run: RunId(1), level: CancelLevel::Kill });
    engine.pass(Span::secs(1));
    engine.finish();
    assert_eq!(engine.engine.run_status(RunId(1)), Some(RunStatus::Cancelled));
    assert_eq!(engine.engine.counts().locks, 0);
    engine.check();
}

#[test]
fn a_requirement_of_its_own_for_each_step_is_looked_at_once_per_step() {
    let mut engine = MeasuredEngine::new(4, &["linux"]);
    let mut plan = PlanBuilder::new("classes");
    for at in 0..10_000 {
        let label = format!("not-there-{at}");
        plan.step(&format!("s{at}"), StepSpec::requiring([label.as_str()]));
    }
    let warnings = engine.submit(plan.build().expect("it is sound"));
    assert_eq!(warnings.len(), 21);
    assert_eq!(warnings[20], SubmitWarning::More(9_980));
    assert_eq!(warnings[20].to_string(), "9980 more warnings are not shown");
    engine.pass(Span::mins(6));
    assert_eq!(engine.engine.run_status(RunId(1)), Some(RunStatus::Failed));
    engine.check();
}

/// A plan in which each step denies another worker, none of which exists.
fn denying(steps: std::ops::Range<usize>) -> Result<Plan, Vec<PlanError>> {
    let mut plan = PlanBuilder::new("classes");
    for at in steps {
        let deny = vec![format!("not-there-{at}").into()];
        let placement = windlass_core::plan::Placement { deny, ..Default::default() };
        plan.step(&format!("s{at}"), StepSpec { placement, ..StepSpec::default() });
    }
    plan.build()
}

#[test]
fn thousand_workers_are_matched_to_the_maximum_of_requirements_in_time() {
    let beyond = denying(0..DEMANDS_MAX + 1).expect_err("it is beyond the bound");
    assert_eq!(beyond, [PlanError::TooManyDemands(DEMANDS_MAX + 1)]);
    let text = beyond[0].to_string();
    assert!(text.contains("10001") && text.contains("10000"), "{text}");
    let mut engine = MeasuredEngine::new(4, &["linux"]);
    (2..=1_000).for_each(|id| engine.join(id, &["linux", "x64"]));
    engine.submit(denying(0..DEMANDS_MAX).expect("it is at the bound"));
    engine.join(1_001, &["linux"]);
    let taken = engine.longest;
    engine.longest = Duration::ZERO;
    engine.ask(EngineRequest::Cancel { run: RunId(1), level: CancelLevel::Kill });
    engine.pass(Span::secs(1));
    engine.ask(EngineRequest::Seal { run: RunId(1) });
    engine.check();
    // Without optimization a comparison takes half a microsecond; with it, a tenth of that.
    assert!(taken < 10 * DECISION_MAX, "10,000,000 comparisons took {taken:?}");
}

#[test]
fn limit_on_all_active_runs_is_reported_with_its_numbers() {
    let mut engine = MeasuredEngine::new(4, &[]);
    let denied = |answer: EngineAnswer| match answer {
        EngineAnswer::Denied(denial) => denial,
        other => panic!("it was answered with {other:?}"),
    };
    let locking = |from: u64| {
        let mut plan = PlanBuilder::new("locks");
        for at in from..from + 3 {
            plan.step(&format!("s{at}"), locking(at, 2, LockOrder::Fifo));
        }
        plan.build().expect("it is sound")
    };
    engine.engine =
        engine.engine.with_config(EngineConfig { lock_uses_max: 11, ..EngineConfig::default() });
    engine.submit(locking(0));
    let denial = denied(engine.try_submit(2, locking(10)));
    assert_eq!(denial, RequestDenial::TooManyLockUses { active: 6, more: 6, max: 11 });
    assert!(denial.to_string().contains("more would exceed the limit of 11"), "{denial}");

    let (active, bytes) = (locking(0).bytes(), locking(10).bytes());
    let max = active + bytes - 1;
    let config = EngineConfig { plan_bytes_max: max, ..EngineConfig::default() };
    engine.engine = engine.engine.with_config(config);
    let denial = denied(engine.try_submit(2, locking(10)));
    assert_eq!(denial, RequestDenial::TooManyBytes { active, more: bytes, max });

    engine.engine =
        engine.engine.with_config(EngineConfig { demands_max: 7, ..EngineConfig::default() });
    let submitted = engine.try_submit(2, denying(0..4).expect("it is sound"));
    assert!(matches!(submitted, EngineAnswer::Submitted { .. }), "{submitted:?}");
    let denial = denied(engine.try_submit(3, denying(2..8).expect("it is sound")));
    assert_eq!(denial, RequestDenial::TooManyDemands { active: 4, more: 4, max: 7 });
    let known = engine.try_submit(3, denying(1..4).expect("it is sound"));
    assert!(
        matches!(known, EngineAnswer::Submitted { .. }),
        "equal demands cost nothing: {known:?}"
    );
    for run in [2, 3] {
        engine.ask(EngineRequest::Cancel { run: RunId(run), level: CancelLevel::Kill });
        engine.pass(Span::secs(1));
        engine.ask(EngineRequest::Seal { run: RunId(run) });
    }
    let freed = engine.try_submit(4, denying(2..8).expect("it is sound"));
    assert!(matches!(freed, EngineAnswer::Submitted { .. }), "{freed:?}");
}

/// The largest output that an event contains.
fn largest() -> StepOutput {
    StepOutput::inline("x".repeat(INLINE_OUTPUT_MAX))
}

/// The bytes that one event may add to a batch that is almost full.
const ONE_MORE: usize = 2 * INLINE_OUTPUT_MAX;

#[test]
fn report_larger_than_a_batch_is_processed_in_parts() {
    let mut engine = MeasuredEngine::new(300, &[]);
    let mut plan = PlanBuilder::new("large");
    for at in 0..300 {
        plan.step(&format!("s{at}"), StepSpec::default());
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.bytes.clear();
    for reports in 1.. {
        // Our own worker sends less at a time; another one may send everything at once.
        let mut exchange = engine.worker.session().exchange(engine.now);
        let outcome = Outcome { output: largest(), ..Outcome::plain(OutcomeKind::Succeeded) };
        let listed = exchange.in_flight.drain(..).map(|it| it.lease);
        exchange.finished = listed
            .map(|lease| FinishedAttempt { lease, outcome: outcome.clone(), ran: None })
            .collect();
        assert!(reports > 1 || exchange.finished.len() == 300, "all of them end in one report");
        engine.ask(EngineRequest::Exchange(exchange));
        engine.pass(Span::millis(1));
        if engine.engine.run_status(RunId(1)) == Some(RunStatus::Succeeded) {
            assert!(reports >= 3, "each of them has part of it: {reports}");
            break;
        }
    }
    let heaviest = engine.bytes.iter().copied().max().unwrap_or_default();
    assert!((BATCH_BYTES_MAX..BATCH_BYTES_MAX + ONE_MORE).contains(&heaviest), "{heaviest}");
    assert!(engine.bytes.iter().sum::<usize>() > 2 * BATCH_BYTES_MAX, "it takes three decisions");
    engine.check();
}

#[test]
fn recorded_outcomes_that_many_steps_reuse_are_split_by_their_bytes() {
    let mut engine = MeasuredEngine::new(4, &[]);
    let keyed = |steps: usize| {
        let mut plan = PlanBuilder::new("keyed");
        for at in 0..steps {
            plan.step(&format!("s{at}"), StepSpec::idempotent("release"));
        }
        plan.build().expect("it is sound")
    };
    engine.submit(keyed(1));
    engine.exchange();
    assert_eq!(engine.finish_with(&largest()), 1);
    engine.bytes.clear();
    let submitted = engine.try_submit(2, keyed(300));
    assert!(matches!(submitted, EngineAnswer::Submitted { .. }), "{submitted:?}");
    engine.pass(Span::secs(1));
    assert_eq!(engine.engine.run_status(RunId(2)), Some(RunStatus::Succeeded));
    let heaviest = engine.bytes.iter().copied().max().unwrap_or_default();
    assert!((BATCH_BYTES_MAX..BATCH_BYTES_MAX + ONE_MORE).contains(&heaviest), "{heaviest}");
    assert!(engine.bytes.iter().sum::<usize>() > 2 * BATCH_BYTES_MAX, "it takes three decisions");
    engine.check();
}

#[test]
fn a_worker_that_serves_every_class_is_served_in_short_decisions() {
    let mut engine = MeasuredEngine::new(1000, &["linux"]);
    let mut plan = PlanBuilder::new("classes");
    for at in 0..5_000 {
        let placement = StepSpec::requiring(["linux"]).placement;
        let deny = vec![format!("other-{at}").into()];
        let placement = windlass_core::plan::Placement { deny, ..placement };
        plan.step(&format!("s{at}"), StepSpec { placement, ..StepSpec::default() });
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.pass(Span::millis(1));
    let mut done = engine.finish();
    while done < 1_500 {
        done += engine.finish();
    }
    engine.check();
}

#[test]
fn steps_that_end_older_ones_look_at_runs_and_not_at_each_other() {
    let mut engine = MeasuredEngine::new(4, &[]);
    let mut plan = PlanBuilder::new("newest");
    for at in 0..10_000 {
        let spec = StepSpec { priority: at, ..locking(0, 1, LockOrder::CancelOlder) };
        plan.step(&format!("s{at}"), spec);
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.pass(Span::secs(61));
    assert_eq!(engine.finish(), 1);
    // Checking the state costs more than the decisions: every step is searched in a lane of 10,000.
    engine.check_time();
}
