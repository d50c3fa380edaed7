//! A cluster whose workers leave letters in a Redis.

use super::server::Redis;
use crate::cluster::{Crew, Site, Targets};
use crate::disk::Scratch;
use crate::local;
use crate::table::Row;

/// Steps of the chain.
const CHAIN: u32 = 1_000;

/// All rows of this part; none where Redis is not installed.
pub(crate) fn rows(scratch: &Scratch) -> Vec<Row> {
    let Some(redis) = Redis::start(scratch) else { return Vec::new() };
    let runtime = local::runtime();
    let targets = Targets { rate: 40_000.0, fan: 0.6 };
    let crew = Crew::start(&Site::over_redis(scratch, redis.url()), &runtime);
    let mut rows = vec![crew.throughput(targets)];
    rows.extend(crew.handed());
    rows.extend([crew.hop(CHAIN), crew.fan(targets), crew.memory()]);
    crew.end();
    rows
}
