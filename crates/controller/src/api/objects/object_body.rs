//! The body of a request with bytes of objects.
//!
//! It is read into one buffer, and counts in the memory of all bodies until the call on the store has ended.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode};
use hyper::body::Body as _;
use tokio::time::timeout;
use windlass_core::object::ObjectId;
use windlass_link::http::PIECE_HEADER;

use crate::api::api_error::ApiError;
use crate::api::body_budget::{BodyBudget, BodyCharge};
use crate::api::extract::{BodySizeLimit, too_large};

/// The time limit for the next bytes of a body.
const NEXT_WITHIN: Duration = Duration::from_secs(30);

/// The time limit for a body: enough for the largest at 64 KiB per second.
const BODY_WITHIN: Duration = Duration::from_mins(5);

/// The bytes of a body.
#[derive(Debug)]
pub(in crate::api) struct ObjectBody {
    pub(super) bytes: Vec<u8>,
    /// Held while the bytes are in memory.
    pub(super) charge: BodyCharge,
}

impl<S: Send + Sync> FromRequest<S> for ObjectBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let most = BodySizeLimit::check(&request)?;
        let piece = announced_piece(request.headers())?;
        let budget = request.extensions().get::<BodyBudget>().cloned().unwrap_or_default();
        let (request, charge) = budget.charge(request);
        let read = timeout(BODY_WITHIN, collect(request.into_body(), most)).await;
        let bytes = match read.unwrap_or_else(|_| Err(too_slow())) {
            Err(_) if charge.is_refused() => return Err(ApiError::too_many_bodies()),
            read => read?,
        };
        if piece.is_some_and(|piece| piece != ObjectId::of(&bytes)) {
            let detail = "the connection changed the body: send it again".to_owned();
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "damaged_piece", detail));
        }
        Ok(Self { bytes, charge })
    }
}

/// The hash that the sender has announced.
fn announced_piece(headers: &HeaderMap) -> Result<Option<ObjectId>, ApiError> {
    let Some(piece) = headers.get(PIECE_HEADER) else { return Ok(None) };
    let piece = piece.to_str().ok().and_then(ObjectId::parse);
    let bad = || ApiError::bad_request(format!("`{PIECE_HEADER}` is no BLAKE3 hash"));
    piece.map(Some).ok_or_else(bad)
}

async fn collect(mut body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(most);
    let mut whole = Vec::with_capacity(announced.min(most));
    loop {
        let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Some(frame) = timeout(NEXT_WITHIN, next).await.map_err(|_| too_slow())? else {
            return Ok(whole);
        };
        let frame = frame.map_err(|_| ApiError::bad_request("the body ended too early"))?;
        // Trailers are ignored.
        let Ok(bytes) = frame.into_data() else { continue };
        if whole.len() + bytes.len() > most {
            return Err(too_large());
        }
        whole.extend_from_slice(&bytes);
    }
}

fn too_slow() -> ApiError {
    let detail = format!(
        "the body stopped for {} s, or was not there within {} minutes",
        NEXT_WITHIN.as_secs(),
        BODY_WITHIN.as_secs() / 60
    );
    ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", detail)
}
