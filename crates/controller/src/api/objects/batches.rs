//! Questions about objects, and batches of small ones.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use windlass_link::http::{
    OBJECTS_BODY_MAX, decode_ids, decode_objects, encode_ids, encode_objects,
};

use super::calls::{objects, within};
use super::object_body::ObjectBody;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

const BYTES: [(header::HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/octet-stream")];

/// `POST /objects/missing`: the ids that are not there; the others are touched.
pub(in crate::api) async fn missing(
    State(api): State<Arc<Api>>,
    ObjectBody { bytes, charge: _charge }: ObjectBody,
) -> Result<Response, ApiError> {
    let missing = within(objects(&api)?.missing(decode_ids(&bytes)?)).await?;
    Ok((BYTES, encode_ids(&missing)).into_response())
}

/// `POST /objects/batch`: stores small objects, all or none.
pub(in crate::api) async fn put(
    State(api): State<Arc<Api>>,
    ObjectBody { bytes, charge: _charge }: ObjectBody,
) -> Result<StatusCode, ApiError> {
    let store = objects(&api)?;
    let batch = decode_objects(&bytes)?;
    drop(bytes);
    within(store.put_batch(batch)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /objects/fetch`: the first of some small objects, as many as fit in a batch.
pub(in crate::api) async fn fetch(
    State(api): State<Arc<Api>>,
    ObjectBody { bytes, charge: _charge }: ObjectBody,
) -> Result<Response, ApiError> {
    let store = objects(&api)?;
    let ids = decode_ids(&bytes)?;
    let share = api.object_answers.share(OBJECTS_BODY_MAX).await?;
    let found = within(store.get_batch(ids.clone())).await?;
    let body = encode_objects(ids.into_iter().zip(found).collect());
    Ok((BYTES, share.hold(body)).into_response())
}
