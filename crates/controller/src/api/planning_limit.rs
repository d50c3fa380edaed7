//! Submissions are planned a few at a time, on threads that answer nothing else.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::api_error::ApiError;

/// Submissions that are planned at a time: one more would take a core or memory from what else a controller does.
const CONCURRENT_PLANS_MAX: u32 = 2;

/// Bytes of a submission that is planned alone: its tree takes some twenty times as much memory.
const LARGE: usize = 1 << 20;

/// How long a submission waits for its turn. Each turn is bounded by the bounds on files and plans.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Turns of submissions that are not planned where they arrive.
#[derive(Debug)]
pub(super) struct PlanningLimit(Arc<Semaphore>);

impl Default for PlanningLimit {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(CONCURRENT_PLANS_MAX as usize)))
    }
}

impl PlanningLimit {
    /// Waits until a submission of so many bytes may be planned.
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
