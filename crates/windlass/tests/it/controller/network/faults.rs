//! Random faults for a minute, then none: everything that was submitted must end well.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use windlass::core::id::{RunId, StepIx};
use windlass::core::outcome::RunStatus;
use windlass::core::plan::{LockUse, Plan, PlanBuilder, RetryPolicy, StepSpec};
use windlass_controller::{EngineView, NodeHandle};

use super::faulty_network::{FaultyNetwork, TrafficDirection};
use super::network_node::{NetworkLeader, NetworkWitness, join};
use crate::controller::test_node::{TestJournal, folded, journal, run};

const WORKERS: usize = 4;
const RUNS: u64 = 3;
const STEPS: usize = 15;

/// The duration of the faults.
const STORM: Duration = Duration::from_mins(1);

/// The time for the remaining work without faults: every lost lease has expired twice by then.
const CALM: Duration = Duration::from_mins(5);

/// Fifteen steps: a third of them hold one lock, and some need others.
fn plan_of(number: u64) -> Arc<Plan> {
    let mut plan = PlanBuilder::new(&format!("storm-{number}"));
    let mut steps: Vec<StepIx> = Vec::new();
    for step in 0..STEPS {
        let retry = RetryPolicy { times: 100, lost: 1_000, ..RetryPolicy::default() };
        let mut spec = StepSpec { retry, ..StepSpec::default() };
        let locked = step % 3 == 0;
        if locked {
            spec.locks = vec![LockUse::fifo("port")];
        }
        let kind = if locked { "locked" } else { "free" };
        let this = plan.step(&format!("{kind}-{step}"), spec);
        if step >= 5 && step % 2 == 0 {
            plan.needs(this, steps[step - 5]);
        }
        steps.push(this);
    }
    Arc::new(plan.build().expect("a valid plan"))
}

/// Waits for the end of a run.
pub(super) async fn ended(handle: &NodeHandle, run: RunId) -> RunStatus {
    let end = |view: &EngineView| view.engine.run_status(run).filter(|it| it.is_terminal());
    handle.views().wait_for(|view| end(view).is_some()).await;
    handle.views().with(end).expect("it has ended")
}

/// Injects faults, one after the other, until their time is over.
async fn rage(
    network: &FaultyNetwork,
    journal: &Arc<TestJournal>,
    mut leader: NetworkLeader,
) -> NetworkLeader {
    let over = tokio::time::Instant::now() + STORM;
    while tokio::time::Instant::now() < over {
        let (what, whom, wait) = network.chance(|chance| {
            let whom = usize::try_from(chance.below(WORKERS as u64)).expect("it is small");
            (chance.below(8), whom, chance.millis(6_000))
        });
        match what {
            0 => network.cut(whom, TrafficDirection::ToLeader),
            1 => network.cut(whom, TrafficDirection::ToWorker),
            2 => {
                network.cut(whom, TrafficDirection::ToLeader);
                network.cut(whom, TrafficDirection::ToWorker);
            }
            3 | 4 => network.mend(whom),
            5 => {
                leader.crash(&**journal, network).await;
                sleep(network.chance(|chance| chance.millis(4_000))).await;
                leader = NetworkLeader::start(journal, network).await;
            }
            _ => {}
        }
        sleep(wait).await;
    }
    (0..WORKERS).for_each(|worker| network.mend(worker));
    leader
}

async fn storm(seed: u64) -> (usize, usize) {
    let (journal, network) = (journal(), FaultyNetwork::new(seed, 60));
    let leader = NetworkLeader::start(&journal, &network).await;
    let witness = Arc::new(NetworkWitness::default());
    let workers: Vec<JoinHandle<()>> =
        (0..WORKERS).map(|number| join(&network, number, &witness)).collect();
    for number in 0..RUNS {
        leader.node.submit(run(number), &plan_of(number)).await;
    }
    let leader = rage(&network, &journal, leader).await;
    for number in 0..RUNS {
        let over = timeout(CALM, ended(&leader.node.handle, run(number))).await;
        assert_eq!(over, Ok(RunStatus::Succeeded), "run {number}: {}", leader.node.details());
    }
    assert!(workers.iter().all(|worker| !worker.is_finished()), "a worker gave up");
    assert_eq!(folded(&*journal).await, leader.node.details());
    workers.iter().for_each(JoinHandle::abort);
    witness.count()
}

#[tokio::test(start_paused = true)]
async fn every_step_ends_once_and_locks_hold_despite_network_faults() {
    let storms = if std::env::vars().any(|(name, _)| name == "WINDLASS_DEEP") { 500 } else { 16 };
    let (mut started, mut wanted) = (0, 0);
    for seed in 0..storms {
        println!("storm {seed}");
        let (attempts, steps) = storm(seed).await;
        assert_eq!(steps, usize::try_from(RUNS).expect("it is small") * STEPS);
        started += attempts;
        wanted += steps;
    }
    // Faults without an effect would prove nothing.
    assert!(
        started > wanted + wanted / 20,
        "{started} attempts of {wanted} steps: no storm at all"
    );
}
