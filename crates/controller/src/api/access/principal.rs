//! Who asks, for handlers.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass_core::access::Principal;

/// Who asks.
#[derive(Clone, Debug)]
pub(in crate::api) struct RequestPrincipal(pub(in crate::api) Principal);

impl<S: Sync> FromRequestParts<S> for RequestPrincipal {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().expect("nobody gets to a handler without a pass"))
    }
}
