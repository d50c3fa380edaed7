//! `GET /events`

use std::sync::Arc;

use axum::Json as Answered;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};
use windlass_link::http::POSITION_HEADER;
use windlass_store::db::StoreError;
use windlass_store::journal::{Position, RecordedEvent};

use super::filter::{ApiEventFilter, EventFilterQuery};
use super::sse_body::stream;
use super::sse_reader::SseReader;
use super::stream_start::{StreamStart, wants_stream};
use crate::SseFrames;
use crate::api::api_error::ApiError;
use crate::api::extract;
use crate::api::extract::QueryParams;
use crate::api::router::Api;

/// Says from where on events can be had, beside the word that others are gone.
const OLDEST_HEADER: &str = "windlass-oldest";

/// Events in a page whose asker did not say how many.
const PAGE: usize = 1_000;

/// Events that are looked at for one page, and that a page has at most.
const PAGE_MAX: usize = 10_000;

/// Which events, and how.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct EventsQuery {
    after: Option<u64>,
    wait_ms: Option<u64>,
    limit: Option<usize>,
    #[serde(rename = "type")]
    kinds: Option<String>,
    run: Option<String>,
    pipeline: Option<String>,
}

/// Everything that happens: behind a position, or from now on.
pub(in crate::api) async fn all(
    State(api): State<Arc<Api>>,
    QueryParams(asked): QueryParams<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let EventsQuery { after, wait_ms, limit, kinds, run, pipeline } = asked;
    let filter = ApiEventFilter::new(EventFilterQuery { kinds, run, pipeline })?;
    let StreamStart(after) = StreamStart::read(&api, &headers, after, |head| head)?;
    if let Some(oldest) = oldest_if_pruned(&api, after).await? {
        return Ok(pruned_response(after, oldest));
    }
    if wants_stream(&headers) {
        return stream(SseReader::of_all(api, filter, after));
    }
    let most = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let mut page = JournalEventPage { api: &api, filter, after, most };
    let found = page.next(Instant::now() + extract::wait(wait_ms)).await?;
    let position = [(POSITION_HEADER, page.after.to_string())];
    Ok((position, Answered(found)).into_response())
}

/// The oldest position behind which everything can be had, if that is further than what was asked for.
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

/// Events that are gathered from the journal.
struct JournalEventPage<'a> {
    api: &'a Api,
    filter: ApiEventFilter,
    after: Position,
    most: usize,
}

impl JournalEventPage<'_> {
    /// What is found; if there is nothing, the first that comes until a moment.
    async fn next(&mut self, until: Instant) -> Result<Vec<Value>, ApiError> {
        let mut moved = self.api.handle.views().moved();
        loop {
            moved.mark_unchanged();
            let found = self.gather().await?;
            if !found.is_empty() {
                return Ok(found);
            }
            tokio::select! {
                moved = moved.changed() => if moved.is_err() { return Ok(found) },
                () = sleep_until(until) => return Ok(found),
            }
        }
    }

    async fn gather(&mut self) -> Result<Vec<Value>, ApiError> {
        let _turn = self.api.streams.catch_up_permit().await;
        let batches = self.api.stores.journal.tail(self.after, self.most).await?;
        let numbered: Vec<(Position, RecordedEvent)> = batches
            .into_iter()
            .flat_map(|batch| {
                (batch.after().0 + 1..).map(Position).zip(batch.events).collect::<Vec<_>>()
            })
            .filter(|(position, _)| *position > self.after)
            .take(self.most)
            .collect();
        let frames = SseFrames::of(numbered.iter().map(|(at, it)| (*at, it.at, &it.event)));
        self.filter.learn(self.api, frames.iter()).await?;
        let wanted = numbered.iter().zip(frames.iter()).filter(|(_, it)| self.filter.lets(it));
        let found = wanted.map(|((at, it), _)| it.event.to_json(at.0, it.at)).collect();
        if let Some((last, _)) = numbered.last() {
            self.after = *last;
        }
        Ok(found)
    }
}
