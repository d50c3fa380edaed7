//! The rows of PostgreSQL.

use super::server::Server;
use super::{failover, history, queues, sustained};
use crate::cluster::{Crew, Site};
use crate::disk::Scratch;
use crate::local;
use crate::queue::{self, beside};
use crate::table::{Row, Target};

/// Chains of these lengths show whether a hop becomes dearer.
const SHORT: u32 = 100;
const LONG: u32 = 1_000;

/// What takes its time, each by itself or all of it behind the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Long {
    /// Ten minutes of work.
    Sustained,
    /// A journal of five million events.
    History,
    /// Leaders that are killed.
    Failover,
}

impl Long {
    /// In this order: half a minute, three minutes, eleven minutes.
    pub(crate) const ALL: [Self; 3] = [Self::History, Self::Failover, Self::Sustained];

    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "sustained" => Some(Self::Sustained),
            "history" => Some(Self::History),
            "failover" => Some(Self::Failover),
            _ => None,
        }
    }
}

/// The rows of what takes its time, on a server of its own.
pub(crate) fn long_rows(scratch: &Scratch, which: &[Long]) -> Vec<Row> {
    let Some(server) = Server::start(scratch) else {
        return vec![not_here()];
    };
    let runtime = local::runtime();
    let rows = |long: &Long| match long {
        Long::History => history::rows(&server),
        Long::Failover => failover::rows(scratch, &server, &runtime),
        Long::Sustained => {
            let site = Site::on_postgres(scratch, server.database("sustained"));
            let crew = Crew::start(&site, &runtime);
            let rows = sustained::rows(&crew, &server);
            crew.end();
            rows
        }
    };
    which.iter().flat_map(rows).collect()
}

/// All rows of this part that take no longer than a minute or two.
pub(crate) fn rows(scratch: &Scratch) -> Vec<Row> {
    let Some(server) = Server::start(scratch) else {
        return vec![not_here()];
    };
    let runtime = local::runtime();
    let site = Site::on_postgres(scratch, server.database("windlass"));
    let mut rows = Vec::new();
    let crew = Crew::start(&site, &runtime);
    rows.push(crew.throughput());
    rows.extend(crew.handed());
    let (short, long_chain) = (crew.hop(SHORT), crew.hop(LONG));
    let ratio = long_chain.best / short.best;
    rows.push(long_chain);
    rows.push(Row {
        name: format!("postgres: hop of a chain, {LONG} / {SHORT}"),
        best: ratio,
        median: ratio,
        unit: "times",
        detail: format!("{:.2} ms in the short one", short.best),
        target: Target::AtMost(1.2),
    });
    rows.push(crew.fan());
    rows.push(crew.memory());
    crew.end();
    let (others, fastest) = queue::rows(&queues::all(&server));
    rows.push(beside(&rows[0], fastest, Target::AtLeast(2.0)));
    rows.extend(others);
    rows
}

fn not_here() -> Row {
    Row {
        name: "postgres".to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: "the server is not installed".to_owned(),
        target: Target::None,
    }
}
