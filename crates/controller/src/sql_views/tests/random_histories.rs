//! After any history and any number of looks, the tables are those that one look would have written.

use std::sync::Arc;

use windlass_core::engine::{CancelLevel, EngineRequest};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::plan::{Plan, PlanBuilder, RetryPolicy, StepSpec};
use windlass_core::time::Span;

use super::test_leader::{START, SqlViewTestLeader, dump, tables};

/// The number of histories, and the number of events in each.
const HISTORIES: u64 = 15;
const EVENTS_PER_HISTORY: u64 = 120;

/// Random numbers that are the same each time (xorshift).
struct SqlViewTestRandom(u64);

impl SqlViewTestRandom {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[tokio::test]
async fn differences_add_up_to_what_one_look_writes() {
    for seed in 1..=HISTORIES {
        let (kept, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut chance = SqlViewTestRandom(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut leader = SqlViewTestLeader::new();
        let mut updater = leader.updater(tables(&kept));
        let mut history = RandomHistory { runs: 0, terms: 1 };
        for happening in 0..EVENTS_PER_HISTORY {
            history.random_event(&mut leader, &mut chance);
            if chance.below(4) == 0 {
                updater.keep().await.unwrap();
            }
            if happening % 40 == 39 {
                updater.keep().await.unwrap();
                leader.updater(tables(&fresh)).keep().await.unwrap();
                assert_eq!(dump(kept.path()), dump(fresh.path()), "seed {seed}");
            }
        }
    }
}

struct RandomHistory {
    runs: u64,
    terms: u64,
}

impl RandomHistory {
    fn random_event(&mut self, leader: &mut SqlViewTestLeader, chance: &mut SqlViewTestRandom) {
        if self.runs == 0 {
            (1..=3).for_each(|worker| leader.join(worker, 2));
        }
        let worker = chance.below(3) + 1;
        let run = RunId::new(START.as_millis(), chance.below(self.runs.max(1)) + 1);
        match chance.below(20) {
            0..=3 => {
                self.runs += 1;
                leader.submit(self.runs, &plan(chance));
            }
            4..=11 => {
                leader.finish(worker, outcome(chance));
                leader.exchange(worker);
            }
            12..=14 => leader.pass(Span::secs(chance.below(12) + 1)),
            15 => drop(leader.ask(EngineRequest::Cancel { run, level: CancelLevel::Stop })),
            16 => leader.engine.ended_runs().into_iter().for_each(|run| {
                leader.ask(EngineRequest::Seal { run });
            }),
            17 => {
                self.terms += 1;
                leader.lead(self.terms);
            }
            18 => drop(leader.ask(EngineRequest::Drain { worker: WorkerId(worker) })),
            _ => leader.join(worker, 2),
        }
    }
}

fn plan(chance: &mut SqlViewTestRandom) -> Arc<Plan> {
    let mut plan = PlanBuilder::new("any");
    let mut nodes = Vec::new();
    for at in 0..=chance.below(6) {
        let mut spec =
            if chance.below(3) == 0 { StepSpec::locking(["prod"]) } else { StepSpec::default() };
        spec.retry =
            RetryPolicy::times(u16::try_from(chance.below(2)).expect("it works in a test"));
        let node = if chance.below(4) == 0 {
            let cells = ["a", "b"].map(|cell| (cell.to_owned(), spec.clone()));
            plan.matrix(&format!("m{at}"), cells)
        } else {
            plan.step(&format!("s{at}"), spec)
        };
        if let Some(need) = nodes.last().filter(|_| chance.below(2) == 0) {
            plan.needs(node, *need);
        }
        nodes.push(node);
    }
    Arc::new(plan.build().expect("it works in a test"))
}

fn outcome(chance: &mut SqlViewTestRandom) -> Outcome {
    match chance.below(6) {
        0 => Outcome::exit(1),
        1 => Outcome::plain(OutcomeKind::TimedOut),
        _ => Outcome::exit(0),
    }
}
