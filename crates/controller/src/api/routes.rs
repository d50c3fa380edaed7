//! The table of all routes, with the access rule of each.
//!
//! The router, the check of authorization and the OpenAPI document are made of this table.

use std::sync::Arc;

use axum::Extension;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use windlass_core::access::AccessScope;
use windlass_link::http::{IDS_BODY_MAX, OBJECTS_BODY_MAX};
use windlass_store::objects::SEND_MAX;

use super::api_state::Api;
use super::extract::BodySizeLimit;
use super::{
    admin, cluster, events, idempotency_keys, journal, metrics, objects, openapi, plain_worker,
    runs, sessions, tokens, workers,
};

/// The most bytes in a body with a pipeline: the largest pipeline file, escaped as JSON.
const PIPELINE_MAX: usize = 9 << 20;

/// The most bytes in the body of a request that needs none.
const EMPTY_MAX: usize = 1 << 10;

/// A route.
#[derive(Clone, Debug)]
pub(super) struct ApiRoute {
    /// The path, with parameters in braces.
    pub(super) path: &'static str,
    pub(super) method: MethodFilter,
    pub(super) needs: RouteAccess,
    pub(super) answers: RouteServedBy,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

/// Which of several controllers with a shared store answer a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteServedBy {
    /// Each controller, for itself.
    AnyController,
    /// The leader; the others name it.
    Leader,
}

impl ApiRoute {
    /// The method in lower case.
    pub(super) const fn method(&self) -> &'static str {
        match self.method {
            MethodFilter::GET => "get",
            MethodFilter::POST => "post",
            _ => "other",
        }
    }

    /// Makes every controller answer the route.
    fn of_each(self) -> Self {
        Self { answers: RouteServedBy::AnyController, ..self }
    }

    /// Sets the size limit of bodies.
    fn with_body(self, most: usize) -> Self {
        let handler: MethodRouter<_> = self.handler.layer(DefaultBodyLimit::max(most));
        Self { handler: handler.layer(Extension(BodySizeLimit(most))), ..self }
    }
}

/// The public description of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteDescription {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path, with parameters in braces.
    pub path: &'static str,
    /// The access rule.
    pub needs: RouteAccess,
}

/// Returns the descriptions of all routes.
pub fn route_descriptions() -> Vec<RouteDescription> {
    let described = |ApiRoute { method, path, needs, .. }: ApiRoute| {
        let method = if method == MethodFilter::GET { "GET" } else { "POST" };
        RouteDescription { method, path, needs }
    };
    routes().into_iter().map(described).collect()
}

/// The access rule of a route: the required credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteAccess {
    /// None.
    Nothing,
    /// A token with this scope.
    Scope(AccessScope),
    /// The secret of a worker that has joined, or a token with this scope.
    WorkerOrScope(AccessScope),
    /// The secret of the worker in the path.
    WorkerSecret,
}

/// Returns all routes.
pub(super) fn routes() -> Vec<ApiRoute> {
    [routes_of_clients(), routes_of_objects(), routes_of_workers()].concat()
}

fn routes_of_clients() -> Vec<ApiRoute> {
    vec![
        open("/healthz", cluster::health),
        open("/readyz", cluster::ready),
        open("/openapi.json", openapi::show),
        open("/cluster", cluster::show),
        read(metrics::PATH, metrics::show).of_each(),
        read("/runs", runs::list),
        submit("/runs", runs::submit).with_body(PIPELINE_MAX),
        read("/runs/{run}", runs::show),
        submit("/runs/{run}/cancel", runs::cancel),
        submit("/runs/{run}/rerun", runs::rerun),
        read("/runs/{run}/events", runs::events),
        read("/runs/{run}/steps", runs::steps),
        read("/runs/{run}/steps/{step}", runs::step),
        read("/runs/{run}/steps/{step}/why", runs::why),
        read("/runs/{run}/steps/{step}/tests", runs::step_tests),
        read("/runs/{run}/logs", runs::logs),
        read("/runs/{run}/logs/search", runs::search),
        read("/runs/{run}/summaries", runs::summaries),
        read("/runs/{run}/tests", runs::tests),
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
    ]
}

fn routes_of_objects() -> Vec<ApiRoute> {
    let (get, post) = (MethodFilter::GET, MethodFilter::POST);
    let (read, submit) = (AccessScope::Read, AccessScope::Submit);
    vec![
        transfer((post, submit), "/objects/missing", objects::missing).with_body(IDS_BODY_MAX),
        transfer((post, submit), "/objects/batch", objects::put).with_body(OBJECTS_BODY_MAX),
        transfer((post, read), "/objects/fetch", objects::fetch).with_body(IDS_BODY_MAX),
        transfer((get, read), "/objects/{id}", objects::show),
        transfer((get, submit), "/objects/{id}/upload", objects::uploaded),
        transfer((post, submit), "/objects/{id}/upload", objects::append).with_body(SEND_MAX),
        transfer((post, submit), "/objects/{id}/finish", objects::finish).with_body(EMPTY_MAX),
    ]
}

fn routes_of_workers() -> Vec<ApiRoute> {
    vec![
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

/// A read that needs the scope `admin`.
fn inspect<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::GET, path, RouteAccess::Scope(AccessScope::Admin), handler)
}

/// A request by which a worker joins.
fn join<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::POST, path, RouteAccess::Scope(AccessScope::Worker), handler)
}

/// A request of a worker that has joined.
fn worker<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> ApiRoute {
    route(MethodFilter::POST, path, RouteAccess::WorkerSecret, handler)
}

/// A transfer of objects, by a worker or by a client with this scope.
fn transfer<H: Handler<T, Arc<Api>>, T: 'static>(
    (method, scope): (MethodFilter, AccessScope),
    path: &'static str,
    handler: H,
) -> ApiRoute {
    route(method, path, RouteAccess::WorkerOrScope(scope), handler).of_each()
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
