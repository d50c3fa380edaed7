//! The limit of requests per second, for each token or address.
//!
//! A request with a token counts for the token, any other request for its address. The limit follows authorization: an
//! unknown token has no bucket, and a flood of unknown tokens does not lock out other clients behind the same proxy.
//! Requests that authorization refuses count for their address. Requests of joined workers do not count: the answers of
//! the leader pace them, and the memory for bodies and for answers paces their files.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_core::access::Principal;
use windlass_core::id::TokenId;
use windlass_core::rate_limit::{BucketRate, RateBuckets};
use windlass_core::time::Time;

use super::access::{RequestPrincipal, RouteGate};
use super::api_error::ApiError;
use super::api_state::Api;
use super::routes::RouteAccess;
use super::server::ConnectionPeer;

/// Far more than a client needs that reads its answers.
pub(super) const DEFAULT_RATE: BucketRate = BucketRate { per_second: 1_000, burst: 2_000 };

/// The most tokens and addresses with a bucket of their own: one megabyte.
const COUNTED_MAX: usize = 16_384;

/// The buckets of tokens and addresses.
#[derive(Debug)]
pub(super) struct RequestRateLimit(Mutex<RateBuckets<RateLimitKey>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RateLimitKey {
    Token(TokenId),
    TokenFile,
    Address(IpAddr),
}

impl RequestRateLimit {
    pub(super) const fn new(rate: BucketRate) -> Self {
        Self(Mutex::new(RateBuckets::new(rate, COUNTED_MAX)))
    }

    fn take(&self, who: RateLimitKey, now: Time) -> Result<(), ApiError> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(who, now).map_err(|wait| {
            let detail = format!("too many requests at once: try again in {} ms", wait.as_millis());
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
        })
    }
}

/// Counts an authorized request.
pub(super) async fn count(
    State(gate): State<RouteGate>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let by: Option<&RequestPrincipal> = request.extensions().get();
    let is_worker = matches!(by, Some(RequestPrincipal(Principal::Worker { .. })));
    let is_paced = match gate.needs {
        RouteAccess::WorkerSecret => true,
        RouteAccess::WorkerOrScope(_) => is_worker,
        RouteAccess::Nothing | RouteAccess::Scope(_) => false,
    };
    if let Some(address) = address(&request).filter(|_| !is_paced) {
        let who = match by {
            Some(RequestPrincipal(Principal::Token { id, .. })) => RateLimitKey::Token(*id),
            Some(RequestPrincipal(Principal::TokenFile)) => RateLimitKey::TokenFile,
            Some(RequestPrincipal(Principal::Local | Principal::Worker { .. })) | None => {
                RateLimitKey::Address(address)
            }
        };
        gate.api.rates.take(who, gate.api.elapsed())?;
    }
    Ok(next.run(request).await)
}

/// Counts a request that authorization refused.
pub(super) async fn count_refused(
    State(api): State<Arc<Api>>,
    request: Request,
    next: Next,
) -> Response {
    let address = address(&request);
    let answered = next.run(request).await;
    let refused = matches!(answered.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let Some(address) = address.filter(|_| refused) else { return answered };
    let now = api.elapsed();
    api.refusals.note(now, address, answered.status());
    match api.rates.take(RateLimitKey::Address(address), now) {
        Ok(()) => answered,
        Err(too_many) => too_many.into_response(),
    }
}

/// The address of the client; `None` on the control socket. An IPv6 address counts as its /64 network, since a client can
/// choose any address in it.
fn address(request: &Request) -> Option<IpAddr> {
    match request.extensions().get::<ConnectionPeer>()? {
        ConnectionPeer::Local => None,
        ConnectionPeer::Remote(IpAddr::V6(address)) => {
            Some(address.to_ipv4_mapped().map_or_else(|| network(*address), IpAddr::V4))
        }
        ConnectionPeer::Remote(address @ IpAddr::V4(_)) => Some(*address),
    }
}

/// The /64 network of an address.
fn network(address: Ipv6Addr) -> IpAddr {
    let bits = address.to_bits();
    IpAddr::V6(Ipv6Addr::from_bits(bits >> 64 << 64))
}
