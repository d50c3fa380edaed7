//! Calls on the store of objects, with a deadline, and the refusals that its errors become.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use tokio::time::timeout;
use windlass_core::object::ObjectId;
use windlass_link::http::ObjectFrameError;
use windlass_net::http::ObjectProblem;
use windlass_store::objects::{ObjectError, ObjectFuture, ObjectStore};

use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// The longest wait for the store. A network file system can hang.
const CALL_WITHIN: Duration = Duration::from_mins(1);

/// The objects of this controller, or the refusal of one that has none.
pub(super) fn objects(api: &Api) -> Result<Arc<dyn ObjectStore>, ApiError> {
    if let Some(objects) = &api.stores.objects {
        return Ok(Arc::clone(objects));
    }
    if let Some(upstream) = &api.upstream {
        let address = upstream.address();
        let detail = format!("this read-only replica has no files of steps: ask {address}");
        return Err(ApiError::leader_elsewhere(detail, address.to_string()));
    }
    let detail = "files of steps are unavailable: this controller has no folder for them. Start every controller with \
                  --objects FOLDER, a folder that all of them share";
    Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "no_objects", detail.to_owned()))
}

/// Waits for a call on the store, within its deadline.
pub(super) async fn within<T>(call: ObjectFuture<'_, T>) -> Result<T, ApiError> {
    let slow = |_| {
        let detail = format!(
            "the store of objects did not answer within {} s: try again, and check its disk",
            CALL_WITHIN.as_secs()
        );
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, "objects_slow", detail)
    };
    Ok(timeout(CALL_WITHIN, call).await.map_err(slow)??)
}

/// Parses the id in a path.
pub(super) fn object_id(text: &str) -> Result<ObjectId, ApiError> {
    let bad = "the id of an object has 64 hexadecimal digits in lower case";
    ObjectId::parse(text).ok_or_else(|| ApiError::bad_request(bad))
}

impl From<ObjectError> for ApiError {
    fn from(error: ObjectError) -> Self {
        let detail = error.to_string();
        let about = |id: ObjectId| ObjectProblem { id: id.to_string(), ..ObjectProblem::default() };
        let (status, code, object) = match error {
            ObjectError::Missing { id, .. } => (StatusCode::NOT_FOUND, "no_such_object", about(id)),
            ObjectError::Corrupt { id, reason, .. } => {
                let object = ObjectProblem { reason: Some(reason), ..about(id) };
                (StatusCode::INTERNAL_SERVER_ERROR, "object_damaged", object)
            }
            ObjectError::Mismatch { id, found } => {
                let object = ObjectProblem { found: Some(found.to_string()), ..about(id) };
                (StatusCode::UNPROCESSABLE_ENTITY, "object_mismatch", object)
            }
            ObjectError::Offset { id, at, expected } => {
                let object = ObjectProblem { at: Some(at), size: Some(expected), ..about(id) };
                (StatusCode::CONFLICT, "object_offset", object)
            }
            ObjectError::Limit(limit) => {
                return Self::new(StatusCode::UNPROCESSABLE_ENTITY, "object_limit", limit);
            }
            ObjectError::Store(error) => return error.into(),
        };
        Self::new(status, code, detail).about(object)
    }
}

impl From<ObjectFrameError> for ApiError {
    fn from(error: ObjectFrameError) -> Self {
        let detail = format!("the body is no batch of objects: {error}");
        match error {
            ObjectFrameError::Cut | ObjectFrameError::TooLong(_) => Self::bad_request(detail),
            ObjectFrameError::TooManyObjects(_)
            | ObjectFrameError::TooLarge(_)
            | ObjectFrameError::TooManyBytes => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "object_limit", detail)
            }
        }
    }
}
