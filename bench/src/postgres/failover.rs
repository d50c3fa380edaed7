//! The time without a grant after the leader is killed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::server::BenchPostgres;
use crate::cluster::{ClusterSite, ControllerProcess, one_after_the_other};
use crate::disk::ScratchFolder;
use crate::engine_fleet::now;
use crate::measure::percentile;
use crate::observer::{DeliveryNotices, ObserverExecutor, ObserverWorkers};
use crate::table::{RowTarget, TableRow};

/// The number of kills, about eight seconds each.
const KILLS: usize = 20;

/// How long an attempt takes: a gap is known to this, and the chain is not over before the last kill.
const PACE: Duration = Duration::from_millis(10);

/// The number of steps: more than are granted before the last kill.
const STEPS: u32 = 10_000;

/// Steps before and after each kill, until all workers have found the leader.
const BETWEEN: usize = 100;

pub(super) fn rows(
    scratch: &ScratchFolder,
    server: &BenchPostgres,
    runtime: &Runtime,
) -> Vec<TableRow> {
    let site = ClusterSite::on_postgres(scratch, server.database("failover"));
    let (notes, notices) = ObserverExecutor::at_a_pace(PACE);
    let mut hands = ObserverWorkers::new();
    let _inside = runtime.enter();
    let mut controllers: Vec<ControllerProcess> = ["first", "second"]
        .map(|name| ControllerProcess::start_as(&site, name, "127.0.0.1:0"))
        .into();
    let places: Vec<_> = controllers.iter().map(|it| it.address.clone()).collect();
    hands.join(&places, "observer", Arc::new(notes));
    runtime.block_on(controllers[0].submit_when_it_leads(&one_after_the_other(STEPS)));
    let mut gaps = Vec::new();
    for kill in 0..KILLS {
        for _ in 0..BETWEEN {
            notices.next("the next step of the chain");
        }
        // The standby leads next, and another standby replaces it.
        let leader = controllers.remove(0);
        let listen = format!("{}:{}", leader.address.host(), leader.address.port());
        gaps.push(longest_gap(leader, &notices));
        controllers.push(ControllerProcess::start_as(&site, &format!("next-{kill}"), &listen));
    }
    // A worker says goodbye to its leader, so a leader must be running.
    runtime.block_on(hands.end());
    drop(controllers);
    [("p50", 50), ("p99", 99), ("max", 100)].map(|(name, percent)| row(name, &gaps, percent)).into()
}

/// Kills a leader and returns the longest time without a grant after that.
fn longest_gap(leader: ControllerProcess, notices: &DeliveryNotices) -> Duration {
    // These grants were made before the kill.
    notices.drain();
    leader.process.kill();
    let (mut last, mut gap) = (now(), Duration::ZERO);
    for _ in 0..BETWEEN {
        let next = notices.next("the next step of the chain");
        gap = gap.max(next.saturating_duration_since(last));
        last = last.max(next);
    }
    gap
}

fn row(name: &str, gaps: &[Duration], percent: usize) -> TableRow {
    let seconds = percentile(gaps, percent).as_secs_f64();
    TableRow {
        name: format!("postgres: leader killed → next grant, {name}"),
        best: seconds,
        median: seconds,
        unit: "s",
        detail: format!("{KILLS} kills; terms of 6 s, of two controllers"),
        target: RowTarget::AtMost(10.0),
    }
}
