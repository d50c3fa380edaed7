//! `GET /events`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};
use windlass_core::report::EventJson;
use windlass_link::http::POSITION_HEADER;
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};

use super::filter::{ApiEventFilter, EventFilterQuery};
use super::sse_body::stream;
use super::sse_reader::SseReader;
use super::stream_start::{StreamStart, wants_stream};
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::extract;
use crate::api::extract::QueryParams;
use crate::{EventFollower, FollowLimits, SseFrames};

/// Header: the oldest position after which events are left, with the refusal `gone`.
const OLDEST_HEADER: &str = "windlass-oldest";

/// The default of `limit`.
const PAGE: usize = 1_000;

/// The most events in a page, and the most that are read from the journal for one page.
const PAGE_MAX: usize = 10_000;

/// The parameters of a page or stream of the cluster's events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct EventsQuery {
    /// Return events after this position: that of the last event that the client knows (default: the end of the journal).
    after: Option<u64>,
    /// How long to wait for the first event, in milliseconds (default: 0; at most 30 s).
    wait_ms: Option<u64>,
    /// The number of events to return (default: 1,000; at most 10,000).
    limit: Option<usize>,
    /// Return only events of these types, separated by commas.
    #[serde(rename = "type")]
    kinds: Option<String>,
    /// Return only events of this run, by its full id.
    run: Option<String>,
    /// Return only events of runs of this pipeline.
    pipeline: Option<String>,
}

/// Returns events of the whole cluster after a position, or from now on.
pub(in crate::api) async fn all(
    State(api): State<Arc<Api>>,
    QueryParams(query): QueryParams<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let EventsQuery { after, wait_ms, limit, kinds, run, pipeline } = query;
    let filter = ApiEventFilter::new(EventFilterQuery { kinds, run, pipeline })?;
    let StreamStart(after) = StreamStart::read(&api, &headers, after, |head| head)?;
    if let Some(oldest) = oldest_if_pruned(&api, after).await? {
        return Ok(pruned_response(after, oldest));
    }
    if wants_stream(&headers) {
        return stream(SseReader::of_all(api, filter, after));
    }
    let most = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let limits = FollowLimits { recent_batches: most, journal_events: most };
    let follower = api.handle.views().follow(&api.stores.journal, after).with_limits(limits);
    let mut page = EventPage { api: &api, filter, follower, most };
    let found = page.next(Instant::now() + extract::wait(wait_ms)).await?;
    let position = [(POSITION_HEADER, page.follower.position().to_string())];
    Ok((position, Answered(found)).into_response())
}

/// The oldest position after which all events are left, if events after the requested position were pruned.
async fn oldest_if_pruned(api: &Api, after: Position) -> Result<Option<Position>, ApiError> {
    match api.stores.journal.tail(after, 1).await {
        Ok(_) => Ok(None),
        Err(StoreError::Pruned { upto }) => Ok(Some(upto)),
        Err(error) => Err(error.into()),
    }
}

fn pruned_response(after: Position, oldest: Position) -> Response {
    let detail = format!(
        "what came behind position {after} has left the journal: {oldest} is the oldest position that can be asked for; runs that ended are whole at /runs/RUN/events"
    );
    let refused = ApiError::new(StatusCode::GONE, "gone", detail);
    ([(OLDEST_HEADER, oldest.to_string())], refused).into_response()
}

/// A page of the events that match a filter.
struct EventPage<'a> {
    api: &'a Api,
    filter: ApiEventFilter,
    follower: EventFollower,
    most: usize,
}

impl EventPage<'_> {
    /// Returns the events that match; if there are none, waits for the first one until this time.
    async fn next(&mut self, until: Instant) -> Result<Vec<EventJson>, ApiError> {
        loop {
            let found = self.gather().await?;
            if !found.is_empty() {
                return Ok(found);
            }
            tokio::select! {
                biased;
                () = sleep_until(until) => return Ok(found),
                () = self.follower.wait() => {}
            }
        }
    }

    async fn gather(&mut self) -> Result<Vec<EventJson>, ApiError> {
        let _turn = if self.follower.is_behind() {
            Some(self.api.streams.catch_up_permit().await)
        } else {
            None
        };
        let Some(followed) = self.follower.read().await? else { return Ok(Vec::new()) };
        if let Some(upto) = followed.pruned() {
            return Err(StoreError::Pruned { upto }.into());
        }
        let events: Vec<&Arc<RecordedEvent>> = followed.iter().take(self.most).collect();
        let frames = SseFrames::of(events.iter().copied());
        self.filter.learn(self.api, frames.iter()).await?;
        let wanted = events.iter().zip(frames.iter()).filter(|(_, frame)| self.filter.lets(frame));
        let found = wanted.map(|(it, _)| it.event.json_form(it.position.0, it.at)).collect();
        if let Some(last) = events.last() {
            self.follower.skip_to(last.position);
        }
        Ok(found)
    }
}
