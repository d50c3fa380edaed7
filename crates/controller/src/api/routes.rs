//! Every path that is answered, and who may ask.
//!
//! The table is all there is: the router is made of it, so are the checks of who may ask, and whoever describes the API
//! goes through it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use windlass_core::access::AccessScope;

use super::extract::BodySizeLimit;
use super::router::Api;
use super::{
    admin, cluster, events, idempotency_keys, journal, metrics, openapi, plain_worker, runs,
    sessions, tokens, workers,
};

/// The most bytes of a body with a pipeline: the largest file that is read, and what it takes to write it as JSON.
const PIPELINE_MAX: usize = 9 << 20;

/// Something that is answered.
#[derive(Debug)]
pub(super) struct ApiRoute {
    /// With parameters in braces.
    pub(super) path: &'static str,
    pub(super) method: MethodFilter,
    pub(super) needs: RouteAccess,
    pub(super) answers: RouteServedBy,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

/// Which of the controllers that share a store answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteServedBy {
    /// Each, for itself.
    AnyController,
    /// Who leads; the others say who that is.
    Leader,
}

impl ApiRoute {
    /// What is done with the path, in small letters.
    pub(super) const fn method(&self) -> &'static str {
        match self.method {
            MethodFilter::GET => "get",
            MethodFilter::POST => "post",
            _ => "other",
        }
    }

    /// The same, of each controller.
    fn of_each(self) -> Self {
        Self { answers: RouteServedBy::AnyController, ..self }
    }

    /// The same, for bodies of up to so many bytes.
    fn with_body(self, most: usize) -> Self {
        let handler: MethodRouter<_> = self.handler.layer(DefaultBodyLimit::max(most));
        Self { handler: handler.layer(Extension(BodySizeLimit(most))), ..self }
    }
}

/// A route as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteDescription {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// With parameters in braces.
    pub path: &'static str,
    /// What who asks has to show.
    pub needs: RouteAccess,
}

/// Every route, for whoever describes or tests them.
pub fn route_descriptions() -> Vec<RouteDescription> {
    let described = |ApiRoute { method, path, needs, .. }: ApiRoute| {
        let method = if method == MethodFilter::GET { "GET" } else { "POST" };
        RouteDescription { method, path, needs }
    };
    routes().into_iter().map(described).collect()
}

/// What who asks has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// Nothing.
    Nothing,
    /// A token that has this scope.
    Scope(AccessScope),
    /// What a worker got, or chose, when it joined: it speaks for itself alone.
    WorkerSecret,
}

/// All of them.
pub(super) fn routes() -> Vec<ApiRoute> {
    vec![
        open("/healthz", cluster::health),
        open("/readyz", cluster::ready),
        open("/openapi.json", openapi::show),
        open("/cluster", cluster::show),
        read("/metrics", metrics::show).of_each(),
        read("/runs", runs::list),
        submit("/runs", runs::submit).with_body(PIPELINE_MAX),
        read("/runs/{run}", runs::show),
        submit("/runs/{run}/cancel", runs::cancel),
        submit("/runs/{run}/rerun", runs::rerun),
        read("/runs/{run}/events", runs::events),
        read("/runs/{run}/steps", runs::steps),
        read("/runs/{run}/steps/{step}", runs::step),
        read("/runs/{run}/steps/{step}/why", runs::why),
        read("/runs/{run}/logs", runs::logs),
        read("/runs/{run}/logs/search", runs::search),
        read("/runs/{run}/summaries", runs::summaries),
        read("/runs/{run}/logs/{step}/{attempt}/{delivery}", runs::log),
        inspect("/journal", journal::tail),
        inspect("/journal/snapshot", journal::snapshot),
        read("/events", events::all),
        read("/workers", workers::list),
        admin("/workers/{id}/drain", workers::drain),
        admin("/workers/{id}/revoke", admin::revoke),
        read("/locks", workers::locks),
        admin("/locks/{name}/release", admin::release),
        read("/keys", idempotency_keys::list),
        read("/queue", workers::queue),
        inspect("/tokens", tokens::list),
        admin("/tokens", tokens::create),
        admin("/tokens/{id}/revoke", tokens::revoke),
        inspect("/audit", tokens::audit),
        join("/workers/register", plain_worker::register),
        worker("/workers/{id}/heartbeat", plain_worker::heartbeat),
        worker("/workers/{id}/claim", plain_worker::claim),
        worker("/workers/{id}/goodbye", plain_worker::goodbye),
        worker("/steps/{id}/complete", plain_worker::complete),
        worker("/steps/{id}/events", plain_worker::events),
        join("/workers/{id}/join", sessions::join),
        worker("/workers/{id}/exchange", sessions::exchange),
        worker("/workers/{id}/ended", sessions::ended),
        worker("/workers/{id}/logs", sessions::logs),
        worker("/workers/{id}/values", sessions::values),
        worker("/workers/{id}/cancel", sessions::cancel),
    ]
}

fn open<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::GET, path, RouteAccess::Nothing, handler).of_each()
}

fn read<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::GET, path, RouteAccess::Scope(AccessScope::Read), handler)
}

fn submit<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::POST, path, RouteAccess::Scope(AccessScope::Submit), handler)
}

fn admin<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::POST, path, RouteAccess::Scope(AccessScope::Admin), handler)
}

/// What is not for everybody who may look.
fn inspect<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::GET, path, RouteAccess::Scope(AccessScope::Admin), handler)
}

/// A worker's first word.
fn join<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::POST, path, RouteAccess::Scope(AccessScope::Worker), handler)
}

/// A worker's every other word.
fn worker<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::POST, path, RouteAccess::WorkerSecret, handler)
}

fn route<H: Handler<T, Arc<Api>>, T: 'static>(
    method: MethodFilter,
    path: &'static str,
    needs: RouteAccess,
    handler: H,
) -> ApiRoute {
    let answers = RouteServedBy::Leader;
    ApiRoute { path, method, needs, answers, handler: on(method, handler) }
}
