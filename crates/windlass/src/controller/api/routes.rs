//! Every path that is answered, and who may ask.
//!
//! The table is all there is: the router is made of it, so are the checks of who may ask, and whoever describes the API
//! goes through it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use windlass_core::access::Scope;

use super::input::BodyLimit;
use super::router::Api;
use super::{
    cluster, events, forced, foreign, journal, keys, metrics, openapi, runs, sessions, tokens,
    workers,
};

/// The most bytes of a body with a pipeline: the largest file that is read, and what it takes to write it as JSON.
const PIPELINE_MAX: usize = 9 << 20;

/// Something that is answered.
#[derive(Debug)]
pub(super) struct Route {
    /// With parameters in braces.
    pub(super) path: &'static str,
    pub(super) method: MethodFilter,
    pub(super) needs: Needs,
    pub(super) answers: Answers,
    pub(super) handler: MethodRouter<Arc<Api>>,
}

/// Which of the controllers that share a store answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// Each, for itself.
    Each,
    /// Who leads; the others say who that is.
    WhoLeads,
}

impl Route {
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
        Self { answers: Answers::Each, ..self }
    }

    /// The same, for bodies of up to so many bytes.
    fn with_body(self, most: usize) -> Self {
        let handler: MethodRouter<_> = self.handler.layer(DefaultBodyLimit::max(most));
        Self { handler: handler.layer(Extension(BodyLimit(most))), ..self }
    }
}

/// A route as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// With parameters in braces.
    pub path: &'static str,
    /// What who asks has to show.
    pub needs: Needs,
}

/// Every route, for whoever describes or tests them.
pub fn described() -> Vec<Described> {
    let described = |Route { method, path, needs, .. }: Route| {
        let method = if method == MethodFilter::GET { "GET" } else { "POST" };
        Described { method, path, needs }
    };
    routes().into_iter().map(described).collect()
}

/// What who asks has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// A token that has this scope.
    Scope(Scope),
    /// What a worker got, or chose, when it joined: it speaks for itself alone.
    Secret,
}

/// All of them.
pub(super) fn routes() -> Vec<Route> {
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
        admin("/workers/{id}/revoke", forced::revoke),
        read("/locks", workers::locks),
        admin("/locks/{name}/release", forced::release),
        read("/keys", keys::list),
        read("/queue", workers::queue),
        inspect("/tokens", tokens::list),
        admin("/tokens", tokens::create),
        admin("/tokens/{id}/revoke", tokens::revoke),
        inspect("/audit", tokens::audit),
        join("/workers/register", foreign::register),
        worker("/workers/{id}/heartbeat", foreign::heartbeat),
        worker("/workers/{id}/claim", foreign::claim),
        worker("/workers/{id}/goodbye", foreign::goodbye),
        worker("/steps/{id}/complete", foreign::complete),
        worker("/steps/{id}/events", foreign::events),
        join("/workers/{id}/join", sessions::join),
        worker("/workers/{id}/exchange", sessions::exchange),
        worker("/workers/{id}/ended", sessions::ended),
        worker("/workers/{id}/logs", sessions::logs),
        worker("/workers/{id}/values", sessions::values),
        worker("/workers/{id}/cancel", sessions::cancel),
    ]
}

fn open<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::GET, path, Needs::Nothing, handler).of_each()
}

fn read<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::GET, path, Needs::Scope(Scope::Read), handler)
}

fn submit<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::POST, path, Needs::Scope(Scope::Submit), handler)
}

fn admin<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::POST, path, Needs::Scope(Scope::Admin), handler)
}

/// What is not for everybody who may look.
fn inspect<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::GET, path, Needs::Scope(Scope::Admin), handler)
}

/// A worker's first word.
fn join<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::POST, path, Needs::Scope(Scope::Worker), handler)
}

/// A worker's every other word.
fn worker<H: Handler<T, Arc<Api>>, T: 'static>(path: &'static str, handler: H) -> Route {
    route(MethodFilter::POST, path, Needs::Secret, handler)
}

fn route<H: Handler<T, Arc<Api>>, T: 'static>(
    method: MethodFilter,
    path: &'static str,
    needs: Needs,
    handler: H,
) -> Route {
    let answers = Answers::WhoLeads;
    Route { path, method, needs, answers, handler: on(method, handler) }
}
