//! `graphile rate|rate-tuned|waits URL COUNT`: graphile_worker beside windlass on the same server.
//!
//! `rate` uses the defaults. `rate-tuned` sets the options that its page on performance names.

use std::sync::Arc;
use std::time::{Duration, Instant};

use graphile_worker::{
    Database, IntoTaskHandlerResult, JobSpec, LocalQueueConfig, RawJobSpec, TaskHandler,
    WorkerContext, WorkerOptions, WorkerUtils,
};
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::time::sleep;
use windlass_bench_queues::stopwatch::{self, Asked};

const SCHEMA: &str = "graphile_worker";

/// Jobs that one call enqueues.
const AT_ONCE: usize = 5_000;

#[derive(Serialize, Deserialize)]
struct Noop {}

impl TaskHandler for Noop {
    const IDENTIFIER: &'static str = "noop";

    async fn run(self, _: WorkerContext) -> impl IntoTaskHandlerResult {
        stopwatch::note();
        Ok::<(), String>(())
    }
}

#[tokio::main]
async fn main() {
    let asked = Asked::of_arguments();
    let pool = PgPoolOptions::new().max_connections(20).connect(&asked.url).await.expect("a server");
    sqlx::query("DROP SCHEMA IF EXISTS graphile_worker CASCADE").execute(&pool).await.expect("a drop");
    let database: Database = pool.clone().into();
    let queue = WorkerUtils::new(database.clone(), SCHEMA);
    queue.migrate().await.expect("a migration");
    let options = options(database, asked.is_tuned());
    match asked.what.as_str() {
        "waits" => waits(&queue, options, asked.count).await,
        _ => rate(&queue, options, &pool, asked.count).await,
    }
}

fn options(database: Database, tuned: bool) -> WorkerOptions {
    let options = WorkerOptions::default().database(database).schema(SCHEMA).define_job::<Noop>();
    if !tuned {
        return options;
    }
    let local = LocalQueueConfig::default().with_size(500);
    let options = options.concurrency(24).poll_interval(Duration::from_millis(50));
    options.complete_job_batch_delay(Duration::from_millis(1)).local_queue(local)
}

/// Measures the defaults for a fixed time: it polls once a second and then takes one job per core, however many wait.
async fn rate(queue: &WorkerUtils, options: WorkerOptions, pool: &PgPool, count: usize) {
    let began = Instant::now();
    for from in (0..count).step_by(AT_ONCE) {
        put(queue, AT_ONCE.min(count - from)).await;
    }
    let put = began.elapsed();
    let worker = Arc::new(options.init().await.expect("a worker"));
    let began = Instant::now();
    let running = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move { worker.run().await }
    });
    let done = stopwatch::until_or_enough(count).await;
    let left = "SELECT count(*) FROM graphile_worker._private_jobs";
    while done == count
        && sqlx::query_scalar::<_, i64>(left).fetch_one(pool).await.expect("a count") > 0
    {
        sleep(Duration::from_millis(5)).await;
    }
    stopwatch::tell_rate(done, put.mul_f64(done as f64 / count as f64), began.elapsed());
    worker.request_shutdown();
    drop(running.await);
}

async fn waits(queue: &WorkerUtils, options: WorkerOptions, count: usize) {
    let worker = Arc::new(options.init().await.expect("a worker"));
    let running = tokio::spawn({
        let worker = Arc::clone(&worker);
        async move { worker.run().await }
    });
    sleep(Duration::from_millis(500)).await;
    let mut waits = Vec::new();
    for at in 0..count {
        let began = Instant::now();
        put(queue, 1).await;
        stopwatch::until(at + 1).await;
        waits.push(stopwatch::started(at) - began);
        sleep(Duration::from_millis(5)).await;
    }
    stopwatch::tell_waits(waits);
    worker.request_shutdown();
    drop(running.await);
}

async fn put(queue: &WorkerUtils, count: usize) {
    let job = || RawJobSpec {
        identifier: Noop::IDENTIFIER.to_owned(),
        payload: serde_json::json!({}),
        spec: JobSpec::default(),
    };
    let many: Vec<RawJobSpec> = (0..count).map(|_| job()).collect();
    queue.add_raw_jobs(&many).await.expect("they are taken");
}
