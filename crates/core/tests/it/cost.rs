//! What decisions cost: plans that multiply lanes, locks and classes do not multiply the time of one decision.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::engine::{
    Answer, CancelLevel, Config, Engine, Request, RunOptions, StoreHistory, Submit, TTL_MAX,
    Warning,
};
use windlass_core::id::{RunId, StepIx, Term};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus};
use windlass_core::plan::{LockOrder, LockUse, Plan, PlanBuilder, StepSpec};
use windlass_core::session::{Home, Registered};
use windlass_core::time::{Span, Time};

use crate::mate::Mate;

/// The longest that one decision may take in a build for tests, on a machine that is busy with others. What these stories
/// guard against took a hundred times as long.
const DECISION_MAX: Duration = Duration::from_secs(2);

/// An engine with one worker, and the longest time that a decision took.
struct Measured {
    engine: Engine,
    now: Time,
    worker: Mate,
    longest: Duration,
}

impl Measured {
    fn new(slots: u32, labels: &[&str]) -> Self {
        let mut measured = Self {
            engine: Engine::new(Config::default()),
            now: Time::from_millis(1_000_000),
            worker: Mate::new(1, "alpha", slots, labels, Home::Apart),
            longest: Duration::ZERO,
        };
        let lead = Request::Lead {
            term: Term(1),
            ttl: TTL_MAX,
            generation: 0,
            own: None,
            history: StoreHistory::Unbroken,
        };
        measured.ask(lead);
        let register = Request::Register(measured.worker.register());
        let Answer::Registered(told) = measured.ask(register) else { panic!("it may join") };
        let told: Registered = told;
        measured.worker.joined(&told);
        measured
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the time that a decision takes is what is measured"
    )]
    fn ask(&mut self, request: Request) -> Answer {
        let begun = Instant::now();
        let decision = self.engine.decide(request, self.now, 7);
        self.longest = self.longest.max(begun.elapsed());
        for reply in decision.replies {
            self.worker.take(reply, self.now);
        }
        decision.answer
    }

    fn submit(&mut self, plan: Plan) -> Vec<Warning> {
        let mut submit = Submit::new(RunId(1), Arc::new(plan));
        submit.options = RunOptions { keep_going: true, ..RunOptions::default() };
        match self.ask(Request::Submit(submit)) {
            Answer::Submitted { warnings } => warnings,
            other => panic!("submitting was answered with {other:?}"),
        }
    }

    fn exchange(&mut self) {
        let exchange = self.worker.session().exchange(self.now);
        self.ask(Request::Exchange(exchange));
    }

    /// Lets time pass, with every deadline in it.
    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        while self.engine.next_deadline().is_some_and(|at| at <= self.now) {
            self.ask(Request::Tick);
        }
    }

    /// Ends what runs.
    fn finish(&mut self) -> usize {
        let running: Vec<(RunId, StepIx)> = self.worker.running().collect();
        for (run, step) in &running {
            let outcome = Outcome::plain(OutcomeKind::Succeeded);
            self.worker.finish(*run, *step, outcome, self.now);
        }
        self.exchange();
        self.pass(Span::millis(1));
        running.len()
    }

    /// No decision took long.
    fn check_time(&self) {
        assert!(self.longest < DECISION_MAX, "a decision took {:?}", self.longest);
    }

    /// No decision took long, and the state is sound.
    fn check(&self) {
        self.check_time();
        assert_eq!(self.engine.check(), []);
    }
}

/// A step with these locks, which no other step shares its lane with.
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
    let mut engine = Measured::new(4, &[]);
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
    engine.ask(Request::Cancel { run: RunId(1), level: CancelLevel::Stop });
    engine.pass(Span::secs(1));
    engine.finish();
    assert_eq!(engine.engine.run_status(RunId(1)), Some(RunStatus::Cancelled));
    engine.check();
}

#[test]
fn a_thousand_lanes_at_one_lock_leave_as_they_came() {
    let mut engine = Measured::new(4, &[]);
    let mut plan = PlanBuilder::new("lock");
    plan.lock_slots("lock-0", 1_000_000);
    for at in 0..10_000 {
        plan.step(&format!("s{at}"), locking(at, 1, LockOrder::Fifo));
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.pass(Span::secs(61));
    assert_eq!(engine.finish(), 4);
    engine.ask(Request::Cancel { run: RunId(1), level: CancelLevel::Kill });
    engine.pass(Span::secs(1));
    engine.finish();
    assert_eq!(engine.engine.run_status(RunId(1)), Some(RunStatus::Cancelled));
    assert_eq!(engine.engine.counts().locks, 0);
    engine.check();
}

#[test]
fn a_requirement_of_its_own_for_each_step_is_looked_at_once_per_step() {
    let mut engine = Measured::new(4, &["linux"]);
    let mut plan = PlanBuilder::new("classes");
    for at in 0..20_000 {
        let label = format!("not-there-{at}");
        plan.step(&format!("s{at}"), StepSpec::requiring([label.as_str()]));
    }
    let warnings = engine.submit(plan.build().expect("it is sound"));
    assert_eq!(warnings.len(), 21);
    assert_eq!(warnings[20], Warning::More(19_980));
    assert_eq!(warnings[20].to_string(), "19980 more warnings are not shown");
    engine.pass(Span::mins(6));
    assert_eq!(engine.engine.run_status(RunId(1)), Some(RunStatus::Failed));
    engine.check();
}

#[test]
fn a_worker_that_serves_every_class_is_served_in_short_decisions() {
    let mut engine = Measured::new(1000, &["linux"]);
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
    let mut engine = Measured::new(4, &[]);
    let mut plan = PlanBuilder::new("newest");
    for at in 0..10_000 {
        let spec = StepSpec { priority: at, ..locking(0, 1, LockOrder::CancelOlder) };
        plan.step(&format!("s{at}"), spec);
    }
    engine.submit(plan.build().expect("it is sound"));
    engine.exchange();
    engine.pass(Span::secs(61));
    assert_eq!(engine.finish(), 1);
    // To check the state costs more than the decisions: every step is looked for in a lane of 10,000.
    engine.check_time();
}
