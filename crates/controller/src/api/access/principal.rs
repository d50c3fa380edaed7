//! The author of a request, for handlers.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass_core::access::Principal;

/// The author of a request.
#[derive(Clone, Debug)]
pub(in crate::api) struct RequestPrincipal(pub(in crate::api) Principal);

impl<S: Sync> FromRequestParts<S> for RequestPrincipal {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts
            .extensions
            .get()
            .cloned()
            .expect("`check` authorizes every request before its handler"))
    }
}
