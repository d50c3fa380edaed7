//! Waits for the database of a controller that starts before it.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_store::db::StoreError;
#[cfg(feature = "postgres")]
use windlass_store::journal::PostgresJournal;

use crate::embedded::StoreAddress;

/// The longest wait: a database restart takes less, and a supervisor needs the error.
const STORE_WAIT_MAX: Duration = Duration::from_mins(1);

/// The first and the longest interval between tries.
const STORE_POLL_MIN: Duration = Duration::from_millis(250);
const STORE_POLL_MAX: Duration = Duration::from_secs(2);

/// Waits until a shared store gives any answer. `tell` receives the first error once.
#[cfg(feature = "postgres")]
pub(super) async fn wait_for_store(
    store: &StoreAddress,
    tell: impl FnOnce(String),
) -> Result<(), StoreError> {
    let StoreAddress::Postgres { url, .. } = store else { return Ok(()) };
    wait_for(|| async { PostgresJournal::leader_at(url).await.map(drop) }, tell).await
}

#[cfg(not(feature = "postgres"))]
pub(super) async fn wait_for_store(
    _: &StoreAddress,
    _: impl FnOnce(String),
) -> Result<(), StoreError> {
    Ok(())
}

/// Polls until an answer arrives or the time is over; then returns the last error.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "only databases are awaited"))]
async fn wait_for<F: Future<Output = Result<(), StoreError>>>(
    mut ask: impl FnMut() -> F,
    tell: impl FnOnce(String),
) -> Result<(), StoreError> {
    let (began, mut tell) = (Instant::now(), Some(tell));
    let mut pause = STORE_POLL_MIN;
    loop {
        let error = match ask().await {
            Err(error) if error.is_retryable() => error,
            // An error of a reachable store is reported when it is opened.
            Ok(()) | Err(_) => return Ok(()),
        };
        if began.elapsed() >= STORE_WAIT_MAX {
            return Err(error);
        }
        if let Some(tell) = tell.take() {
            tell(format!("{error}; waiting for it for up to {STORE_WAIT_MAX:?}"));
        }
        sleep(pause).await;
        pause = (pause * 2).min(STORE_POLL_MAX);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn away() -> StoreError {
        StoreError::Unavailable { place: "db".to_owned(), reason: "refused".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn unreachable_store_is_awaited_for_a_minute_and_reported_once() {
        let (asked, notices) = (Cell::new(0), Cell::new(0));
        let ask = || {
            asked.set(asked.get() + 1);
            async { Err(away()) }
        };
        let began = Instant::now();
        let reached = wait_for(ask, |_| notices.set(notices.get() + 1)).await;
        assert_eq!((reached, notices.get()), (Err(away()), 1));
        assert!(asked.get() > 20, "{} times", asked.get());
        assert!(began.elapsed() < STORE_WAIT_MAX + 2 * STORE_POLL_MAX, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn late_store_is_found_and_refusing_store_counts_as_reachable() {
        let asked = Cell::new(0);
        let ask = || {
            asked.set(asked.get() + 1);
            let there = asked.get() == 5;
            async move { if there { Ok(()) } else { Err(away()) } }
        };
        assert_eq!(wait_for(ask, drop).await, Ok(()));
        assert_eq!(asked.get(), 5);
        let refuses =
            StoreError::Unusable { place: "db".to_owned(), reason: "access denied".to_owned() };
        let notices = |what| panic!("{what}");
        assert_eq!(wait_for(|| async { Err(refuses.clone()) }, notices).await, Ok(()));
    }
}
