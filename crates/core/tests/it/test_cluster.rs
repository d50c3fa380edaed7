//! A leader and its workers in one place: a real engine, a real session per worker, and a test that carries messages.
//!
//! Replies are delivered at once unless the connection of a worker is cut. [`TestCluster::send`], [`TestCluster::arrive`] and
//! [`TestCluster::deliver`] are the three parts of an exchange, for tests that lose, repeat or delay one. After every decision
//! the engine must violate no invariant and keep to the maximum number of events. A replica that was fed only the
//! events must print the same state.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::engine::{
    Engine, EngineAnswer, EngineConfig, EngineDecision, EngineRequest, Event, ProvenTime,
    RunOptions, RunOwner, StoreHistory, SubmitRun, SubmitWarning,
};
use windlass_core::id::{Fence, RunId, StepIx, Term, WorkerId};
use windlass_core::outcome::{Outcome, RunStatus, StepStatus};
use windlass_core::plan::Plan;
use windlass_core::report::WhyReport;
use windlass_core::requirement::WorkerScope;
use windlass_core::session::{Exchange, ExchangeReply, WorkerLocality, WorkerRefusal};
use windlass_core::time::{Span, Time};

use crate::plan_sketch::PlanSketch;
use crate::session_worker::SessionWorker;

/// The lease duration.
pub(crate) const TTL: Span = Span::secs(15);
/// Any number is suitable: it only spreads retries.
const LUCK: u64 = 7;
/// The maximum average of exchanges per worker in one instant: more have no reason.
const EXCHANGES_MAX: usize = 20;
/// The worker of the first leading node.
const FIRST_LEADER: WorkerId = WorkerId(100);
/// A full minute, so that the minutes of a test are the minutes of priorities.
const START: Time = Time::from_millis(1_200_000);

/// A leader and its workers.
pub(crate) struct TestCluster {
    pub(crate) engine: Engine,
    /// A replica that is fed only events: the state from which a new leader starts.
    replica: Engine,
    config: EngineConfig,
    pub(crate) now: Time,
    pub(crate) workers: BTreeMap<String, SessionWorker>,
    runs: Vec<(String, RunId, Arc<Plan>)>,
    /// Every event so far.
    pub(crate) journal: Vec<Event>,
    /// The time of each event.
    times: Vec<Time>,
    /// The time since the last event that new leaders can prove.
    pub(crate) proven: ProvenTime,
    /// Whether workers exchanged without end in one instant.
    pub(crate) restless: bool,
}

impl TestCluster {
    /// A leader in its first term, without workers.
    pub(crate) fn new() -> Self {
        Self::with(EngineConfig::default())
    }

    /// The same with another configuration.
    pub(crate) fn with(config: EngineConfig) -> Self {
        let mut cluster = Self {
            engine: Engine::new(config),
            replica: Engine::new(config),
            config,
            now: START,
            workers: BTreeMap::new(),
            runs: Vec::new(),
            journal: Vec::new(),
            times: Vec::new(),
            proven: ProvenTime::ALL,
            restless: false,
        };
        cluster.lead(TTL, Some(FIRST_LEADER), StoreHistory::Unbroken);
        cluster
    }

    /// A folder in which these processes have started: each has a worker with two slots that serves the runs of its
    /// process. The first one leads.
    pub(crate) fn folder<const N: usize>(processes: [&str; N]) -> Self {
        let config = EngineConfig { same_host_workers: true, ..EngineConfig::default() };
        let mut cluster = Self::with(config);
        for (number, name) in (FIRST_LEADER.0..).zip(processes) {
            let mut mate = SessionWorker::new(number, name, 2, &[], WorkerLocality::SameHost);
            mate.scope = WorkerScope::OwnRuns;
            cluster.register(name, mate).expect("the worker of a process may join");
        }
        cluster
    }

    /// Returns the owner of runs that a worker's process starts.
    pub(crate) fn owner(&self, worker: &str) -> RunOwner {
        let SessionWorker { id, incarnation, .. } = self.workers[worker];
        RunOwner { worker: id, incarnation, shares: false }
    }

    /// Returns the options of a run that a worker's process starts.
    pub(crate) fn owned(&self, worker: &str) -> RunOptions {
        RunOptions { owner: Some(self.owner(worker)), ..RunOptions::default() }
    }

    /// Submits a run that a worker's process starts.
    pub(crate) fn submit_owned(
        &mut self,
        run: &str,
        worker: &str,
        draw: impl FnOnce(&mut PlanSketch),
    ) {
        self.submit_of(run, self.owner(worker), draw);
    }

    /// Submits a run with this owner.
    pub(crate) fn submit_of(
        &mut self,
        run: &str,
        owner: RunOwner,
        draw: impl FnOnce(&mut PlanSketch),
    ) {
        let options = RunOptions { owner: Some(owner), ..RunOptions::default() };
        self.submit_with(run, options, draw);
    }

    /// Adds a worker that has joined.
    pub(crate) fn worker<const N: usize>(
        mut self,
        name: &str,
        slots: u32,
        labels: [&str; N],
    ) -> Self {
        self.join(name, slots, labels);
        self
    }

    /// Adds the leading node's own worker.
    pub(crate) fn leader<const N: usize>(
        mut self,
        name: &str,
        slots: u32,
        labels: [&str; N],
    ) -> Self {
        let mate = SessionWorker::new(FIRST_LEADER.0, name, slots, &labels, WorkerLocality::Apart);
        self.register(name, mate).expect("the leader's own worker may join");
        self
    }

    /// Adds the leading node's own worker, which runs only steps that are pinned to the leader.
    pub(crate) fn leader_for_pinned<const N: usize>(
        mut self,
        name: &str,
        slots: u32,
        labels: [&str; N],
    ) -> Self {
        let mut mate =
            SessionWorker::new(FIRST_LEADER.0, name, slots, &labels, WorkerLocality::Apart);
        mate.scope = WorkerScope::PinnedOnly;
        self.register(name, mate).expect("the leader's own worker may join");
        self
    }

    /// Adds the leading node's own worker, which ends with the leader's process.
    pub(crate) fn leader_in_process<const N: usize>(
        mut self,
        name: &str,
        slots: u32,
        labels: [&str; N],
    ) -> Self {
        let locality = WorkerLocality::SharedFate;
        let mate = SessionWorker::new(FIRST_LEADER.0, name, slots, &labels, locality);
        self.register(name, mate).expect("the leader's own worker may join");
        self
    }

    /// Lets a worker join and request work at once.
    pub(crate) fn join<const N: usize>(&mut self, name: &str, slots: u32, labels: [&str; N]) {
        self.join_at(name, slots, labels, WorkerLocality::Apart).expect("the worker may join");
    }

    /// Lets a worker join; returns the refusal if there is one.
    pub(crate) fn join_at<const N: usize>(
        &mut self,
        name: &str,
        slots: u32,
        labels: [&str; N],
        locality: WorkerLocality,
    ) -> Result<(), WorkerRefusal> {
        let number = self.workers.len() as u64 + 1;
        let mate = SessionWorker::new(number, name, slots, &labels, locality);
        self.register(name, mate)
    }

    /// Restarts the worker's process, with the outcomes that it could not report before.
    pub(crate) fn restart(&mut self, name: &str) {
        let mate = self.workers[name].next_incarnation();
        self.register(name, mate).expect("a restarted worker takes over");
    }

    fn register(&mut self, key: &str, mate: SessionWorker) -> Result<(), WorkerRefusal> {
        self.enlist(key, mate)?;
        self.pump();
        Ok(())
    }

    /// Lets a worker join that has not requested work yet.
    pub(crate) fn enlist(
        &mut self,
        key: &str,
        mut mate: SessionWorker,
    ) -> Result<(), WorkerRefusal> {
        match self.ask(EngineRequest::Register(mate.register())) {
            EngineAnswer::Registered(reply) => {
                mate.joined(&reply);
                self.workers.insert(key.to_owned(), mate);
                Ok(())
            }
            EngineAnswer::Refused(refusal) => Err(refusal),
            other => panic!("registering was answered with {other:?}"),
        }
    }

    /// Submits a run of a plan that is drawn here.
    pub(crate) fn submit(
        &mut self,
        run: &str,
        draw: impl FnOnce(&mut PlanSketch),
    ) -> Vec<SubmitWarning> {
        self.submit_with(run, RunOptions::default(), draw)
    }

    /// Submits a run with options.
    pub(crate) fn submit_with(
        &mut self,
        run: &str,
        options: RunOptions,
        draw: impl FnOnce(&mut PlanSketch),
    ) -> Vec<SubmitWarning> {
        let id = RunId(self.runs.len() as u64 + 1);
        let mut submit = SubmitRun::new(id, PlanSketch::draw(run, draw));
        submit.options = options;
        match self.submit_whole(run, submit) {
            EngineAnswer::Submitted { warnings } => warnings,
            other => panic!("submitting was answered with {other:?}"),
        }
    }

    /// Submits a run with all its options.
    pub(crate) fn submit_whole(&mut self, run: &str, submit: SubmitRun) -> EngineAnswer {
        self.runs.push((run.to_owned(), submit.run, submit.plan.clone()));
        let answer = self.ask(EngineRequest::Submit(submit));
        self.pump();
        answer
    }

    /// Makes one exchange of a worker, and the exchanges of others that follow.
    pub(crate) fn exchange(&mut self, worker: &str) {
        let exchange = self.send(worker);
        self.ask(EngineRequest::Exchange(exchange));
        self.pump();
    }

    /// Returns the worker's next exchange, not yet delivered.
    pub(crate) fn send(&mut self, worker: &str) -> Exchange {
        let now = self.now;
        self.mate(worker).session().exchange(now)
    }

    /// Delivers an exchange to the leader; returns the replies, not yet delivered.
    pub(crate) fn arrive(&mut self, exchange: &Exchange) -> Vec<ExchangeReply> {
        self.decide(EngineRequest::Exchange(exchange.clone())).replies
    }

    /// Delivers replies to their workers.
    pub(crate) fn deliver(&mut self, replies: impl IntoIterator<Item = ExchangeReply>) {
        for reply in replies {
            let now = self.now;
            let to = self.workers.values_mut().find(|mate| mate.is_at(&reply));
            if let Some(mate) = to {
                mate.take(reply, now);
            }
        }
    }

    /// Ends a step's process on its worker, which reports it unless its connection is cut.
    pub(crate) fn finish(&mut self, worker: &str, step: &str, outcome: Outcome) {
        let (run, step_ix) = self.find(step);
        let now = self.now;
        self.mate(worker).finish(run, step_ix, outcome, now);
        self.pump();
    }

    /// Ends these steps with success on their workers, one after the other.
    pub(crate) fn succeed<const N: usize>(&mut self, steps: [&str; N]) {
        for step in steps {
            let worker = self.holder(step).expect("a worker runs the step");
            self.finish(&worker, step, Outcome::exit(0));
        }
    }

    /// Ends the worker's process without a report; its guard may report later.
    pub(crate) fn kill(&mut self, worker: &str) {
        self.mate(worker).kill();
    }

    /// Reports as the guard that no process of the worker is left.
    pub(crate) fn guard_ended(&mut self, worker: &str) -> EngineAnswer {
        let request = self.workers[worker].guard_ended();
        let answer = self.ask(request);
        self.pump();
        answer
    }

    /// Cuts the connection of the worker: messages in both directions are lost from now on.
    pub(crate) fn cut(&mut self, worker: &str) {
        self.mate(worker).cut = true;
    }

    /// Restores the connection of the worker, which exchanges at once.
    pub(crate) fn heal(&mut self, worker: &str) {
        self.mate(worker).cut = false;
        self.exchange(worker);
    }

    /// Lets time pass: the engine, the workers' clocks and their exchanges proceed in order.
    pub(crate) fn pass(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(next) = self.next_deadline().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.tick();
        }
        self.now = until;
        self.tick();
    }

    /// Lets time pass without any request, not even a tick: the leader was busy or asleep.
    pub(crate) fn sleep(&mut self, span: Span) {
        self.now = self.now + span;
    }

    fn next_deadline(&self) -> Option<Time> {
        let mates = self.workers.values().filter_map(SessionWorker::next_deadline);
        mates.chain(self.engine.next_deadline()).min()
    }

    /// Does all that is due now.
    pub(crate) fn tick(&mut self) {
        let now = self.now;
        if self.engine.next_deadline().is_some_and(|at| at <= now) {
            self.ask(EngineRequest::Tick);
        }
        self.workers.values_mut().for_each(|mate| mate.tick(now));
        self.pump();
    }

    /// Lets workers exchange while one of them has a reason to, with a maximum.
    pub(crate) fn pump(&mut self) {
        let names: Vec<String> = self.workers.keys().cloned().collect();
        for _ in 0..names.len() * EXCHANGES_MAX {
            let now = self.now;
            let due = |name: &&String| self.workers[*name].exchange_due(now);
            let Some(name) = names.iter().find(due) else {
                return;
            };
            let exchange = self.send(name);
            if !self.workers[name].cut {
                self.ask(EngineRequest::Exchange(exchange));
            }
        }
        self.restless = !names.is_empty();
    }

    /// Lets another node take over: it starts from the journal alone. Parked exchanges are lost.
    pub(crate) fn take_over(&mut self) {
        self.take_over_at(None, TTL);
    }

    /// Lets the node of that worker take over.
    pub(crate) fn take_over_at(&mut self, worker: Option<&str>, ttl: Span) {
        self.engine = self.replica.clone();
        let own = worker.map(|name| self.workers[name].id);
        self.lead(ttl, own, StoreHistory::Unbroken);
    }

    /// Lets another node take over with this claim about the history of the store.
    pub(crate) fn take_over_after(&mut self, history: StoreHistory) {
        self.engine = self.replica.clone();
        self.lead(TTL, None, history);
    }

    /// Returns an engine that starts with these runs condemned and folds the journal from a position on, up to which
    /// `start` has folded it.
    pub(crate) fn folded(&self, start: Option<(Engine, usize)>, condemned: &[RunId]) -> Engine {
        let (engine, from) = start.unwrap_or_else(|| (Engine::new(self.config), 0));
        let mut engine = engine.with_condemned(condemned.iter().copied().collect());
        for (at, event) in self.times.iter().zip(&self.journal).skip(from) {
            engine.apply(*at, event).expect("an engine can fold the journal");
        }
        engine
    }

    /// Returns the events so far with their times.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (Time, &Event)> {
        self.times.iter().copied().zip(&self.journal)
    }

    /// Returns an engine that has folded this many events of the journal.
    pub(crate) fn prefix(&self, events: usize) -> Engine {
        let mut engine = Engine::new(self.config);
        for (at, event) in self.times.iter().zip(&self.journal).take(events) {
            engine.apply(*at, event).expect("an engine can fold the journal");
        }
        engine
    }

    /// Lets a node take over that started with these runs condemned. The replica follows it without knowing the list.
    pub(crate) fn take_over_condemning(&mut self, condemned: &[RunId]) {
        self.engine = self.folded(None, condemned);
        self.lead(TTL, None, StoreHistory::Unbroken);
    }

    fn lead(&mut self, ttl: Span, own: Option<WorkerId>, history: StoreHistory) {
        let (term, generation) = (Term(self.engine.term().0 + 1), self.engine.generation());
        let answer = self.ask(EngineRequest::Lead {
            term,
            ttl,
            generation,
            own,
            history,
            proven: self.proven,
        });
        assert_eq!(answer, EngineAnswer::Done);
    }

    /// Makes a request to the engine and delivers its replies.
    pub(crate) fn ask(&mut self, request: EngineRequest) -> EngineAnswer {
        let decision = self.decide(request);
        self.deliver(decision.replies);
        decision.answer
    }

    /// Makes a request to the engine, and checks the invariants after the decision.
    pub(crate) fn decide(&mut self, request: EngineRequest) -> EngineDecision {
        let decision = self.engine.decide(request, self.now, LUCK);
        for event in &decision.events {
            let applied = self.replica.apply(decision.at, event);
            applied.expect("a replica can follow every decision");
        }
        let (count, max) = (decision.events.len(), self.config.batch_max);
        assert!(count <= max, "{count} events in a decision of at most {max}");
        assert_eq!(self.engine.check(), []);
        assert_eq!(
            self.replica.dump(),
            self.engine.dump(),
            "a replayed journal must give the same state"
        );
        self.journal.extend(decision.events.iter().cloned());
        self.times.resize(self.journal.len(), decision.at);
        decision
    }

    pub(crate) fn mate(&mut self, name: &str) -> &mut SessionWorker {
        self.workers.get_mut(name).expect("a worker of that name")
    }

    /// Returns a step by `name`, or by `run/name` if runs share the name.
    pub(crate) fn find(&self, step: &str) -> (RunId, StepIx) {
        let (run, name) = step.split_once('/').unwrap_or(("", step));
        let runs = self.runs.iter().filter(|it| run.is_empty() || it.0 == run);
        let mut found = runs.filter_map(|(_, id, plan)| Some((*id, plan.find(name)?)));
        let first = found.next().expect("a step of that name");
        assert_eq!(found.next(), None, "`{step}` names more than one step");
        first
    }

    pub(crate) fn run_id(&self, run: &str) -> RunId {
        let mut runs = self.runs.iter().filter(|it| it.0 == run);
        runs.next().expect("a run of that name").1
    }

    pub(crate) fn status(&self, step: &str) -> StepStatus {
        let (run, step) = self.find(step);
        let status = self.engine.step_status(run, step);
        status.expect("the run is not sealed")
    }

    pub(crate) fn run_status(&self, run: &str) -> RunStatus {
        let status = self.engine.run_status(self.run_id(run));
        status.expect("the run is not sealed")
    }

    pub(crate) fn why(&self, step: &str) -> WhyReport {
        let (run, step) = self.find(step);
        self.engine.why(run, step).expect("the run is not sealed")
    }

    /// Returns the worker that holds the step, as the leader sees it.
    pub(crate) fn holder(&self, step: &str) -> Option<String> {
        let WhyReport::Held { worker, .. } = self.why(step) else {
            return None;
        };
        let mut mates = self.workers.iter();
        mates.find_map(|(name, mate)| (mate.id == worker).then(|| name.clone()))
    }

    /// Returns the fence of the step's lease.
    pub(crate) fn fence(&self, step: &str) -> Fence {
        match self.why(step) {
            WhyReport::Held { fence, .. } => fence,
            other => panic!("`{step}` has no lease: {other:?}"),
        }
    }

    /// Returns the steps whose processes run on a worker.
    pub(crate) fn running(&self, worker: &str) -> Vec<String> {
        let plan = |run: RunId| self.runs.iter().find(|it| it.1 == run);
        let name = |(run, step)| plan(run).map(|it| it.2.name(step).to_owned());
        self.workers[worker].running().filter_map(name).collect()
    }

    /// Returns the complete state.
    pub(crate) fn text(&self) -> String {
        self.engine.dump()
    }
}
