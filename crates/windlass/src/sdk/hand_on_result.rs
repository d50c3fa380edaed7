//! Storing the result of a step for its dependents.

use std::sync::Arc;

use serde::Serialize;
use windlass_core::outcome::StepOutput;
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_worker::executors::StepCall;

use super::value::{EncodedResult, UnfitResult, encode};

/// The advice for a result that cannot be sent.
const PIN: &str = "hand large data on in a file; or give both this step and those that take its result `pin`, and it stays \
                   in the memory of the leader's worker";

/// Stores a result: in the outcome, beside it if it is large, or in memory if it cannot be sent and its step is pinned.
pub(crate) async fn hand_on_result<T: Serialize + Send + Sync + 'static>(
    call: &StepCall,
    result: T,
) -> Result<StepOutput, StepFailure> {
    let refused = |why: String| StepFailure::new(StepFailureKind::Refused, why);
    match encode(&result, |text| call.holds_secret(text)) {
        Ok(EncodedResult::Small(output)) => Ok(output),
        Ok(EncodedResult::Large(text)) => {
            let kept = call.keep(text).await;
            kept.map_err(|why| refused(format!("its result is large: {why}")))
        }
        Err(UnfitResult::Travels(_)) if call.may_keep_in_memory() => {
            Ok(call.keep_in_memory(Arc::new(result)))
        }
        Err(UnfitResult::Travels(why)) => Err(refused(format!("its result {why}: {PIN}"))),
        Err(UnfitResult::Secret) => {
            Err(refused("its result holds a secret: results must not contain secrets".to_owned()))
        }
    }
}
