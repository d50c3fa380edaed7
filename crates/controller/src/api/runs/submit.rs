//! `POST /runs`

use std::borrow::Cow;
use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use windlass_core::access::Principal;
use windlass_core::engine::{EngineCall, SubmitRun, SubmitWarning};
use windlass_core::id::RunId;
use windlass_core::json_form::AsText;
use windlass_link::http::{KEY_HEADER, SubmittedRunBody};
use windlass_net::random::new_run_id;
use windlass_store::archive::{KEY_MAX, SubmissionKeyClaim, SubmissionKeyOutcome};

use super::planning::{self, PlannedSubmission};
use crate::api::access::RequestPrincipal;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract::BodyBytes;

/// Creates a run of a pipeline. The answer is sent when the run is durable.
pub(in crate::api) async fn submit(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    BodyBytes(body): BodyBytes,
) -> Result<Response, ApiError> {
    let key = IdempotencyKeyHeader::read(&headers)?;
    let planned = planning::plan_body(&api, &body).await?;
    begin((&api, by), key, &body, planned).await
}

/// Creates a run, or finds the run that an equal request with the same key created.
pub(super) async fn begin(
    (api, by): (&Api, Principal),
    key: Option<String>,
    said: &[u8],
    planned: PlannedSubmission,
) -> Result<Response, ApiError> {
    let fresh = new_run_id(api.now());
    let (run, known) = match key {
        None => (fresh, false),
        Some(key) => claim_idempotency_key(api, key, said, fresh).await?,
    };
    if known && is_here(api, run).await? {
        return Ok(taken(run, &[], known));
    }
    let PlannedSubmission { plan, options, reused } = planned;
    let submit = SubmitRun { run, plan, options, reused };
    let warnings = api.handle.call(EngineCall::submit(submit).by(by)).await??;
    Ok(taken(run, &warnings, known))
}

fn taken(run: RunId, warnings: &[SubmitWarning], known: bool) -> Response {
    let status = if known { StatusCode::OK } else { StatusCode::CREATED };
    let location = [(header::LOCATION, format!("/runs/{run}"))];
    let warnings = warnings.iter().map(ToString::to_string).collect();
    let submitted = SubmittedRunBody { id: AsText(run), warnings, known };
    (status, location, Answered(submitted)).into_response()
}

/// The value of the header `idempotency-key`.
#[derive(Debug)]
pub(in crate::api) struct IdempotencyKeyHeader;

impl JsonSchema for IdempotencyKeyHeader {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IdempotencyKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": KEY_MAX, "pattern": "^[!-~]+$" })
    }
}

impl IdempotencyKeyHeader {
    /// Reads the header, if the request has it.
    pub(super) fn read(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
        let Some(key) = headers.get(KEY_HEADER) else { return Ok(None) };
        let fits = |key: &str| (1..=KEY_MAX).contains(&key.len());
        let is_visible = |key: &str| key.bytes().all(|byte| byte.is_ascii_graphic());
        match key.to_str() {
            Ok(key) if fits(key) && is_visible(key) => Ok(Some(key.to_owned())),
            _ => Err(ApiError::bad_request(format!(
                "`{KEY_HEADER}` is a text of 1 to {KEY_MAX} ASCII characters without spaces"
            ))),
        }
    }
}

/// Returns the run of a key, and whether an earlier request claimed the key.
async fn claim_idempotency_key(
    api: &Api,
    key: String,
    said: &[u8],
    run: RunId,
) -> Result<(RunId, bool), ApiError> {
    let body = *blake3::hash(said).as_bytes();
    match api
        .stores
        .archive
        .claim(SubmissionKeyClaim { key, body, run, at: api.latest_now() })
        .await?
    {
        SubmissionKeyOutcome::New => Ok((run, false)),
        SubmissionKeyOutcome::Known(run) => Ok((run, true)),
        SubmissionKeyOutcome::Conflict(run) => Err(ApiError::conflict(
            "key_conflict",
            format!(
                "this idempotency key stands for run {run}, which was submitted with another body"
            ),
        )),
    }
}

/// Whether a run that a key stands for was made. If not, its first submission did not get through.
async fn is_here(api: &Api, run: RunId) -> Result<bool, ApiError> {
    let is_open = api.handle.views().with(|view| view.engine.run(run).is_some());
    Ok(is_open || api.stores.archive.run(run).await?.is_some())
}
