//! A controller that is started before its database: it waits for it, for a while.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::db::StoreError;
use crate::embedded::StoreAddress;
#[cfg(feature = "postgres")]
use crate::journal::PostgresJournal;

/// How long it waits: a database that is restarted takes less, and who supervises controllers wants to know.
const STORE_WAIT_MAX: Duration = Duration::from_mins(1);

/// How soon it looks again, at first and at most.
const STORE_POLL_MIN: Duration = Duration::from_millis(250);
const STORE_POLL_MAX: Duration = Duration::from_secs(2);

/// Waits until a store that others share answers, whatever it says. `tell` is told once why it does not.
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

/// Asks until there is an answer, or there was none for too long: then what was said last.
#[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "nothing else is waited for"))]
async fn wait_for<F: Future<Output = Result<(), StoreError>>>(
    mut ask: impl FnMut() -> F,
    tell: impl FnOnce(String),
) -> Result<(), StoreError> {
    let (began, mut tell) = (Instant::now(), Some(tell));
    let mut pause = STORE_POLL_MIN;
    loop {
        let error = match ask().await {
            Err(error) if error.is_retryable() => error,
            // What is wrong with a store that answers is told by who opens it.
            Ok(()) | Err(_) => return Ok(()),
        };
        if began.elapsed() >= STORE_WAIT_MAX {
            return Err(error);
        }
        if let Some(tell) = tell.take() {
            tell(format!("{error}; it is waited for, for {STORE_WAIT_MAX:?} at most"));
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
        let (asked, told) = (Cell::new(0), Cell::new(0));
        let ask = || {
            asked.set(asked.get() + 1);
            async { Err(away()) }
        };
        let began = Instant::now();
        let reached = wait_for(ask, |_| told.set(told.get() + 1)).await;
        assert_eq!((reached, told.get()), (Err(away()), 1));
        assert!(asked.get() > 20, "{} times", asked.get());
        assert!(began.elapsed() < STORE_WAIT_MAX + 2 * STORE_POLL_MAX, "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_comes_is_found_and_one_that_refuses_is_there() {
        let asked = Cell::new(0);
        let ask = || {
            asked.set(asked.get() + 1);
            let there = asked.get() == 5;
            async move { if there { Ok(()) } else { Err(away()) } }
        };
        assert_eq!(wait_for(ask, drop).await, Ok(()));
        assert_eq!(asked.get(), 5);
        let refuses = StoreError::Unusable { place: "db".to_owned(), reason: "who?".to_owned() };
        let told = |what| panic!("{what}");
        assert_eq!(wait_for(|| async { Err(refuses.clone()) }, told).await, Ok(()));
    }
}
