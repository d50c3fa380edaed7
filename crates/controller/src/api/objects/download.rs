//! `GET /objects/{id}`: an object, or a range of it.
//!
//! The answer is read block by block as the client reads it. A block is verified by the store before any of it is sent; if
//! one is damaged, the connection is closed before the end of the body. A range within one block is answered at once, with
//! its hash.

use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Bytes, Frame};
use windlass_core::object::ObjectId;
use windlass_link::http::PIECE_HEADER;
use windlass_net::http::ObjectProblem;
use windlass_store::objects::{BLOCK, ObjectStore};

use super::answer_budget::ObjectAnswerBudget;
use super::calls::{object_id, objects, within};
use crate::api::api_error::ApiError;
use crate::api::api_state::Api;
use crate::api::byte_range::ByteRange;
use crate::api::extract::PathParams;

/// An object never changes, so caches never ask again. Only the client's own cache may keep it.
const CACHE_CONTROL: &str = "private, max-age=31536000, immutable";

/// A browser stores the file and does not show it as a page of the controller.
const PLAIN_HEADERS: [(HeaderName, &str); 3] = [
    (header::CONTENT_TYPE, "application/octet-stream"),
    (header::CONTENT_DISPOSITION, "attachment"),
    (header::ACCEPT_RANGES, "bytes"),
];

/// `GET /objects/{id}`
pub(in crate::api) async fn show(
    State(api): State<Arc<Api>>,
    PathParams(id): PathParams<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let (store, id) = (objects(&api)?, object_id(&id)?);
    let size = within(store.read(id, 0..0)).await?.size;
    let etag = format!("\"{id}\"");
    if names_etag(&headers, header::IF_NONE_MATCH, &etag) == Some(true) {
        return Ok((StatusCode::NOT_MODIFIED, lasting_headers(id)).into_response());
    }
    // Another version of the object cannot exist, but the client may have asked for the rest of another document.
    let is_same = names_etag(&headers, header::IF_RANGE, &etag).unwrap_or(true);
    let range = if is_same { ByteRange::read(&headers, size) } else { ByteRange::Whole };
    let download = ObjectDownload { store, id, size, budget: api.object_answers.clone() };
    match range {
        ByteRange::Whole => Ok(download.whole()),
        ByteRange::Part(range) => download.part(range).await,
        ByteRange::Beyond => Ok(beyond(id, size, &headers)),
    }
}

/// Whether a header names the tag; `None` if there is no such header.
fn names_etag(headers: &HeaderMap, name: HeaderName, etag: &str) -> Option<bool> {
    let tags = headers.get(name)?.to_str().unwrap_or_default();
    let is_it = |tag: &str| tag == "*" || tag.trim_start_matches("W/") == etag;
    Some(tags.split(',').any(|tag| is_it(tag.trim())))
}

/// The refusal of a range that begins after the end.
fn beyond(id: ObjectId, size: u64, headers: &HeaderMap) -> Response {
    let detail = format!("the object has {size} bytes: the range begins after its end");
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let first = range.and_then(|range| range.strip_prefix("bytes=")?.split('-').next());
    let at = first.map(|first| first.trim().parse().unwrap_or(size));
    let object = ObjectProblem { id: id.to_string(), at, size: Some(size), ..Default::default() };
    let refused = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "no_such_range", detail);
    let place = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
    (place, refused.about(object)).into_response()
}

fn lasting_headers(id: ObjectId) -> [(HeaderName, String); 2] {
    [(header::ETAG, format!("\"{id}\"")), (header::CACHE_CONTROL, CACHE_CONTROL.to_owned())]
}

/// An object that is sent to a client.
#[derive(Clone, Debug)]
struct ObjectDownload {
    store: Arc<dyn ObjectStore>,
    id: ObjectId,
    size: u64,
    budget: ObjectAnswerBudget,
}

impl ObjectDownload {
    fn whole(self) -> Response {
        let range = 0..self.size;
        self.streamed(StatusCode::OK, range)
    }

    async fn part(self, range: Range<u64>) -> Result<Response, ApiError> {
        let place = format!("bytes {}-{}/{}", range.start, range.end - 1, self.size);
        let block = BLOCK as u64;
        let is_one_block = range.start / block == (range.end - 1) / block;
        let mut response = if is_one_block {
            let bytes = self.block(range).await?;
            let hash = [(PIECE_HEADER, ObjectId::of(&bytes).to_string())];
            (StatusCode::PARTIAL_CONTENT, PLAIN_HEADERS, lasting_headers(self.id), hash, bytes)
                .into_response()
        } else {
            self.streamed(StatusCode::PARTIAL_CONTENT, range)
        };
        let place = HeaderValue::try_from(place).expect("digits");
        response.headers_mut().insert(header::CONTENT_RANGE, place);
        Ok(response)
    }

    /// Sends a range block by block. Its length is announced in the header alone: a body that knows its length counts as
    /// complete, and would not end with the authorization of its request.
    fn streamed(self, status: StatusCode, range: Range<u64>) -> Response {
        let length = [(header::CONTENT_LENGTH, (range.end - range.start).to_string())];
        let lasting = lasting_headers(self.id);
        let body = ObjectStream { download: self, range, next: None };
        (status, PLAIN_HEADERS, lasting, length, Body::new(body)).into_response()
    }

    /// Reads to the end of a range or of the block in which it begins.
    async fn block(&self, range: Range<u64>) -> Result<Bytes, ApiError> {
        let share = self.budget.share(BLOCK).await?;
        let part = within(self.store.read(self.id, range)).await?;
        Ok(share.hold(part.bytes))
    }
}

type NextBlock = Pin<Box<dyn Future<Output = Result<Bytes, ApiError>> + Send>>;

/// The body of an answer, which reads the next block when the client has room for it.
struct ObjectStream {
    download: ObjectDownload,
    /// The bytes that are not read yet.
    range: Range<u64>,
    next: Option<NextBlock>,
}

impl HttpBody for ObjectStream {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.range.is_empty() {
            return Poll::Ready(None);
        }
        let (download, range) = (self.download.clone(), self.range.clone());
        let read = move || -> NextBlock { Box::pin(async move { download.block(range).await }) };
        let block = ready!(self.next.get_or_insert_with(read).as_mut().poll(context));
        self.next = None;
        let cut = |why: &'static str| Poll::Ready(Some(Err(axum::Error::new(why))));
        match block {
            Ok(bytes) if bytes.is_empty() => cut("the object has become shorter"),
            Ok(bytes) => {
                self.range.start += bytes.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Err(_) => cut("the object cannot be read to its end"),
        }
    }
}
