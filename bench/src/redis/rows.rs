//! The rows of workers that exchange messages through Redis, and of queues on the same server.

use super::queues;
use super::server::BenchRedis;
use crate::cluster::{ClusterSite, RunningCluster};
use crate::disk::ScratchFolder;
use crate::embedded_node;
use crate::peer_queue::{self, compared_with_fastest};
use crate::table::{RowTarget, TableRow};

/// The length of the chain.
const CHAIN: u32 = 1_000;

/// All rows of this part.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let Some(redis) = BenchRedis::start(scratch) else { return vec![missing_row()] };
    let runtime = embedded_node::runtime();
    let cluster = RunningCluster::start(&ClusterSite::over_redis(scratch, redis.url()), &runtime);
    let mut rows = vec![cluster.throughput()];
    rows.extend(cluster.time_to_executor());
    rows.extend([cluster.hop(CHAIN), cluster.fan(), cluster.memory()]);
    cluster.end();
    let (others, fastest) = peer_queue::rows(&queues::all(&redis));
    rows.push(compared_with_fastest(&rows[0], fastest, RowTarget::None));
    rows.extend(others);
    rows
}

fn missing_row() -> TableRow {
    TableRow {
        name: "redis".to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: "redis-server is not installed".to_owned(),
        target: RowTarget::None,
    }
}
