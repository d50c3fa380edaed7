//! An engine with workers that finish whatever they are granted before their next exchange.
//!
//! Nothing is simulated but the workers' side of the session: every step goes through real requests and replies, in
//! batches as large as the engine grants. Time passes by a millisecond with each round of exchanges.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::engine::{
    Engine, EngineConfig, EngineDecision, EngineRequest, Event, ProvenTime, StoreHistory, SubmitRun,
};
use windlass_core::id::{RunId, Term};
use windlass_core::outcome::RunStatus;
use windlass_core::plan::Plan;
use windlass_core::time::{Span, Time};

use crate::bench_worker::{self, BenchWorker};

/// The run that is measured. A real id: what it takes in a journal counts.
pub(crate) const RUN: RunId = RunId::new(BEGINNING.as_millis(), 5);

/// The start time.
pub(crate) const BEGINNING: Time = Time::from_millis(1_790_000_000_000);

/// The workers of a fleet.
#[derive(Clone, Debug)]
pub(crate) struct FleetWorkers {
    /// The labels of each worker.
    labels: Vec<Vec<String>>,
    /// The slots of each worker.
    slots: u32,
}

impl FleetWorkers {
    /// One worker with many slots.
    pub(crate) fn one() -> Self {
        Self::of(vec![Vec::new()], 1024)
    }

    /// A worker for each list of labels.
    pub(crate) fn of(labels: Vec<Vec<String>>, slots: u32) -> Self {
        Self { labels, slots }
    }
}

/// An engine and its workers.
#[derive(Debug)]
pub(crate) struct EngineFleet {
    engine: Engine,
    workers: Vec<BenchWorker>,
    slots: u32,
    now: Time,
    /// The number of exchanges.
    pub(crate) exchanges: u64,
    watch: DecisionWatch,
}

/// The part of a run's decisions that is recorded.
#[derive(Debug)]
enum DecisionWatch {
    /// Nothing, while time is measured.
    Nothing,
    /// The duration of the longest decision.
    Longest(Duration),
    /// Their events.
    Events(Vec<(Time, Event)>),
}

impl EngineFleet {
    /// An engine that leads, with all its workers registered.
    pub(crate) fn new(fleet_workers: &FleetWorkers) -> Self {
        Self::watched(fleet_workers, DecisionWatch::Nothing)
    }

    fn watched(fleet_workers: &FleetWorkers, watch: DecisionWatch) -> Self {
        let mut fleet = Self {
            engine: Engine::new(EngineConfig::default()),
            workers: Vec::new(),
            slots: fleet_workers.slots,
            now: BEGINNING,
            exchanges: 0,
            watch,
        };
        fleet.decide(EngineRequest::Lead {
            term: Term(1),
            ttl: Span::secs(15),
            generation: 0,
            own: None,
            history: StoreHistory::Unbroken,
            proven: ProvenTime::NONE,
        });
        for labels in &fleet_workers.labels {
            fleet.join(labels);
        }
        fleet
    }

    fn join(&mut self, labels: &[String]) {
        let hand = BenchWorker::new(self.workers.len(), self.slots);
        let register = hand.register(labels);
        self.workers.push(hand);
        self.decide(EngineRequest::Register(register));
    }

    /// Submits a plan.
    pub(crate) fn submit(&mut self, plan: &Arc<Plan>) {
        self.decide(EngineRequest::Submit(SubmitRun::new(RUN, Arc::clone(plan))));
    }

    /// Runs a plan from its submission to its end.
    pub(crate) fn run(&mut self, plan: &Arc<Plan>) {
        self.submit(plan);
        self.work();
    }

    /// Works until the run has ended.
    pub(crate) fn work(&mut self) {
        while self.engine.run_status(RUN) == Some(RunStatus::Running) {
            self.now = self.now + Span::millis(1);
            let mut idle = true;
            for at in 0..self.workers.len() {
                if !self.workers[at].waits {
                    self.exchange(at);
                    idle = false;
                }
            }
            self.tick(idle);
        }
        assert!(is_done(&self.engine), "every step of the benchmark succeeds");
    }

    /// Advances the time and handles timers, like a leader. Jumps to the next timer if all workers are idle.
    fn tick(&mut self, idle: bool) {
        let Some(due) = self.engine.next_deadline() else {
            return;
        };
        if idle {
            self.now = self.now.max(due);
        }
        if due <= self.now {
            self.decide(EngineRequest::Tick);
        }
    }

    fn exchange(&mut self, at: usize) {
        let exchange = self.workers[at].exchange();
        self.exchanges += 1;
        self.decide(EngineRequest::Exchange(exchange));
    }

    fn decide(&mut self, request: EngineRequest) {
        let began = matches!(self.watch, DecisionWatch::Longest(_)).then(now);
        let EngineDecision { at, events, replies, .. } = self.engine.decide(request, self.now, 7);
        match (&mut self.watch, began) {
            (DecisionWatch::Longest(longest), Some(began)) => {
                *longest = began.elapsed().max(*longest);
            }
            (DecisionWatch::Events(tape), _) => {
                tape.extend(events.into_iter().map(|event| (at, event)));
            }
            (DecisionWatch::Nothing | DecisionWatch::Longest(_), _) => {}
        }
        for reply in replies {
            bench_worker::deliver(&mut self.workers, reply);
        }
    }
}

/// Every event of a run of the plan.
pub(crate) fn record(fleet_workers: &FleetWorkers, plan: &Arc<Plan>) -> Vec<(Time, Event)> {
    let mut fleet = EngineFleet::watched(fleet_workers, DecisionWatch::Events(Vec::new()));
    fleet.run(plan);
    match fleet.watch {
        DecisionWatch::Events(events) => events,
        DecisionWatch::Nothing | DecisionWatch::Longest(_) => Vec::new(),
    }
}

/// The decision of a run of the plan that takes longest.
pub(crate) fn longest(fleet_workers: &FleetWorkers, plan: &Arc<Plan>) -> Duration {
    let mut fleet = EngineFleet::watched(fleet_workers, DecisionWatch::Longest(Duration::ZERO));
    fleet.run(plan);
    match fleet.watch {
        DecisionWatch::Longest(longest) => longest,
        DecisionWatch::Nothing | DecisionWatch::Events(_) => Duration::ZERO,
    }
}

/// Folds a recording into a new engine.
pub(crate) fn replay(events: &[(Time, Event)]) -> Engine {
    let mut engine = Engine::new(EngineConfig::default());
    for (at, event) in events {
        engine.apply(*at, event).expect("an engine's own events fit a new one");
    }
    assert!(is_done(&engine), "a replay ends where the run ended");
    engine
}

fn is_done(engine: &Engine) -> bool {
    engine.run_status(RUN) == Some(RunStatus::Succeeded)
}

/// The clock of the benchmark.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
