//! What a step returned, on its way to those that need it.

use std::sync::Arc;

use serde::Serialize;
use windlass_core::failure::{Failure, FailureKind};
use windlass_core::outcome::Output;

use super::value::{Encoded, Unfit, encode};
use crate::worker::executors::Call;

/// What to do about a result that cannot travel.
const PIN: &str = "hand large data on in a file; or give both this step and those that take its result `pin`, and it stays \
                   in the memory of the leader's worker";

/// Hands a result on: with the outcome, beside it if it is large, or in memory where it cannot travel and need not.
pub(crate) async fn hand_on<T: Serialize + Send + Sync + 'static>(
    call: &Call,
    result: T,
) -> Result<Output, Failure> {
    let refused = |why: String| Failure::new(FailureKind::Refused, why);
    match encode(&result, |text| call.holds_secret(text)) {
        Ok(Encoded::Small(output)) => Ok(output),
        Ok(Encoded::Large(text)) => {
            let kept = call.keep(text).await;
            kept.map_err(|why| refused(format!("its result is large: {why}")))
        }
        Err(Unfit::Travels(_)) if call.may_keep_here() => Ok(call.keep_here(Arc::new(result))),
        Err(Unfit::Travels(why)) => Err(refused(format!("its result {why}: {PIN}"))),
        Err(Unfit::Secret) => {
            Err(refused("its result holds a secret: hand it on in no result".to_owned()))
        }
    }
}
