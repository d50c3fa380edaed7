//! How many requests a second are taken from one token, or from one address.
//!
//! Who shows a token is counted by it, and everybody else by address. It is looked at behind the checks of who may ask: a
//! token that is nobody's has no bucket, and a flood of such cannot lock out others behind the same proxy. What is refused
//! there is counted too, by address. Workers that have joined are not counted: they ask as often as they have something to
//! tell, and the leader's answers pace them.

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
use super::router::Api;
use super::routes::RouteAccess;
use super::server::ConnectionPeer;

/// Far more than anybody needs who reads what he asked for.
pub(super) const DEFAULT_RATE: BucketRate = BucketRate { per_second: 1_000, burst: 2_000 };

/// Tokens and addresses that are counted apart: a megabyte.
const COUNTED_MAX: usize = 16_384;

/// What is left to whom.
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

/// Counts a request of somebody who may ask.
pub(super) async fn count(
    State(gate): State<RouteGate>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if let Some(address) = address(&request)
        && gate.needs != RouteAccess::WorkerSecret
    {
        let who = match request.extensions().get() {
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

/// Counts what was refused to somebody who may not ask.
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

/// Where a request comes from; nowhere if it came by a socket of this machine. Who has an address of IPv6 has the network
/// around it.
fn address(request: &Request) -> Option<IpAddr> {
    match request.extensions().get::<ConnectionPeer>()? {
        ConnectionPeer::Local => None,
        ConnectionPeer::Remote(IpAddr::V6(address)) => {
            Some(address.to_ipv4_mapped().map_or_else(|| network(*address), IpAddr::V4))
        }
        ConnectionPeer::Remote(address @ IpAddr::V4(_)) => Some(*address),
    }
}

/// The first half of an address.
fn network(address: Ipv6Addr) -> IpAddr {
    let bits = address.to_bits();
    IpAddr::V6(Ipv6Addr::from_bits(bits >> 64 << 64))
}
