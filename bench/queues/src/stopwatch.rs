//! The measurements of both programs, and their output.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

/// The time after which a measurement is given up.
const WITHIN: Duration = Duration::from_secs(120);

/// The time for which a slow queue is measured.
const ENOUGH: Duration = Duration::from_secs(30);

static DONE: AtomicUsize = AtomicUsize::new(0);
static STARTED: Mutex<Vec<Instant>> = Mutex::new(Vec::new());

/// Records that a handler has run.
pub fn note() {
    STARTED.lock().expect("no holder panics").push(Instant::now());
    DONE.fetch_add(1, Ordering::Release);
}

/// Waits until this many handlers have run.
pub async fn until(count: usize) {
    timeout(WITHIN, all(count)).await.expect("the queue goes on");
}

/// Waits until this many handlers have run, or for a fixed time, because a queue that only polls takes hours. Returns
/// the number that have run.
pub async fn until_or_enough(count: usize) -> usize {
    drop(timeout(ENOUGH, all(count)).await);
    DONE.load(Ordering::Acquire).min(count)
}

async fn all(count: usize) {
    while DONE.load(Ordering::Acquire) < count {
        sleep(Duration::from_micros(500)).await;
    }
}

/// The start time of a handler, by its number from zero.
pub fn started(at: usize) -> Instant {
    STARTED.lock().expect("no holder panics")[at]
}

/// Jobs per second, from before the first one is enqueued until the store has all of them as done.
pub fn tell_rate(count: usize, put: Duration, drained: Duration) {
    let rate = |took: Duration| count as f64 / took.as_secs_f64();
    println!("{:.0} {:.0} {:.0}", rate(put + drained), rate(put), rate(drained));
}

/// The median and the 99th percentile, in milliseconds.
pub fn tell_waits(mut waits: Vec<Duration>) {
    waits.sort_unstable();
    let at = |percent: usize| waits[(waits.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!("{:.3} {:.3}", at(50), at(99));
}

/// The arguments of the program: `rate|rate-tuned|waits URL COUNT`.
pub struct Asked {
    pub what: String,
    pub url: String,
    pub count: usize,
}

impl Asked {
    pub fn of_arguments() -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let [what, url, count] = arguments.try_into().expect("rate|rate-tuned|waits URL COUNT");
        Self { what, url, count: count.parse().expect("how many") }
    }

    pub fn is_tuned(&self) -> bool {
        self.what == "rate-tuned"
    }
}
