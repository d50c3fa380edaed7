//! The rows of workers that leave letters in a Redis, and of queues on it.

use super::queues;
use super::server::Redis;
use crate::cluster::{Crew, Site};
use crate::disk::Scratch;
use crate::local;
use crate::queue::{self, beside};
use crate::table::{Row, Target};

/// Steps of the chain.
const CHAIN: u32 = 1_000;

/// All rows of this part.
pub(crate) fn rows(scratch: &Scratch) -> Vec<Row> {
    let Some(redis) = Redis::start(scratch) else { return vec![not_here()] };
    let runtime = local::runtime();
    let crew = Crew::start(&Site::over_redis(scratch, redis.url()), &runtime);
    let mut rows = vec![crew.throughput()];
    rows.extend(crew.handed());
    rows.extend([crew.hop(CHAIN), crew.fan(), crew.memory()]);
    crew.end();
    let (others, fastest) = queue::rows(&queues::all(&redis));
    rows.push(beside(&rows[0], fastest, Target::None));
    rows.extend(others);
    rows
}

fn not_here() -> Row {
    Row {
        name: "redis".to_owned(),
        best: f64::NAN,
        median: f64::NAN,
        unit: "",
        detail: "redis-server is not installed".to_owned(),
        target: Target::None,
    }
}
