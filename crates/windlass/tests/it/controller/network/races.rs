//! Concurrent requests for the same thing.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass::core::outcome::RunStatus;

use super::faults::ended;
use super::faulty_network::FaultyNetwork;
use super::network_node::{NetworkLeader, NetworkWitness, join};
use crate::controller::test_node::{journal, plan, run};

#[tokio::test(start_paused = true)]
async fn five_workers_race_for_one_step_and_one_gets_it() {
    for seed in 0..20 {
        let (journal, network) = (journal(), FaultyNetwork::new(seed, 0));
        let leader = NetworkLeader::start(&journal, &network).await;
        let witness = Arc::new(NetworkWitness::default());
        let workers: Vec<_> = (0..5).map(|number| join(&network, number, &witness)).collect();
        leader.node.submit(run(seed), &plan(["only"])).await;
        let over = timeout(Duration::from_mins(1), ended(&leader.node.handle, run(seed))).await;
        assert_eq!(over, Ok(RunStatus::Succeeded), "seed {seed}");
        assert_eq!(witness.count(), (1, 1), "seed {seed}");
        workers.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
