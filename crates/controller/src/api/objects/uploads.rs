//! Large objects, which arrive in pieces.

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use windlass_link::http::UploadSizeBody;

use super::calls::{object_id, objects, within};
use super::object_body::ObjectBody;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::{PathParams, QueryParams};

/// The parameters of a piece of an upload.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct AppendQuery {
    /// The offset of the piece: a multiple of 1 MiB, at most the size of the upload.
    at: u64,
}

/// The parameters of the end of an upload.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct FinishQuery {
    /// The size of the object.
    size: u64,
}

/// `GET /objects/{id}/upload`: the size of an unfinished upload.
pub(in crate::api) async fn uploaded(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
) -> Result<Answered<UploadSizeBody>, ApiError> {
    let size = within(objects(&api)?.uploaded(object_id(&id)?)).await?;
    Ok(Answered(UploadSizeBody { size }))
}

/// `POST /objects/{id}/upload`: continues an upload.
pub(in crate::api) async fn append(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    QueryParams(AppendQuery { at }): QueryParams<AppendQuery>,
    ObjectBody { bytes, charge: _charge }: ObjectBody,
) -> Result<Answered<UploadSizeBody>, ApiError> {
    let size = within(objects(&api)?.append(object_id(&id)?, at, bytes)).await?;
    Ok(Answered(UploadSizeBody { size }))
}

/// `POST /objects/{id}/finish`: publishes an upload.
pub(in crate::api) async fn finish(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    QueryParams(FinishQuery { size }): QueryParams<FinishQuery>,
    _: ObjectBody,
) -> Result<StatusCode, ApiError> {
    within(objects(&api)?.finish(object_id(&id)?, size)).await?;
    Ok(StatusCode::NO_CONTENT)
}
