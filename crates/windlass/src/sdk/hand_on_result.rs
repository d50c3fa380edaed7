//! What a step returned, on its way to those that need it.

use std::sync::Arc;

use serde::Serialize;
use windlass_core::outcome::StepOutput;
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_worker::executors::StepCall;

use super::value::{EncodedResult, UnfitResult, encode};

/// What to do about a result that cannot travel.
const PIN: &str = "hand large data on in a file; or give both this step and those that take its result `pin`, and it stays \
                   in the memory of the leader's worker";

/// Hands a result on: with the outcome, beside it if it is large, or in memory where it cannot travel and need not.
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
            Err(refused("its result holds a secret: hand it on in no result".to_owned()))
        }
    }
}
