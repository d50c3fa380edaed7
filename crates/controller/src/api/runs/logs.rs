//! `GET /runs/{run}/logs` and the bytes of each

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use windlass_core::id::StepIx;
use windlass_link::http::{LOG_SIZE_HEADER, LogEntryBody};
use windlass_store::logs;
use windlass_store::logs::{LogId, LogStore as _, READ_MAX};

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::byte_range::ByteRange;
use crate::api::extract;
use crate::api::extract::{PathParams, QueryParams};

/// Lists the logs of a run.
pub(in crate::api) async fn logs(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
) -> Result<Answered<Vec<LogEntryBody>>, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let logs = logs::list_printed(&*api.stores.logs, run).await?;
    Ok(Answered(logs.into_iter().map(|(log, size)| LogEntryBody::of(log, size)).collect()))
}

/// The parameters of a part of a log.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct LogBytesQuery {
    /// The offset of the first byte to return.
    #[serde(default)]
    from: u64,
    /// How long to wait for the first byte, in milliseconds (default: 0; at most 30 s).
    wait_ms: Option<u64>,
}

/// Returns bytes of a log. While the attempt goes on and there are none, the answer waits for the first.
pub(in crate::api) async fn log(
    State(api): State<Arc<Api>>,
    PathParams((run, step, attempt, delivery)): PathParams<(String, u32, u16, u16)>,
    QueryParams(query): QueryParams<LogBytesQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = lookup::find(&api, &run).await?;
    let log = LogId::new(run, StepIx(step), attempt, delivery);
    if headers.contains_key(header::RANGE)
        && let Some(part) = ranged(&api, log, &headers).await?
    {
        return Ok(part);
    }
    let range = query.from..query.from.saturating_add(READ_MAX as u64);
    let wait = extract::wait(query.wait_ms);
    let mut heard = api.stores.logs.subscribe(log);
    let mut part = api.stores.logs.read(log, range.clone()).await?;
    if part.bytes.is_empty() && !wait.is_zero() {
        let until = Instant::now() + wait;
        tokio::select! {
            _ = heard.changed() => {}
            () = over(&api, log) => {}
            () = sleep_until(until) => {}
        }
        part = api.stores.logs.read(log, range).await?;
    }
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (LOG_SIZE_HEADER, part.size.to_string()),
        (header::ACCEPT_RANGES.as_str(), "bytes".to_owned()),
    ];
    Ok((headers, part.bytes).into_response())
}

/// Answers a `range`, up to the size limit of one answer; `None` if the range is to be ignored. It does not wait for
/// bytes.
async fn ranged(api: &Api, log: LogId, headers: &HeaderMap) -> Result<Option<Response>, ApiError> {
    let size = api.stores.logs.read(log, 0..0).await?.size;
    let range = match ByteRange::read(headers, size) {
        ByteRange::Whole => return Ok(None),
        ByteRange::Part(range) => range,
        ByteRange::Beyond => {
            let detail = format!("the log has {size} bytes: the range begins behind its end");
            let refused = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "no_such_range", detail);
            let place = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            return Ok(Some((place, refused).into_response()));
        }
    };
    let end = range.end.min(range.start.saturating_add(READ_MAX as u64));
    let part = api.stores.logs.read(log, range.start..end).await?;
    // The log may have grown in between; its earlier bytes do not change.
    let last = (part.from + part.bytes.len() as u64).saturating_sub(1);
    let place = format!("bytes {}-{last}/{}", part.from, part.size);
    let headers = [
        (header::CONTENT_TYPE.as_str(), "application/octet-stream".to_owned()),
        (header::CONTENT_RANGE.as_str(), place),
        (LOG_SIZE_HEADER, part.size.to_string()),
    ];
    Ok(Some((StatusCode::PARTIAL_CONTENT, headers, part.bytes).into_response()))
}

/// Waits until the log is complete.
async fn over(api: &Api, log: LogId) {
    let mut moved = api.stores.histories.moved();
    while !is_over(api, log) && moved.changed().await.is_ok() {}
}

fn is_over(api: &Api, log: LogId) -> bool {
    api.handle.views().with(|view| {
        let Some(run) = view.engine.run(log.run) else { return true };
        if log.step.0 >= run.plan.node_count() {
            return true;
        }
        let Some(step) = run.steps(log.step).next() else { return true };
        let (now, asked) = ((step.attempt, step.delivery), (log.attempt, log.delivery));
        let lies_ahead = now < asked;
        let is_held = now == asked && view.engine.lease(log.run, log.step).is_some();
        step.status.is_terminal() || !(lies_ahead || is_held)
    })
}
