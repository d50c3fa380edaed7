//! The leader's end of the HTTP link.

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use windlass_core::engine::EngineCall;
use windlass_core::id::WorkerId;
use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerLocality,
    WorkerRefusal,
};
use windlass_link::http::{DeathNoticeBody, LOG_SIZE_HEADER, ValueFetchRequest};
use windlass_link::output::{LOG_CHUNKS_MAX, LogChunk, LogChunksReply};

use super::access::RequestPrincipal;
use super::api_error::ApiError;
use super::api_state::Api;
use super::extract::{BodyBytes, JsonBody, PathParams};
use super::{access, name_rules};
use crate::{LogIngestError, ResultPartRequest};

/// The most bytes of output in one request. The answer is sent when they are written, so a worker has at most this much in
/// flight, and the controller can hold the output of a hundred workers.
const CREDIT: usize = 512 << 10;

/// `POST /workers/{id}/join`
pub(super) async fn join(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    RequestPrincipal(by): RequestPrincipal,
    JsonBody(register): JsonBody<RegisterRequest>,
) -> Result<Answered<Result<RegisterReply, WorkerRefusal>>, ApiError> {
    let secret = access::authenticate_worker(&headers, id)?;
    own(secret.worker_id(), register.worker)?;
    name_rules::check("the name of a worker", &register.name)?;
    name_rules::check_labels(register.labels.iter())?;
    // A worker in the leader's process does not use HTTP. The engine decides whether to believe the other places.
    let locality = match register.locality {
        WorkerLocality::SharedFate => WorkerLocality::Apart,
        WorkerLocality::Apart | WorkerLocality::SameHost => register.locality,
    };
    let register = RegisterRequest { locality, ..register };
    let join = EngineCall::join(register, secret.digest());
    Ok(Answered(api.handle.call(join.by(by)).await?))
}

/// `POST /workers/{id}/exchange`
pub(super) async fn exchange(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    JsonBody(exchange): JsonBody<Exchange>,
) -> Result<Answered<ExchangeReply>, ApiError> {
    own(access::authenticate_worker(&headers, id)?.worker_id(), exchange.worker)?;
    Ok(Answered(api.handle.exchange(exchange).await?))
}

/// `POST /workers/{id}/ended`
pub(super) async fn ended(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    JsonBody(report): JsonBody<DeathNoticeBody>,
) -> Result<(), ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let DeathNoticeBody { incarnation, started } = report;
    let ended = api.handle.call(EngineCall::guard_ended(worker, incarnation, started)).await?;
    ended.map_err(|refusal| ApiError::conflict("not_this_life", refusal.to_string()))
}

/// `POST /workers/{id}/logs`: output of steps, in postcard format.
pub(super) async fn logs(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<Answered<LogChunksReply>, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let sizes = api.intake.take(worker, pieces(&body)?).await?;
    Ok(Answered(LogChunksReply { sizes, credit: CREDIT }))
}

/// Decodes the pieces of a request. Their number comes first, and is checked before any piece is read.
fn pieces(body: &[u8]) -> Result<Vec<LogChunk>, ApiError> {
    let no_output =
        |error: postcard::Error| ApiError::bad_request(format!("the body is no output: {error}"));
    let (found, _): (usize, _) = postcard::take_from_bytes(body).map_err(no_output)?;
    if found > LOG_CHUNKS_MAX {
        return Err(LogIngestError::TooManyPieces { found }.into());
    }
    postcard::from_bytes(body).map_err(no_output)
}

/// `POST /workers/{id}/cancel`: a step of the worker cancels its run.
pub(super) async fn cancel(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    JsonBody(lease): JsonBody<LeaseRef>,
) -> Result<Answered<()>, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    Ok(Answered(api.handle.cancel_by_step(Some(worker), lease).await?))
}

/// `POST /workers/{id}/values`: bytes of a large result that a leased step reads.
pub(super) async fn values(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<u64>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<ValueFetchRequest>,
) -> Result<Response, ApiError> {
    let worker = access::authenticate_worker(&headers, id)?.worker_id();
    let ValueFetchRequest { value, from } = request;
    let part =
        api.intake.value(worker, ResultPartRequest { value, from, most: CREDIT as u64 }).await?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (LOG_SIZE_HEADER, part.size.to_string()),
    ];
    Ok((headers, part.bytes).into_response())
}

fn own(shown: WorkerId, said: WorkerId) -> Result<(), ApiError> {
    if shown == said {
        return Ok(());
    }
    let detail = format!("the message is that of worker {}, the secret another's", said.0);
    Err(ApiError::forbidden("other_worker", detail))
}
