//! For an idle worker, the leader takes back leases that others hold ahead of their slots.

use windlass_core::engine::{
    Engine, EngineConfig, EngineRequest, ProvenTime, StoreHistory, SubmitRun,
};
use windlass_core::id::{Fence, Incarnation, RunId, Seq, Term, WorkerId};
use windlass_core::plan::{Placement, StepSpec};
use windlass_core::requirement::Requirement;
use windlass_core::session::{Exchange, InFlightLease, LeasePhase, LeaseRef, WorkerLocality};
use windlass_core::time::Time;

use crate::plan_sketch::PlanSketch;
use crate::session_worker::SessionWorker;
use crate::test_cluster::TTL;

/// The number of workers that hold leases ahead which the idle worker may not run.
const HOLDERS: u64 = 12;

/// The slots of each of them. A worker holds one lease ahead per slot until the duration of its steps is known.
const SLOTS: u32 = 200;

struct RecallCluster {
    engine: Engine,
    seqs: [u64; 64],
}

impl RecallCluster {
    fn joins(&mut self, worker: u64, slots: u32, label: &str) -> Vec<LeaseRef> {
        let mate = SessionWorker::new(
            worker,
            &format!("w{worker}"),
            slots,
            &[label],
            WorkerLocality::Apart,
        );
        self.engine.decide(EngineRequest::Register(mate.register()), now(), 7);
        self.exchanges(worker, slots * 2, &[]).0
    }

    /// Returns the grants of the worker, and the leases that the leader asks it to release.
    fn exchanges(
        &mut self,
        worker: u64,
        want: u32,
        holds: &[LeaseRef],
    ) -> (Vec<LeaseRef>, Vec<Fence>) {
        let seq = &mut self.seqs[usize::try_from(worker).expect("it is small")];
        *seq += 1;
        let held =
            holds.iter().map(|lease| InFlightLease { lease: *lease, phase: LeasePhase::Queued });
        let exchange = Exchange {
            worker: WorkerId(worker),
            drains: false,
            incarnation: Incarnation(1),
            seq: Seq(*seq),
            seen: Seq(*seq - 1),
            term: Term(1),
            finished: Vec::new(),
            in_flight: held.collect(),
            want,
        };
        let seq = exchange.seq;
        let replies = self.engine.decide(EngineRequest::Exchange(exchange), now(), 7).replies;
        let mut replies = replies.into_iter().filter(|it| it.worker == WorkerId(worker));
        let reply = replies.find(|reply| reply.seq == seq);
        let body = reply.map(|reply| reply.body.expect("it is not refused")).unwrap_or_default();
        (body.grants.iter().map(|grant| grant.lease).collect(), body.take_back)
    }
}

fn now() -> Time {
    Time::from_millis(1_000_000)
}

fn needing(label: &str) -> StepSpec {
    let placement = Placement { requirement: Requirement::all([label]), ..Placement::default() };
    StepSpec { placement, ..StepSpec::default() }
}

/// The search for an idle worker is bounded for each exchange, and the next exchange continues where it ended.
#[test]
fn idle_worker_finds_a_matching_lease_behind_thousands_of_others() {
    let mut story = RecallCluster { engine: Engine::new(EngineConfig::default()), seqs: [0; 64] };
    let (term, ttl, history) = (Term(1), TTL, StoreHistory::Unbroken);
    let proven = ProvenTime::NONE;
    let lead = EngineRequest::Lead { term, ttl, generation: 0, own: None, history, proven };
    story.engine.decide(lead, now(), 7);
    let plan = PlanSketch::draw("ship", |plan| {
        let steps = HOLDERS * u64::from(SLOTS) * 2;
        (0..steps).for_each(|at| plan.step(&format!("g{at}"), needing("gpu"), []));
        plan.step("a", needing("cpu"), []);
        plan.step("b", needing("cpu"), []);
    });
    story.engine.decide(EngineRequest::Submit(SubmitRun::new(RunId(1), plan)), now(), 7);
    for worker in 1..=HOLDERS {
        assert_eq!(story.joins(worker, SLOTS, "gpu").len(), 2 * SLOTS as usize);
    }
    let held = story.joins(50, 1, "cpu");
    assert_eq!(held.len(), 2, "one runs, and one waits for it");
    assert_eq!(story.joins(51, 1, "cpu"), []);
    assert_eq!(story.exchanges(50, 0, &held).1, [], "the search has not come so far");
    story.exchanges(51, 1, &[]);
    assert_eq!(story.exchanges(50, 0, &held).1, [held[1].fence], "the newest is asked back");
}
