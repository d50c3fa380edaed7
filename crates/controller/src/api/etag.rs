//! Entity tags and compression of complete documents.
//!
//! Only answers to GET have them. The tag is a hash of the body. A position of the journal would change more often, and
//! would not cover the elapsed time in documents about active runs. The hash takes a twentieth of the time that writing the
//! JSON takes. Streams have no tag and are not compressed.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::response::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use tokio::task::spawn_blocking;

/// Bodies up to this size are not compressed: they fit in one packet or two.
const GZIP_MIN_BYTES: usize = 1 << 10;

/// Bodies above this size are compressed on another thread, so that other requests do not wait.
const GZIP_ON_THREAD_BYTES: usize = 64 << 10;

/// Only the client's own cache may keep a document, and it must revalidate the document before use.
const CACHE_CONTROL: HeaderValue = HeaderValue::from_static("private, no-cache");

/// Adds the entity tag to a document, answers 304 if the client has it, and compresses it if the client accepts that.
pub(super) async fn tag_and_compress(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    let (has, unpacks) =
        (values(request.headers(), header::IF_NONE_MATCH), accepts_gzip(request.headers()));
    let answered = next.run(request).await;
    if !is_document(&answered) {
        return answered;
    }
    let (mut head, body) = answered.into_parts();
    // The body is complete in memory: reading it neither waits nor fails.
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let name = etag_of(&body);
    let known = has.split(',').any(|has| etag_matches(has, &name));
    let name = HeaderValue::try_from(name).expect("hexadecimal digits");
    head.headers.insert(header::ETAG, name);
    head.headers.insert(header::CACHE_CONTROL, CACHE_CONTROL);
    head.headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if known {
        return not_modified(head);
    }
    if !unpacks || body.len() <= GZIP_MIN_BYTES {
        return Response::from_parts(head, Body::from(body));
    }
    head.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    head.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(head, Body::from(compressed(body).await))
}

/// Forbids clients to guess content types: output of steps must not be shown as a page of this origin.
pub(super) async fn forbid_sniffing(request: Request, next: Next) -> Response {
    let mut answered = next.run(request).await;
    let nosniff = HeaderValue::from_static("nosniff");
    answered.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    answered
}

/// Whether an answer is a successful, complete text or JSON document.
fn is_document(answered: &Response) -> bool {
    let kind = answered.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_text = kind.is_some_and(|kind| {
        (kind.starts_with("application/json") || kind.starts_with("text/"))
            && !kind.starts_with("text/event-stream")
    });
    let is_whole = answered.body().size_hint().exact().is_some();
    answered.status() == StatusCode::OK && is_text && is_whole
}

fn not_modified(mut head: Parts) -> Response {
    head.status = StatusCode::NOT_MODIFIED;
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.remove(header::CONTENT_TYPE);
    Response::from_parts(head, Body::empty())
}

/// The weak entity tag, which is the same with and without compression.
fn etag_of(body: &[u8]) -> String {
    format!("W/\"{}\"", &blake3::hash(body).to_hex()[..16])
}

/// Whether a tag of the client equals this one, by weak comparison.
fn etag_matches(has: &str, name: &str) -> bool {
    let plain = |name: &str| name.trim().trim_start_matches("W/").to_owned();
    has.trim() == "*" || plain(has) == plain(name)
}

/// Whether the client accepts gzip: RFC 9110 defines a list of codings with weights, of which zero means no.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let listed = values(headers, header::ACCEPT_ENCODING);
    let weight_of = |wanted: &str| {
        let mut items = listed.split(',').map(|item| item.split(';').map(str::trim));
        items.find_map(|mut item| {
            let named = item.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
            let weight = item.find_map(|part| part.strip_prefix("q="));
            named.then(|| weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0)))
        })
    };
    weight_of("gzip").or_else(|| weight_of("*")).is_some_and(|weight: f32| weight > 0.0)
}

/// All values of a header, joined to one list.
fn values(headers: &HeaderMap, name: HeaderName) -> String {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}

async fn compressed(body: Bytes) -> Bytes {
    if body.len() <= GZIP_ON_THREAD_BYTES {
        return gzip(&body);
    }
    spawn_blocking(move || gzip(&body)).await.expect("packing does not panic")
}

/// The fastest level: 189 KB of a run of 1,000 steps become 7 in 0.14 ms. Level 3 takes ten times as long for a seventh less.
fn gzip(body: &[u8]) -> Bytes {
    let mut packer = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    packer.write_all(body).expect("memory takes everything");
    packer.finish().expect("memory takes everything").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_only_if_accepted() {
        let takes = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(text));
            accepts_gzip(&headers)
        };
        for yes in ["gzip", "br, gzip;q=0.5", "GZIP", "*", "deflate, *;q=0.1", "gzip ; q=1"] {
            assert!(takes(yes), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "identity", "*;q=0", "gzip;q=0, *", "xgzip", "gzip;q=x"] {
            assert!(!takes(no), "{no}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn tags_are_compared_weakly() {
        let name = etag_of(b"[]");
        let plain = name.trim_start_matches("W/");
        assert!(
            etag_matches(&name, &name) && etag_matches(plain, &name) && etag_matches(" * ", &name)
        );
        assert!(!etag_matches("\"0\"", &name) && !etag_matches("", &name));
        assert_ne!(name, etag_of(b"[1]"));
    }
}
