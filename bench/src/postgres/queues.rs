//! Queues on the same server.

use std::process::Command;

use super::server::BenchPostgres;
use crate::peer_queue::{PeerQueue, built};

const GRAPHILE: PeerQueue = PeerQueue {
    name: "graphile_worker",
    program: || Command::new(built("queues/release/graphile")),
    jobs: (10_000, 50_000),
    tuned: "24 jobs, local queue of 500, completed in batches",
};

const APALIS: PeerQueue = PeerQueue {
    name: "apalis",
    program: || Command::new(built("queues/release/apalis")),
    jobs: (10_000, 50_000),
    tuned: "batches of 500, no locks, no results",
};

/// Each queue in its own database.
pub(super) fn all(server: &BenchPostgres) -> [(PeerQueue, String); 2] {
    [(GRAPHILE, server.database("graphile")), (APALIS, server.database("apalis"))]
}
