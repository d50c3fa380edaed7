//! The memory that objects in answers may take together, until clients have read them.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use hyper::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::api::api_error::ApiError;

/// The unit of the budget: a block.
const UNIT: usize = 1 << 20;

/// The most units of all answers together: seven of the largest, an eighth of a controller with 1 GiB.
const UNITS: usize = 128;

/// How long a request waits for its share.
const SHARE_WITHIN: Duration = Duration::from_secs(10);

/// The free memory for objects in answers.
#[derive(Clone, Debug)]
pub(in crate::api) struct ObjectAnswerBudget {
    left: Arc<Semaphore>,
}

impl Default for ObjectAnswerBudget {
    fn default() -> Self {
        Self { left: Arc::new(Semaphore::new(UNITS)) }
    }
}

/// The share of one answer.
#[derive(Debug)]
pub(super) struct ObjectAnswerShare(OwnedSemaphorePermit);

impl ObjectAnswerBudget {
    /// Waits for memory for an answer of at most this size.
    pub(super) async fn share(&self, bytes: usize) -> Result<ObjectAnswerShare, ApiError> {
        let units = u32::try_from(units(bytes)).unwrap_or(u32::MAX);
        let share = Arc::clone(&self.left).acquire_many_owned(units);
        let share = timeout(SHARE_WITHIN, share).await.map_err(|_| too_many())?;
        Ok(ObjectAnswerShare(share.map_err(|_| too_many())?))
    }
}

impl ObjectAnswerShare {
    /// Keeps what these bytes need, for as long as they are in memory, and returns the rest.
    pub(super) fn hold(self, bytes: Vec<u8>) -> Bytes {
        let Self(mut permit) = self;
        let excess = permit.num_permits().saturating_sub(units(bytes.len()));
        drop(permit.split(excess));
        Bytes::from_owner(HeldBytes { bytes, _permit: permit })
    }
}

struct HeldBytes {
    bytes: Vec<u8>,
    _permit: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

const fn units(bytes: usize) -> usize {
    bytes.div_ceil(UNIT)
}

fn too_many() -> ApiError {
    let detail = "the answers to other requests fill the memory for objects: send the request again in a second";
    ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answer_waits_for_memory_until_others_are_read() {
        let budget = ObjectAnswerBudget::default();
        let whole = budget.share(UNITS * UNIT).await.expect("it is free");
        assert!(budget.share(1).await.is_err(), "nothing is left");
        let held = whole.hold(vec![0; UNIT + 1]);
        let rest = budget.share((UNITS - 2) * UNIT).await.expect("the excess was returned");
        assert!(budget.share(1).await.is_err(), "two units are held by the bytes");
        let part = held.slice(..1);
        drop(held);
        assert!(budget.share(1).await.is_err(), "a part of them is in use");
        drop(part);
        budget.share(2 * UNIT).await.expect("the bytes were dropped");
        drop(rest);
    }
}
