//! A realistic history: an engine, workers and every outcome of runs within a few hours, the same each time.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::access::{AccessScope, NewToken, Principal, SecretDigest};
use windlass_core::engine::{
    CancelLevel, Engine, EngineAnswer, EngineConfig, EngineRequest, Event, ProvenTime, ResumeRun,
    ReusedOutcome, RunOwner, StoreHistory, SubmitRun, event,
};
use windlass_core::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, TokenId, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, StepOutput};
use windlass_core::plan::{
    LockOrder, LockUse, Plan, PlanBuilder, RetryPolicy, StatusCondition, StepSpec, ValueCondition,
};
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    Exchange, ExchangeReply, FinishedAttempt, FormerIncarnationProof, InFlightLease, LeasePhase,
    LeaseRef, RegisterRequest, WorkerLocality,
};
use windlass_core::time::{Span, Time};

use crate::journal::{Position, RecordedEvent};

const START: u64 = 1_790_000_000_000;
const TTL: Span = Span::secs(15);
const ALPHA: WorkerId = WorkerId(1);
const BETA: WorkerId = WorkerId(2);
const GAMMA: WorkerId = WorkerId(3);
const DELTA: WorkerId = WorkerId(4);
/// The most rounds; no run of the history needs as many.
const ROUNDS_MAX: usize = 50;

/// The decisions of an engine, batch by batch, and its final state.
#[derive(Clone, Debug)]
pub struct SampleHistory {
    /// The events of each decision that had any.
    pub batches: Vec<Vec<Arc<RecordedEvent>>>,
    /// [`Engine::dump`] after the last decision.
    pub state: String,
}

/// Creates the history of two terms of an engine, with an event of every kind.
pub fn sample_history() -> SampleHistory {
    let mut story = SampleHistoryBuilder::begin();
    story.a_run_succeeds_at_the_second_attempt();
    story.a_run_fails_on_reused_ground();
    story.a_newer_run_takes_the_lock();
    story.a_leader_takes_over_and_a_run_is_cancelled();
    story.a_worker_comes_back_too_late();
    story.workers_leave_and_vanish();
    story.what_is_done_once_is_waited_for_and_taken_over();
    story.a_run_is_interrupted_and_resumed();
    story.a_run_is_left_open();
    story.keys_are_handed_out_and_taken_back();
    SampleHistory { batches: story.batches, state: story.engine.dump() }
}

struct SampleHistoryBuilder {
    engine: Engine,
    now: Time,
    /// The position of the last event.
    head: Position,
    batches: Vec<Vec<Arc<RecordedEvent>>>,
    members: BTreeMap<WorkerId, SampleWorker>,
}

/// The state of one worker, as the leader knows it.
#[derive(Default)]
struct SampleWorker {
    slots: u32,
    seq: Seq,
    seen: Seq,
    held: BTreeMap<Fence, LeaseRef>,
}

impl SampleHistoryBuilder {
    fn begin() -> Self {
        let (engine, now) = (Engine::new(EngineConfig::default()), Time::from_millis(START));
        let mut story =
            Self { engine, now, head: Position(0), batches: Vec::new(), members: BTreeMap::new() };
        story.lead(1);
        story.join(ALPHA, 2);
        story.join(BETA, 1);
        story
    }

    fn a_run_succeeds_at_the_second_attempt(&mut self) {
        let run = self.submit(1, ship(), Vec::new());
        self.exchange(ALPHA);
        self.finish((run, "lint"), Outcome::exit(75));
        self.pass(Span::secs(2));
        let output = StepOutput::inline("{\"findings\":0}");
        self.exchange(ALPHA);
        self.finish((run, "lint"), Outcome { output, ..Outcome::exit(0) });
        self.run_all_steps(&Outcome::exit(0));
        self.ask(EngineRequest::Seal { run });
    }

    fn a_run_fails_on_reused_ground(&mut self) {
        let lint = ship().find("lint").expect("a step of the plan");
        let from = RunId::new(START, 1);
        let run = self.submit(
            2,
            ship(),
            vec![ReusedOutcome { step: lint, from, output: StepOutput::NONE }],
        );
        self.exchange(ALPHA);
        self.finish((run, "test[stable]"), Outcome::plain(OutcomeKind::TimedOut));
        self.run_all_steps(&Outcome::exit(0));
    }

    fn a_newer_run_takes_the_lock(&mut self) {
        let older = self.submit(3, deploy(), Vec::new());
        self.exchange(ALPHA);
        self.exchange(ALPHA);
        let newer = self.submit(4, deploy(), Vec::new());
        let fence = self.lease((older, "push")).1.fence;
        self.ask(EngineRequest::ForceRelease { lock: "production".into(), fence });
        self.exchange(BETA);
        self.finish((older, "push"), Outcome::plain(OutcomeKind::Cancelled));
        self.finish((newer, "push"), Outcome::exit(0));
    }

    fn a_leader_takes_over_and_a_run_is_cancelled(&mut self) {
        let run = self.submit(5, deploy(), Vec::new());
        self.exchange(ALPHA);
        self.exchange(ALPHA);
        self.lead(2);
        self.exchange(ALPHA);
        self.ask(EngineRequest::Cancel { run, level: CancelLevel::Stop });
        self.finish((run, "push"), Outcome::plain(OutcomeKind::Cancelled));
    }

    fn a_worker_comes_back_too_late(&mut self) {
        let run = self.submit(6, deploy(), Vec::new());
        self.exchange(BETA);
        self.exchange(BETA);
        for _ in 0..4 {
            self.pass(Span::secs(5));
            self.exchange(ALPHA);
        }
        self.finish_at(BETA, (run, "push"), Outcome::exit(0));
        self.run_all_steps(&Outcome::exit(0));
    }

    fn workers_leave_and_vanish(&mut self) {
        self.ask(EngineRequest::Drain { worker: BETA });
        let incarnation = Incarnation(1);
        self.ask(EngineRequest::GuardEnded { worker: BETA, incarnation, started: Vec::new() });
        self.members.remove(&BETA);
        for number in 10..18 {
            self.join(WorkerId(number), 1);
        }
        for _ in 0..4 {
            self.pass(Span::secs(5));
            self.exchange(ALPHA);
        }
        self.pass(Span::hours(2));
        self.members.retain(|worker, _| *worker == ALPHA);
        self.exchange(ALPHA);
    }

    fn a_run_is_left_open(&mut self) {
        let run = self.submit(7, ship(), Vec::new());
        self.exchange(ALPHA);
        self.finish((run, "lint"), Outcome::exit(0));
        self.exchange(ALPHA);
    }

    fn what_is_done_once_is_waited_for_and_taken_over(&mut self) {
        let first = self.submit(8, release(), Vec::new());
        self.submit(9, release(), Vec::new());
        self.exchange(ALPHA);
        let output = StepOutput::inline("{\"url\":\"https://registry.example/ship/1.2\"}");
        self.finish((first, "publish"), Outcome { output, ..Outcome::exit(0) });
        self.submit(10, release(), Vec::new());
    }

    fn a_run_is_interrupted_and_resumed(&mut self) {
        self.join(DELTA, 2);
        let plan = ship();
        let owner = |worker| RunOwner { worker, incarnation: Incarnation(1), shares: false };
        let run = RunId::new(START, 11);
        let mut submit = SubmitRun::new(run, plan);
        submit.options.owner = Some(owner(DELTA));
        self.ask(EngineRequest::Submit(submit));
        self.exchange(DELTA);
        let output = StepOutput::inline("{\"findings\":0}");
        self.finish((run, "lint"), Outcome { output, ..Outcome::exit(0) });
        self.exchange(DELTA);
        let incarnation = Incarnation(1);
        self.ask(EngineRequest::GuardEnded { worker: DELTA, incarnation, started: Vec::new() });
        self.members.remove(&DELTA);
        self.ask(EngineRequest::Seal { run });
        let events = self.batches.iter().flatten().map(|it| (it.at, &it.event));
        let of_run = events.filter(|(_, event)| event.run() == Some(run));
        let resume = ResumeRun::from_events(of_run).expect("the run is interrupted");
        self.ask(EngineRequest::Resume(resume.owned_by(Some(owner(ALPHA)))));
        self.run_all_steps(&Outcome::exit(0));
    }

    fn keys_are_handed_out_and_taken_back(&mut self) {
        let token = |name: &str, scope| NewToken {
            name: name.into(),
            scopes: [scope].into_iter().collect(),
            digest: SecretDigest::new(*blake3::hash(name.as_bytes()).as_bytes()),
            expires: Some(Time::from_millis(START) + Span::hours(24)),
        };
        self.ask(
            EngineRequest::CreateToken(token("fleet", AccessScope::Worker)).by(Principal::Local),
        );
        self.ask(
            EngineRequest::CreateToken(token("ci", AccessScope::Submit)).by(Principal::TokenFile),
        );
        let fleet = Principal::Token { id: TokenId(1), name: "fleet".into() };
        let (register, digest) = (register(GAMMA, 1), SecretDigest::new([3; 32]));
        self.ask(EngineRequest::Join { register, digest }.by(fleet));
        self.ask(EngineRequest::RevokeWorker { worker: GAMMA }.by(Principal::Local));
        self.ask(EngineRequest::RevokeToken { token: TokenId(1) }.by(Principal::Local));
    }
}

impl SampleHistoryBuilder {
    fn ask(&mut self, request: EngineRequest) -> EngineAnswer {
        self.now = self.now + Span::millis(3);
        let decision = self.engine.decide(request, self.now, 7);
        if !decision.events.is_empty() {
            let events = decision.events.into_iter().map(|event| (decision.at, event));
            let events: Vec<_> = RecordedEvent::sequence(self.head, events).collect();
            self.head.0 += events.len() as u64;
            self.batches.push(events);
        }
        decision.replies.into_iter().for_each(|reply| self.take(reply));
        decision.answer
    }

    fn take(&mut self, reply: ExchangeReply) {
        let (Some(worker_state), Ok(body)) = (self.members.get_mut(&reply.worker), reply.body)
        else {
            return;
        };
        worker_state.seen = worker_state.seen.max(reply.seq);
        worker_state
            .held
            .extend(body.grants.into_iter().map(|grant| (grant.lease.fence, grant.lease)));
    }

    fn lead(&mut self, term: u64) {
        let own = Some(ALPHA);
        self.ask(EngineRequest::Lead {
            term: Term(term),
            ttl: TTL,
            generation: 0,
            own,
            history: StoreHistory::Unbroken,
            proven: ProvenTime::ALL,
        });
    }

    fn join(&mut self, worker: WorkerId, slots: u32) {
        self.members.insert(worker, SampleWorker { slots, ..SampleWorker::default() });
        self.ask(EngineRequest::Register(register(worker, slots)));
    }

    fn submit(&mut self, number: u64, plan: Arc<Plan>, reused: Vec<ReusedOutcome>) -> RunId {
        let run = RunId::new(START, number);
        self.ask(EngineRequest::Submit(SubmitRun { reused, ..SubmitRun::new(run, plan) }));
        run
    }

    fn exchange(&mut self, worker: WorkerId) {
        self.exchange_with(worker, Vec::new());
    }

    fn exchange_with(&mut self, worker: WorkerId, finished: Vec<FinishedAttempt>) {
        let worker_state = self.members.get_mut(&worker).expect("a worker that joined");
        worker_state.seq = Seq(worker_state.seq.0 + 1);
        let in_flight =
            |lease: &LeaseRef| InFlightLease { lease: *lease, phase: LeasePhase::Started };
        let in_flight: Vec<InFlightLease> = worker_state.held.values().map(in_flight).collect();
        let held = u32::try_from(in_flight.len()).expect("a worker has few leases");
        let exchange = Exchange {
            worker,
            drains: false,
            incarnation: Incarnation(1),
            term: self.engine.term(),
            seq: worker_state.seq,
            seen: worker_state.seen,
            finished,
            in_flight,
            want: worker_state.slots.saturating_sub(held),
        };
        self.ask(EngineRequest::Exchange(exchange));
    }

    /// Returns the worker that holds the step, and its lease.
    fn lease(&self, (run, step): (RunId, &str)) -> (WorkerId, LeaseRef) {
        let step = self.step(run, step);
        let held = self
            .members
            .iter()
            .flat_map(|(id, worker_state)| worker_state.held.values().map(|it| (*id, *it)));
        let mut of_step = held.filter(|(_, lease)| (lease.run, lease.step) == (run, step));
        of_step.next().expect("a worker holds the step")
    }

    fn step(&self, run: RunId, name: &str) -> StepIx {
        let submitted = self.batches.iter().flatten().find_map(|recorded| match &recorded.event {
            Event::RunSubmitted(event::RunSubmitted { run: id, plan, .. }) if *id == run => {
                plan.find(name)
            }
            _ => None,
        });
        submitted.expect("a step of a run of the story")
    }

    fn finish(&mut self, step: (RunId, &str), outcome: Outcome) {
        let (worker, _) = self.lease(step);
        self.finish_at(worker, step, outcome);
    }

    fn finish_at(&mut self, worker: WorkerId, (run, step): (RunId, &str), outcome: Outcome) {
        let step = self.step(run, step);
        let worker_state = self.members.get_mut(&worker).expect("a worker that joined");
        let mut held = worker_state.held.values().copied();
        let lease = held.find(|lease| (lease.run, lease.step) == (run, step));
        let lease = lease.expect("the worker holds the step");
        worker_state.held.remove(&lease.fence);
        self.exchange_with(
            worker,
            vec![FinishedAttempt { lease, outcome, ran: Some(Span::secs(1)) }],
        );
    }

    /// Runs all steps with this outcome until no step is left.
    fn run_all_steps(&mut self, outcome: &Outcome) {
        let workers: Vec<WorkerId> = self.members.keys().copied().collect();
        for _ in 0..ROUNDS_MAX {
            for worker in &workers {
                self.exchange(*worker);
            }
            let mut leases = self.members.iter().flat_map(|(id, worker_state)| {
                worker_state.held.values().map(|lease| (*id, *lease))
            });
            let Some((worker, lease)) = leases.next() else { return };
            let worker_state = self.members.get_mut(&worker).expect("it holds the lease");
            worker_state.held.remove(&lease.fence);
            let (outcome, ran) = (outcome.clone(), Some(Span::secs(1)));
            self.exchange_with(worker, vec![FinishedAttempt { lease, outcome, ran }]);
        }
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
        self.ask(EngineRequest::Tick);
    }
}

fn ship() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("ship");
    let lint = StepSpec { retry: RetryPolicy::times(1), ..StepSpec::requiring(["docker"]) };
    let lint = plan.step_with("lint", lint, "cargo clippy");
    let cells = ["stable", "beta"].map(|cell| (cell.to_owned(), StepSpec::default()));
    let test = plan.matrix("test", cells);
    for cell in [1, 2].map(StepIx) {
        plan.needs(cell, lint);
    }
    let when = ValueCondition::Asks("default(steps.lint.outputs.findings, 0) == 0".into());
    let publish = StepSpec { when, reads: vec![lint], ..StepSpec::locking(["./registry"]) };
    let publish = plan.step("publish", publish);
    plan.needs(publish, test);
    let tell = StepSpec { condition: StatusCondition::Failure, ..StepSpec::default() };
    let tell = plan.step("tell", tell);
    plan.needs(tell, publish);
    Arc::new(plan.build().expect("the plan has no mistakes"))
}

fn deploy() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("deploy");
    let lock = LockUse { name: "production".into(), order: LockOrder::CancelOlder };
    plan.step("push", StepSpec { locks: vec![lock], ..StepSpec::default() });
    Arc::new(plan.build().expect("the plan has no mistakes"))
}

fn release() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("release");
    plan.step("publish", StepSpec::idempotent("ship-1.2"));
    Arc::new(plan.build().expect("the plan has no mistakes"))
}

fn register(worker: WorkerId, slots: u32) -> RegisterRequest {
    RegisterRequest {
        worker,
        name: format!("node-{}", worker.0).into(),
        incarnation: Incarnation(1),
        labels: Labels::new(["docker", "os=linux", "cpu=8"]),
        slots,
        locality: WorkerLocality::Apart,
        scope: WorkerScope::AllRuns,
        former: FormerIncarnationProof::Unknown,
        spooled: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::journal_fixtures::fold_events;
    use super::super::sample_events::{EVENT_KINDS, event_kind};
    use super::*;

    #[test]
    fn history_has_every_kind_of_event_and_folds_to_its_state() {
        let sample = sample_history();
        let found: BTreeSet<_> =
            sample.batches.iter().flatten().map(|it| event_kind(&it.event)).collect();
        assert_eq!(found.len(), EVENT_KINDS, "{found:?}");
        let engine =
            fold_events(sample.batches.iter().map(Vec::as_slice)).expect("it is a real history");
        assert_eq!(engine.dump(), sample.state);
    }
}
