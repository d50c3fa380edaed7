//! The append in flight.

use std::future::pending;
use std::pin::Pin;

use tokio::time::{Instant, sleep_until};

use crate::journal::Position;
use crate::store::StoreError;

type Appending = Pin<Box<dyn Future<Output = Result<Position, StoreError>> + Send>>;

/// What becomes of the batch that is to be durable next.
pub(super) enum Flight {
    Idle,
    Appending {
        batch: u64,
        appending: Appending,
    },
    /// Its outcome is not known: the same batch is appended again.
    Resting {
        until: Instant,
    },
}

/// What there is to tell of it.
pub(super) enum Landed {
    Durable(u64),
    Failed(StoreError),
    Rested,
}

impl Flight {
    /// Waits for the append in flight, or for the end of the pause after a failed one.
    pub(super) async fn land(&mut self) -> Landed {
        match self {
            Self::Idle => pending().await,
            Self::Resting { until } => {
                sleep_until(*until).await;
                Landed::Rested
            }
            Self::Appending { batch, appending } => match appending.await {
                Ok(_) => Landed::Durable(*batch),
                Err(error) => Landed::Failed(error),
            },
        }
    }
}
