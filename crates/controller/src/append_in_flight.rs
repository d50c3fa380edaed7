//! The append in flight.

use std::future::pending;
use std::pin::Pin;

use tokio::time::{Instant, sleep_until};
use windlass_store::db::StoreError;
use windlass_store::journal::{BatchId, Position};

type AppendFuture = Pin<Box<dyn Future<Output = Result<Position, StoreError>> + Send>>;

/// The state of the batch that becomes durable next.
pub(super) enum AppendInFlight {
    Idle,
    Appending {
        batch: BatchId,
        appending: AppendFuture,
    },
    /// Its outcome is unknown: the same batch is appended again.
    Retrying {
        until: Instant,
    },
}

/// The outcome of waiting for an append.
pub(super) enum AppendOutcome {
    Durable(BatchId),
    Failed(StoreError),
    RetryDue,
}

impl AppendInFlight {
    /// Waits for the append in flight, or for the end of the pause after a failed one.
    pub(super) async fn next_outcome(&mut self) -> AppendOutcome {
        match self {
            Self::Idle => pending().await,
            Self::Retrying { until } => {
                sleep_until(*until).await;
                AppendOutcome::RetryDue
            }
            Self::Appending { batch, appending } => match appending.await {
                Ok(_) => AppendOutcome::Durable(*batch),
                Err(error) => AppendOutcome::Failed(error),
            },
        }
    }
}
