//! Queues on the same server.

use std::path::PathBuf;
use std::process::Command;

use super::server::BenchRedis;
use crate::peer_queue::{PeerQueue, built};

const BULLMQ: PeerQueue = PeerQueue {
    name: "BullMQ",
    program: || {
        let mut node = Command::new("node");
        node.arg(source("bullmq.js")).env("NODE_PATH", built("peers/node/node_modules"));
        node
    },
    jobs: (5_000, 50_000),
    tuned: "2 processes × 64 jobs, put 1,000 at once",
};

const CELERY: PeerQueue = PeerQueue {
    name: "Celery",
    program: || {
        let mut python = Command::new(built("peers/celery/bin/python"));
        python.arg(source("celery_queue.py"));
        python
    },
    jobs: (2_000, 5_000),
    tuned: "2 processes, 500 fetched ahead of each, no gossip",
};

/// Each queue in its own database.
pub(super) fn all(redis: &BenchRedis) -> [(PeerQueue, String); 2] {
    [(BULLMQ, redis.url()), (CELERY, format!("{}/1", redis.url()))]
}

/// A queue that is a script.
fn source(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "queues/redis", name].iter().collect()
}
