//! Waiting with a deadline. No test sleeps: it waits for a condition that another process or thread brings about.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use tokio::time::Instant;

/// Longer than anything in a test takes on an overloaded machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The interval between two checks of a condition.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Waits until a condition holds. `what` names it in the failure.
#[track_caller]
pub(crate) fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        pause(LOOK_EVERY);
    }
}

/// Waits until a condition holds, and lets the other tasks of the runtime run meanwhile.
pub(crate) async fn until_true(mut reached: impl FnMut() -> bool) {
    until_answer(async || reached()).await;
}

/// Waits until an asynchronous question is answered with `true`.
pub(crate) async fn until_answer(mut reached: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !reached().await {
        assert!(Instant::now() < end, "the condition does not hold within {PATIENCE:?}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Runs a future on the current thread; fails if it takes too long.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let limited = async { tokio::time::timeout(PATIENCE, future).await };
    runtime.expect("a runtime starts").block_on(limited).expect("it ends in time")
}

#[expect(clippy::disallowed_methods, reason = "nothing signals what another process has reached")]
pub(crate) fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Whether there is time for longer and more thorough runs (`WINDLASS_DEEP`).
pub(crate) fn is_deep() -> bool {
    std::env::vars().any(|(name, _)| name == "WINDLASS_DEEP")
}

/// A random number below `limit`.
pub(crate) fn random_below(limit: usize) -> usize {
    let number = RandomState::new().hash_one(limit);
    usize::try_from(number % limit as u64).expect("it is below a usize")
}
