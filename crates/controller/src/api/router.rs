//! The router: every route behind the checks that apply to all.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::handler::Handler as _;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use windlass_core::access::AccessScope;

use super::access::{self, RouteGate};
use super::allowed_hosts::{self};
use super::api_error::ApiError;
use super::api_state::Api;
use super::body_budget::BodyBudget;
use super::extract::BodySizeLimit;
use super::rate_limit::{self};
use super::routes::{ApiRoute, RouteAccess, RouteServedBy, routes};
use super::{etag, extract, leader_only, metrics, replica};

/// The most bytes in a body. An exchange has at most half of it in outputs, and a request with logs at most its credit.
const BODY_MAX: usize = 2 << 20;

/// Creates the router of an API.
pub fn router(api: Arc<Api>) -> Router {
    let mut router = Router::new();
    for ApiRoute { path, needs, answers, handler, .. } in routes() {
        let gate = RouteGate { api: Arc::clone(&api), needs, answers };
        let handler = match answers {
            RouteServedBy::Leader => {
                handler.layer(from_fn_with_state(Arc::clone(&api), replica::answer_as_replica))
            }
            RouteServedBy::AnyController => handler,
        };
        let counted = handler.layer(from_fn_with_state(gate.clone(), rate_limit::count));
        let mut guarded = counted.layer(from_fn_with_state(gate, access::check));
        if answers == RouteServedBy::Leader {
            guarded = guarded.layer(from_fn_with_state(Arc::clone(&api), leader_only::check));
        }
        router = router.route(path, guarded);
    }
    // Unknown paths need authorization too, so that they do not reveal which paths exist.
    let needs = RouteAccess::Scope(AccessScope::Read);
    let gate = RouteGate { api: Arc::clone(&api), needs, answers: RouteServedBy::Leader };
    let gate = from_fn_with_state(gate, access::check);
    let no_such_path = || async { ApiError::no_such_path() };
    let no_such_method = || async { ApiError::no_such_method() };
    router
        .fallback(no_such_path.layer(gate.clone()))
        .method_not_allowed_fallback(no_such_method.layer(gate))
        .layer(from_fn_with_state(Arc::clone(&api), allowed_hosts::check))
        .layer(from_fn(etag::tag_and_compress))
        .layer(from_fn(extract::check_length))
        .layer(from_fn_with_state(Arc::clone(&api), rate_limit::count_refused))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .layer(Extension(BodySizeLimit(BODY_MAX)))
        .layer(Extension(BodyBudget::default()))
        .layer(from_fn(etag::forbid_sniffing))
        .layer(from_fn_with_state(Arc::clone(&api), metrics::measure))
        .with_state(api)
}
