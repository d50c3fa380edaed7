//! Fetches the large results that a step reads, before the step begins.

use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::watch;
use windlass_core::large_value::{LargeValueLocation, LargeValueRef};
use windlass_core::session::LeaseGrant;

use super::value_store::ValueStore;
use crate::executor::AttemptOrders;

/// The bytes of large results that one attempt may read. A wide fan-in of large results would take all memory.
const GATHERED_MAX: u64 = 256 << 20;

/// Whether a step can take a result that is in the memory of this worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InMemoryPolicy {
    /// The step can take it: it is a function of this program.
    Taken,
    /// The step cannot take it.
    Refused,
}

/// Why a step cannot begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatherError {
    /// The step was ordered to stop before it had begun.
    Stopped,
    /// A result is not available.
    Missing(String),
}

impl ValueStore {
    /// Returns the grant with every large result that it names. A result in the memory of this worker remains a
    /// reference.
    pub async fn gather(
        &self,
        grant: LeaseGrant,
        mut orders: watch::Receiver<AttemptOrders>,
        in_memory: InMemoryPolicy,
    ) -> Result<LeaseGrant, (LeaseGrant, GatherError)> {
        let named = |values: &&str| values.contains("\"kept\":");
        let Some(values) = grant.values.as_deref().filter(named) else { return Ok(grant) };
        let gathered = tokio::select! {
            gathered = self.values(values, in_memory) => gathered.map_err(GatherError::Missing),
            _ = orders.wait_for(AttemptOrders::is_not_to_begin) => {
                Err(GatherError::Stopped)
            }
        };
        match gathered {
            Ok(values) => Ok(LeaseGrant { values: Some(values), ..grant }),
            Err(why) => Err((grant, why)),
        }
    }

    async fn values(&self, text: &str, in_memory: InMemoryPolicy) -> Result<Arc<str>, String> {
        let mut values: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut room = GATHERED_MAX;
        for (name, entry) in values["steps"].as_object_mut().into_iter().flatten() {
            self.fill(name, entry, (&mut room, in_memory)).await?;
            // Each cell of a matrix has a result of its own.
            for cell in entry["outputs"].as_array_mut().into_iter().flatten() {
                let name = cell["cell"].as_str().unwrap_or(name).to_owned();
                self.fill(&name, cell, (&mut room, in_memory)).await?;
            }
        }
        Ok(values.to_string().into())
    }

    async fn fill(
        &self,
        name: &str,
        entry: &mut Value,
        (room, in_memory): (&mut u64, InMemoryPolicy),
    ) -> Result<(), String> {
        let Some(kept) = entry.get("kept") else { return Ok(()) };
        let kept = LargeValueRef::deserialize(kept).map_err(|error| error.to_string())?;
        let unavailable = |why: String| format!("the result of `{name}` is not available: {why}");
        match &kept.location {
            LargeValueLocation::Worker { .. } if in_memory == InMemoryPolicy::Taken => {
                return Ok(());
            }
            LargeValueLocation::Worker { .. } => {
                let why = format!("it is {kept}; only a function that is pinned there can read it");
                return Err(unavailable(why));
            }
            LargeValueLocation::Leader { size, .. } => {
                let left = room.checked_sub(*size).ok_or_else(|| {
                    unavailable(format!(
                        "with it the step would read more than {GATHERED_MAX} bytes"
                    ))
                });
                *room = left?;
            }
        }
        let text = self.fetch(&kept).await.map_err(unavailable)?;
        entry["outputs"] =
            serde_json::from_str(&text).map_err(|error| unavailable(error.to_string()))?;
        Ok(())
    }
}
