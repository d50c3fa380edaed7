//! `GET /runs/{run}/events`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use windlass_core::engine::Event;
use windlass_core::id::RunId;
use windlass_link::http::{EVENTS_TYPE, EventsPage};
use windlass_store::journal::{Position, RecordedEvent};

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::events::{SseReader, StreamStart, stream, wants_stream};
use crate::api::extract;
use crate::api::extract::{PathParams, QueryParams};
use crate::api::router::Api;

/// Events in a page whose asker did not say how many.
const PAGE: usize = 1_000;

/// Events in a page at most: a few megabytes as JSON.
const PAGE_MAX: usize = 10_000;

/// Bytes of outputs in a page, beside those of its first event: with what JSON adds, less than a client takes.
const OUTPUTS_MAX: usize = 4 << 20;

/// Which events.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RunEventsQuery {
    #[serde(default)]
    after: u64,
    wait_ms: Option<u64>,
    limit: Option<usize>,
}

/// Events behind a position. If there are none yet, and the run goes on, the answer waits for the first.
pub(in crate::api) async fn events(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    QueryParams(asked): QueryParams<RunEventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = lookup::find(&api, &run).await?;
    lookup::caught_up(&api).await?;
    if wants_stream(&headers) {
        let start = StreamStart::read(&api, &headers, Some(asked.after), |_| Position(0))?;
        return stream(SseReader::of_run(api, run, start));
    }
    let most = asked.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let mut events = next(&api, run, &asked, most).await?;
    let more = cut(&mut events) || events.len() == most;
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains(EVENTS_TYPE)) {
        let record = lookup::record(&api, run).await?;
        let page = EventsPage::new(&record.workers, events, more);
        let page = page.with_slots(lookup::slots(&api)).encode();
        return Ok(([(header::CONTENT_TYPE, EVENTS_TYPE)], page).into_response());
    }
    let shown = events.iter().map(|(at, recorded)| recorded.event.to_json(at.0, recorded.at));
    Ok(Answered(shown.collect::<Vec<Value>>()).into_response())
}

async fn next(
    api: &Api,
    run: RunId,
    asked: &RunEventsQuery,
    most: usize,
) -> Result<Vec<(Position, RecordedEvent)>, ApiError> {
    let until = Instant::now() + extract::wait(asked.wait_ms);
    let mut moved = api.stores.histories.moved();
    loop {
        moved.mark_unchanged();
        let record = api.stores.histories.record(run);
        let is_over = record.is_none_or(|record| record.status.is_terminal());
        let events = lookup::behind(api, run, Position(asked.after), most).await?;
        if is_over || !events.is_empty() {
            return Ok(events);
        }
        tokio::select! {
            moved = moved.changed() => if moved.is_err() { return Ok(events) },
            () = sleep_until(until) => return Ok(events),
        }
    }
}

/// Ends a page where its outputs have no more room, and says whether something was left for the next.
fn cut(events: &mut Vec<(Position, RecordedEvent)>) -> bool {
    let mut bytes = 0;
    let full = events.iter().position(|(_, recorded)| {
        bytes += output_len(&recorded.event);
        bytes > OUTPUTS_MAX
    });
    let Some(full) = full.filter(|at| *at > 0) else { return false };
    events.truncate(full);
    true
}

fn output_len(event: &Event) -> usize {
    if let Event::Ended { outcome, .. } | Event::LateOutcome { outcome, .. } = event {
        return outcome.output.len();
    }
    0
}
