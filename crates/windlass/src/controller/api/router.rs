//! Which path leads where, and what every answer may draw on.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

use super::access::{self, Token};
use super::refused::Refused;
use super::writers::Writers;
use super::{cluster, sessions};
use crate::archive::Archive;
use crate::controller::{Handle, Histories};
use crate::link::http::ClusterId;
use crate::logs::LogStore;

/// The most bytes of a body: an exchange has at most half of it in outputs, and a request with logs as much as it was
/// given credit for.
const BODY_MAX: usize = 2 << 20;

/// What an API answers from.
#[derive(Debug)]
pub struct Api {
    /// The node.
    pub handle: Handle,
    /// What is kept besides what the node knows.
    pub kept: Kept,
    /// Which cluster this is.
    pub cluster: ClusterId,
    /// Where it wants to be reached.
    pub advertise: String,
    /// What everybody has to show, if anything.
    pub token: Option<Token>,
    /// Who writes which log.
    pub writers: Writers,
}

/// Where runs that ended and what steps printed are kept.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Runs that ended.
    pub archive: Arc<dyn Archive>,
    /// What steps print.
    pub logs: Arc<dyn LogStore>,
    /// Runs that are not sealed.
    pub histories: Arc<Histories>,
}

/// The routes of an API.
pub fn router(api: Arc<Api>) -> Router {
    Router::new()
        .route("/healthz", get(cluster::health))
        .route("/cluster", get(cluster::show))
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
