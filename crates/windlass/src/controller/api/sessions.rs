//! The leader's end of the link over HTTP.

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use windlass_core::engine::{Answer, Request};
use windlass_core::id::WorkerId;
use windlass_core::session::{Exchange, Home, LeaseRef, Refusal, Register, Registered, Reply};

use super::access::By;
use super::input::{Body, Json, Path};
use super::refused::Refused;
use super::router::Api;
use super::{access, names};
use crate::controller::{IntakeError, ResultPart};
use crate::link::http::{EndedReport, LOG_SIZE_HEADER, ValueAsked};
use crate::link::output::{LogChunk, LogsTaken, PIECES_MAX};

/// Bytes of output that one request may carry: the answer comes when they are written, so that a worker has no more
/// than this on its way, and a hundred of them no more than the controller can hold.
const CREDIT: usize = 512 << 10;

/// `POST /workers/{id}/join`
pub(super) async fn join(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    By(by): By,
    Json(register): Json<Register>,
) -> Result<Answered<Result<Registered, Refusal>>, Refused> {
    let secret = access::worker(&headers, id)?;
    own(secret.worker_id(), register.worker)?;
    names::check("the name of a worker", &register.name)?;
    names::check_labels(register.labels.iter())?;
    // Who shares the leader's fate is in its process and does not come this way.
    let register = Register { home: Home::Apart, ..register };
    let join = Request::Join { register, digest: secret.digest() };
    match api.handle.ask(join.by(by)).await? {
        Answer::Registered(told) => Ok(Answered(Ok(told))),
        Answer::Refused(refusal) => Ok(Answered(Err(refusal))),
        other => unreachable!("a registration is accepted or refused, not {other:?}"),
    }
}

/// `POST /workers/{id}/exchange`
pub(super) async fn exchange(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Json(exchange): Json<Exchange>,
) -> Result<Answered<Reply>, Refused> {
    own(access::worker(&headers, id)?.worker_id(), exchange.worker)?;
    Ok(Answered(api.handle.exchange(exchange).await?))
}

/// `POST /workers/{id}/ended`
pub(super) async fn ended(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Json(report): Json<EndedReport>,
) -> Result<(), Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let EndedReport { incarnation, started } = report;
    let ended = Request::GuardEnded { worker, incarnation, started };
    match api.handle.ask(ended).await? {
        Answer::Done => Ok(()),
        Answer::Refused(refusal) => Err(Refused::conflict("not_this_life", refusal.to_string())),
        other => unreachable!("a report is taken or refused, not {other:?}"),
    }
}

/// `POST /workers/{id}/logs`: output, as postcard.
pub(super) async fn logs(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Answered<LogsTaken>, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let sizes = api.intake.take(worker, pieces(&body)?).await?;
    Ok(Answered(LogsTaken { sizes, credit: CREDIT }))
}

/// The pieces of a request. Their number comes first, and is looked at before any of them is read.
fn pieces(body: &[u8]) -> Result<Vec<LogChunk>, Refused> {
    let no_output =
        |error: postcard::Error| Refused::bad(format!("the body is no output: {error}"));
    let (found, _): (usize, _) = postcard::take_from_bytes(body).map_err(no_output)?;
    if found > PIECES_MAX {
        return Err(IntakeError::TooManyPieces { found }.into());
    }
    postcard::from_bytes(body).map_err(no_output)
}

/// `POST /workers/{id}/cancel`: a step of it has its run end.
pub(super) async fn cancel(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Json(lease): Json<LeaseRef>,
) -> Result<Answered<()>, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    Ok(Answered(api.handle.cancel_by_step(Some(worker), lease).await?))
}

/// `POST /workers/{id}/values`: bytes of a large result that a leased step reads.
pub(super) async fn values(
    State(api): State<Arc<Api>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
    Json(asked): Json<ValueAsked>,
) -> Result<Response, Refused> {
    let worker = access::worker(&headers, id)?.worker_id();
    let ValueAsked { value, from } = asked;
    let part = api.intake.value(worker, ResultPart { value, from, most: CREDIT as u64 }).await?;
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (LOG_SIZE_HEADER, part.size.to_string()),
    ];
    Ok((headers, part.bytes).into_response())
}

fn own(shown: WorkerId, said: WorkerId) -> Result<(), Refused> {
    if shown == said {
        return Ok(());
    }
    let detail = format!("the message is that of worker {}, the secret another's", said.0);
    Err(Refused::forbidden("other_worker", detail))
}
