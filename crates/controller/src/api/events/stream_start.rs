//! The first position of a stream, and whether the client wants a stream.

use axum::http::{HeaderMap, header};
use windlass_store::journal::Position;

use crate::api::api_error::ApiError;
use crate::api::api_state::Api;

/// Header: the id of the last event, which a client of event streams sends when it reconnects.
const LAST_EVENT_ID: &str = "last-event-id";

/// The content type of a stream.
pub(super) const STREAM_TYPE: &str = "text/event-stream";

/// Whether the client wants a stream.
pub(in crate::api) fn wants_stream(headers: &HeaderMap) -> bool {
    let accept = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accept.flat_map(|accept| accept.split(','));
    kinds.any(|kind| kind.split(';').next().is_some_and(|kind| kind.trim() == STREAM_TYPE))
}

/// The position after which a stream starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) struct StreamStart(pub(super) Position);

impl StreamStart {
    /// The last event of the client from its header, else `after`, else the default of the path.
    pub(in crate::api) fn read(
        api: &Api,
        headers: &HeaderMap,
        after: Option<u64>,
        otherwise: impl FnOnce(Position) -> Position,
    ) -> Result<Self, ApiError> {
        let head = api.handle.views().with(|view| view.position);
        let after = last_event_id(headers)?.or(after);
        let start = after.map_or_else(|| otherwise(head), Position);
        if start > head {
            return Err(ApiError::bad_request(format!(
                "position {start} lies ahead: the journal ends at {head}. Is this the cluster that it came from?"
            )));
        }
        Ok(Self(start))
    }
}

fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let read = value.to_str().ok().and_then(|text| text.parse().ok());
    match read {
        Some(position) => Ok(Some(position)),
        None => Err(ApiError::bad_request(format!(
            "`{LAST_EVENT_ID}` is the `id` of an event that was told before, a number; leave it out to begin anew"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn stream_is_sent_only_if_accepted_by_name() {
        let wants = |accept: &'static str| {
            let accept = (header::ACCEPT, HeaderValue::from_static(accept));
            wants_stream(&HeaderMap::from_iter([accept]))
        };
        assert!(wants("text/event-stream") && wants("application/json, text/event-stream;q=0.9"));
        assert!(!wants("*/*") && !wants("application/json") && !wants("text/event-streams"));
        assert!(!wants_stream(&HeaderMap::new()));
    }

    #[test]
    fn last_event_id_is_a_number() {
        let read = |id: &'static str| {
            last_event_id(&HeaderMap::from_iter([(
                LAST_EVENT_ID.parse().unwrap(),
                HeaderValue::from_static(id),
            )]))
        };
        assert_eq!(read("17"), Ok(Some(17)));
        for bad in ["", "-1", "x", "1.5", "18446744073709551616"] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
