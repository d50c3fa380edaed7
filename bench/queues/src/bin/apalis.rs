//! `apalis rate|rate-tuned|waits URL COUNT`: apalis beside windlass on the same server.
//!
//! `rate` uses the defaults. `rate-tuned` takes batches of 500, without locks and without results: this is as fast as
//! it can be, but no longer gives the guarantees of windlass.

use std::time::{Duration, Instant};

use apalis::prelude::*;
use apalis_postgres::{Config, PostgresStorage};
use futures::stream;
use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio::time::sleep;
use windlass_bench_queues::stopwatch::{self, Asked};

/// Jobs that one call enqueues.
const AT_ONCE: usize = 500;

async fn noop(_: usize, _: WorkerContext) -> Result<(), BoxDynError> {
    stopwatch::note();
    Ok(())
}

#[tokio::main]
async fn main() {
    let asked = Asked::of_arguments();
    let pool = PgPoolOptions::new().max_connections(10).connect(&asked.url).await.expect("a server");
    for left in ["DROP SCHEMA IF EXISTS apalis CASCADE", "DROP TABLE IF EXISTS _sqlx_migrations"] {
        sqlx::query(left).execute(&pool).await.expect("a drop");
    }
    PostgresStorage::setup(&pool).await.expect("a migration");
    match asked.what.as_str() {
        "waits" => waits(&pool, asked.count).await,
        _ => rate(&pool, asked.is_tuned(), asked.count).await,
    }
}

fn config(tuned: bool) -> Config {
    let config = Config::default().queue("bench");
    if tuned { config.batch_size(500).lock_tasks(false).persist_results(false) } else { config }
}

async fn rate(pool: &PgPool, tuned: bool, count: usize) {
    let backend = || PostgresStorage::<usize>::new(pool).with_config(config(tuned)).with_pubsub();
    let mut queue = PostgresStorage::<usize>::new(pool).with_config(config(tuned));
    let began = Instant::now();
    for from in (0..count).step_by(AT_ONCE) {
        let many = from..count.min(from + AT_ONCE);
        let many: Vec<_> = many.map(|at| TaskBuilder::new(at).build()).collect();
        queue.push_all(&mut stream::iter(many)).await.expect("they are taken");
    }
    let put = began.elapsed();
    let first = WorkerBuilder::new("first").backend(backend()).parallelize(tokio::spawn).build(noop);
    let second = WorkerBuilder::new("second").backend(backend()).parallelize(tokio::spawn).build(noop);
    let began = Instant::now();
    tokio::select! {
        ended = first.run() => panic!("a worker ended: {:?}", ended.err()),
        ended = second.run() => panic!("a worker ended: {:?}", ended.err()),
        () = stopwatch::until(count) => {}
    }
    stopwatch::tell_rate(count, put, began.elapsed());
}

async fn waits(pool: &PgPool, count: usize) {
    let backend = PostgresStorage::<usize>::new(pool).with_config(config(false)).with_pubsub();
    let mut queue = PostgresStorage::<usize>::new(pool).with_config(config(false));
    tokio::spawn(async move {
        let worker = WorkerBuilder::new("only").backend(backend).build(noop);
        drop(worker.run().await);
    });
    sleep(Duration::from_millis(800)).await;
    let mut waits = Vec::new();
    for at in 0..count {
        let began = Instant::now();
        queue.push(at).await.expect("the job is taken");
        stopwatch::until(at + 1).await;
        waits.push(stopwatch::started(at) - began);
        sleep(Duration::from_millis(5)).await;
    }
    stopwatch::tell_waits(waits);
}
