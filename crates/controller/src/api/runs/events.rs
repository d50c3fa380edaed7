//! `GET /runs/{run}/events`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use windlass_core::engine::{Event, event};
use windlass_core::id::RunId;
use windlass_core::report::EventJson;
use windlass_link::http::{EVENTS_TYPE, EventsPage};
use windlass_store::journal::{Position, RecordedEvent};

use super::lookup;
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::events::{SseReader, StreamStart, stream, wants_stream};
use crate::api::extract;
use crate::api::extract::{PathParams, QueryParams};

/// The default of `limit`.
const PAGE: usize = 1_000;

/// Events in a page at most: a few megabytes as JSON.
const PAGE_MAX: usize = 10_000;

/// Bytes of outputs in a page, beside those of its first event: with what JSON adds, less than a client takes.
const OUTPUTS_MAX: usize = 4 << 20;

/// The parameters of a page or stream of a run's events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct RunEventsQuery {
    /// Return events after this position: that of the last event that the client knows.
    #[serde(default)]
    after: u64,
    /// How long to wait for the first event, in milliseconds (default: 0; at most 30 s).
    wait_ms: Option<u64>,
    /// The number of events to return (default: 1,000; at most 10,000).
    limit: Option<usize>,
}

/// Returns events of a run after a position. While the run goes on and there are none, the answer waits for the first.
pub(in crate::api) async fn events(
    State(api): State<Arc<Api>>,
    PathParams(run): PathParams<String>,
    QueryParams(query): QueryParams<RunEventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let run = lookup::find(&api, &run).await?;
    lookup::caught_up(&api).await?;
    if wants_stream(&headers) {
        let start = StreamStart::read(&api, &headers, Some(query.after), |_| Position(0))?;
        return stream(SseReader::of_run(api, run, start));
    }
    let most = query.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let mut events = next(&api, run, &query, most).await?;
    let more = cut(&mut events) || events.len() == most;
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains(EVENTS_TYPE)) {
        let record = lookup::record(&api, run).await?;
        let page = EventsPage::new(&record.workers, &events, more);
        let page = page.with_slots(lookup::slots(&api)).encode();
        return Ok(([(header::CONTENT_TYPE, EVENTS_TYPE)], page).into_response());
    }
    let page = events.iter().map(|it| it.event.json_form(it.position.0, it.at));
    Ok(Answered(page.collect::<Vec<EventJson>>()).into_response())
}

async fn next(
    api: &Api,
    run: RunId,
    query: &RunEventsQuery,
    most: usize,
) -> Result<Vec<Arc<RecordedEvent>>, ApiError> {
    let until = Instant::now() + extract::wait(query.wait_ms);
    let mut moved = api.stores.histories.moved();
    loop {
        moved.mark_unchanged();
        let record = api.stores.histories.record(run);
        let is_over = record.is_none_or(|record| record.status.is_at_rest());
        let events = lookup::behind(api, run, Position(query.after), most).await?;
        if is_over || !events.is_empty() {
            return Ok(events);
        }
        tokio::select! {
            moved = moved.changed() => if moved.is_err() { return Ok(events) },
            () = sleep_until(until) => return Ok(events),
        }
    }
}

/// Cuts a page where its outputs exceed [`OUTPUTS_MAX`]. Returns whether events were left for the next page.
fn cut(events: &mut Vec<Arc<RecordedEvent>>) -> bool {
    let mut bytes = 0;
    let full = events.iter().position(|recorded| {
        bytes += output_len(&recorded.event);
        bytes > OUTPUTS_MAX
    });
    let Some(full) = full.filter(|at| *at > 0) else { return false };
    events.truncate(full);
    true
}

fn output_len(event: &Event) -> usize {
    if let Event::LeaseEnded(event::LeaseEnded { outcome, .. })
    | Event::LateOutcome(event::LateOutcome { outcome, .. }) = event
    {
        return outcome.output.len();
    }
    0
}
