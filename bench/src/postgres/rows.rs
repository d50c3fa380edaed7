//! The rows of PostgreSQL.

use super::server::BenchPostgres;
use super::{failover, history, queues, sustained};
use crate::cluster::{ClusterSite, RunningCluster};
use crate::disk::ScratchFolder;
use crate::embedded_node;
use crate::peer_queue::{self, compared_with_fastest};
use crate::table::{RowTarget, TableRow};

/// The lengths of chains, which show whether a hop becomes more expensive.
const SHORT: u32 = 100;
const LONG: u32 = 1_000;

/// Long measurements, each alone or all after the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongMeasurement {
    /// Ten minutes of work.
    Sustained,
    /// A journal of five million events.
    History,
    /// Failover after the leader is killed.
    Failover,
}

impl LongMeasurement {
    /// In this order: half a minute, three minutes, eleven minutes.
    pub(crate) const ALL: [Self; 3] = [Self::History, Self::Failover, Self::Sustained];

    /// The measurement with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "sustained" => Some(Self::Sustained),
            "history" => Some(Self::History),
            "failover" => Some(Self::Failover),
            _ => None,
        }
    }
}

/// The rows of long measurements, on a separate server.
pub(crate) fn long_rows(scratch: &ScratchFolder, which: &[LongMeasurement]) -> Vec<TableRow> {
    let Some(server) = BenchPostgres::start(scratch) else {
        return vec![missing_row()];
    };
    let runtime = embedded_node::runtime();
    let rows = |long: &LongMeasurement| match long {
        LongMeasurement::History => history::rows(&server),
        LongMeasurement::Failover => failover::rows(scratch, &server, &runtime),
        LongMeasurement::Sustained => {
            let site = ClusterSite::on_postgres(scratch, server.database("sustained"));
            let cluster = RunningCluster::start(&site, &runtime);
            let rows = sustained::rows(&cluster, &server);
            cluster.end();
            rows
        }
    };
    which.iter().flat_map(rows).collect()
}

/// All rows of this part that take at most two minutes.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let Some(server) = BenchPostgres::start(scratch) else {
        return vec![missing_row()];
    };
    let runtime = embedded_node::runtime();
    let site = ClusterSite::on_postgres(scratch, server.database("windlass"));
    let mut rows = Vec::new();
    let cluster = RunningCluster::start(&site, &runtime);
    rows.push(cluster.throughput());
    rows.extend(cluster.time_to_executor());
    let (short, long_chain) = (cluster.hop(SHORT), cluster.hop(LONG));
    let ratio = long_chain.best / short.best;
    rows.push(long_chain);
    rows.push(TableRow {
        name: format!("postgres: hop of a chain, {LONG} / {SHORT}"),
        best: ratio,
        median: ratio,
        unit: "times",
        detail: format!("{:.2} ms in the short one", short.best),
        target: RowTarget::AtMost(1.2),
    });
    rows.push(cluster.fan());
    rows.push(cluster.memory());
    cluster.end();
    let (others, fastest) = peer_queue::rows(&queues::all(&server));
    rows.push(compared_with_fastest(&rows[0], fastest, RowTarget::AtLeast(2.0)));
    rows.extend(others);
    rows
}

fn missing_row() -> TableRow {
    TableRow {
        name: "postgres".to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: "the server is not installed".to_owned(),
        target: RowTarget::None,
    }
}
