//! Waits with a deadline.

use std::time::Duration;

/// The deadline, longer than every measurement.
pub(crate) const WAIT_MAX: Duration = Duration::from_mins(2);

/// Awaits a future. Panics after the deadline with a message that names the future.
pub(crate) async fn within<T>(what: &str, wait: impl Future<Output = T>) -> T {
    let came = tokio::time::timeout(WAIT_MAX, wait).await;
    came.unwrap_or_else(|_| panic!("waited {WAIT_MAX:?} for {what}"))
}
