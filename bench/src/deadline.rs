//! Waits, each with an end.

use std::time::Duration;

/// The longest that anything measured takes, and more.
pub(crate) const WAIT_MAX: Duration = Duration::from_mins(2);

/// What comes of something; who waits in vain says for what.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(WAIT_MAX, wait).await;
    came.unwrap_or_else(|_| panic!("waited {WAIT_MAX:?} for {what}"))
}
