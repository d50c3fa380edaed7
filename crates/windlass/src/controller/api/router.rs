//! Which path leads where, and what every answer may draw on.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use windlass_core::time::Time;

use super::access::{self, Token};
use super::foreign::{self, Proxies};
use super::refused::Refused;
use super::writers::Writers;
use super::{cluster, runs, sessions, workers};
use crate::archive::Archive;
use crate::controller::{Handle, Histories};
use crate::link::http::ClusterId;
use crate::logs::Announced;

/// The most bytes of a body: an exchange has at most half of it in outputs, and a request with logs as much as it was
/// given credit for.
const BODY_MAX: usize = 2 << 20;

/// The most bytes of a body with a pipeline: the largest file that is read, and what it takes to write it as JSON.
const PIPELINE_MAX: usize = 9 << 20;

/// What an API answers from.
#[derive(Debug)]
pub struct Api {
    pub(super) handle: Handle,
    pub(super) kept: Kept,
    pub(super) about: About,
    pub(super) clock: fn() -> Time,
    /// What everybody has to show, if anything.
    pub(super) token: Option<Token>,
    /// Who writes which log.
    pub(super) writers: Writers,
    /// Who speaks for which foreign worker.
    pub(super) proxies: Proxies,
}

/// Where runs that ended and what steps printed are kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Runs that ended.
    pub archive: Arc<dyn Archive>,
    /// What steps print: everybody in this process writes to it through this.
    pub logs: Arc<Announced>,
    /// Runs that are not sealed.
    pub histories: Arc<Histories>,
}

/// What a controller says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Which cluster this is.
    pub cluster: ClusterId,
    /// Where it wants to be reached.
    pub advertise: String,
}

impl Api {
    /// The API of the node behind the handle.
    pub fn new(handle: Handle, kept: Kept, about: About, clock: fn() -> Time) -> Self {
        let (writers, proxies) = (Writers::default(), Proxies::default());
        Self { handle, kept, about, clock, token: None, writers, proxies }
    }

    /// The same, for those who show a token.
    #[must_use]
    pub fn with_token(self, token: Option<Token>) -> Self {
        Self { token, ..self }
    }

    pub(super) fn now(&self) -> Time {
        (self.clock)()
    }
}

/// The routes of an API.
pub fn router(api: Arc<Api>) -> Router {
    let submit = post(runs::submit).layer(DefaultBodyLimit::max(PIPELINE_MAX));
    Router::new()
        .route("/healthz", get(cluster::health))
        .route("/cluster", get(cluster::show))
        .route("/runs", get(runs::list).merge(submit))
        .route("/runs/{run}", get(runs::show))
        .route("/runs/{run}/cancel", post(runs::cancel))
        .route("/runs/{run}/events", get(runs::events))
        .route("/runs/{run}/steps/{step}/why", get(runs::why))
        .route("/runs/{run}/logs", get(runs::logs))
        .route("/runs/{run}/logs/{step}/{attempt}/{delivery}", get(runs::log))
        .route("/workers", get(workers::list))
        .route("/workers/{id}/drain", post(workers::drain))
        .route("/locks", get(workers::locks))
        .route("/queue", get(workers::queue))
        .route("/workers/register", post(foreign::register))
        .route("/workers/{id}/heartbeat", post(foreign::heartbeat))
        .route("/workers/{id}/claim", post(foreign::claim))
        .route("/steps/{id}/complete", post(foreign::complete))
        .route("/steps/{id}/events", post(foreign::events))
        .route("/workers/{id}/join", post(sessions::join))
        .route("/workers/{id}/exchange", post(sessions::exchange))
        .route("/workers/{id}/ended", post(sessions::ended))
        .route("/workers/{id}/logs", post(sessions::logs))
        .fallback(|| async { Refused::no_such_path() })
        .method_not_allowed_fallback(|| async { Refused::no_such_method() })
        .layer(from_fn_with_state(Arc::clone(&api), access::check))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(api)
}
