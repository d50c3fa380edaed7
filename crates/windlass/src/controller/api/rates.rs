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
use windlass_core::rate::{Buckets, Rate};
use windlass_core::time::Time;

use super::access::{By, Gate};
use super::doors::Peer;
use super::refused::Refused;
use super::router::Api;
use super::routes::Needs;

/// Far more than anybody needs who reads what he asked for.
pub(super) const USUAL: Rate = Rate { each_second: 1_000, at_once: 2_000 };

/// Tokens and addresses that are counted apart: a megabyte.
const COUNTED_MAX: usize = 16_384;

/// What is left to whom.
#[derive(Debug)]
pub(super) struct Rates(Mutex<Buckets<Who>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Token(TokenId),
    TokenFile,
    Address(IpAddr),
}

impl Rates {
    pub(super) const fn new(rate: Rate) -> Self {
        Self(Mutex::new(Buckets::new(rate, COUNTED_MAX)))
    }

    fn take(&self, who: Who, now: Time) -> Result<(), Refused> {
        let mut buckets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.take(who, now).map_err(|wait| {
            let detail = format!("too many requests at once: try again in {} ms", wait.as_millis());
            Refused::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", detail)
        })
    }
}

/// Counts a request of somebody who may ask.
pub(super) async fn count(
    State(gate): State<Gate>,
    request: Request,
    next: Next,
) -> Result<Response, Refused> {
    if let Some(address) = address(&request)
        && gate.needs != Needs::Secret
    {
        let who = match request.extensions().get() {
            Some(By(Principal::Token { id, .. })) => Who::Token(*id),
            Some(By(Principal::TokenFile)) => Who::TokenFile,
            Some(By(Principal::Local | Principal::Worker { .. })) | None => Who::Address(address),
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
    match api.rates.take(Who::Address(address), now) {
        Ok(()) => answered,
        Err(too_many) => too_many.into_response(),
    }
}

/// Where a request comes from; nowhere if it came by a socket of this machine. Who has an address of IPv6 has the network
/// around it.
fn address(request: &Request) -> Option<IpAddr> {
    match request.extensions().get::<Peer>()? {
        Peer::Local => None,
        Peer::Remote(IpAddr::V6(address)) => {
            Some(address.to_ipv4_mapped().map_or_else(|| network(*address), IpAddr::V4))
        }
        Peer::Remote(address @ IpAddr::V4(_)) => Some(*address),
    }
}

/// The first half of an address.
fn network(address: Ipv6Addr) -> IpAddr {
    let bits = address.to_bits();
    IpAddr::V6(Ipv6Addr::from_bits(bits >> 64 << 64))
}
