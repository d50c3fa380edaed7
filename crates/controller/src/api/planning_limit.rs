//! The limit of submissions that are planned at a time.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::api_error::ApiError;

/// The most submissions that are planned at a time: more would take cores and memory from other work.
const CONCURRENT_PLANS_MAX: u32 = 2;

/// A submission above this size is planned alone: its tree takes about twenty times as much memory.
const LARGE: usize = 1 << 20;

/// The longest time that a submission waits for its turn. The limits on files and plans limit each turn.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Permits for submissions that are planned on separate threads.
#[derive(Debug)]
pub(super) struct PlanningLimit(Arc<Semaphore>);

impl Default for PlanningLimit {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(CONCURRENT_PLANS_MAX as usize)))
    }
}

impl PlanningLimit {
    /// Waits until a submission of this size may be planned.
    pub(super) async fn permit(&self, bytes: usize) -> Result<OwnedSemaphorePermit, ApiError> {
        let turns = if bytes > LARGE { CONCURRENT_PLANS_MAX } else { 1 };
        let turn = timeout(WAIT_MAX, Arc::clone(&self.0).acquire_many_owned(turns)).await;
        let turn = turn.ok().and_then(Result::ok);
        turn.ok_or_else(|| {
            let detail =
                "other submissions are being planned: send this one again in a moment".to_owned();
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
        })
    }
}
