//! The controller's API: HTTP in front of a node.
//!
//! ```text
//!  connection ──► Server ──► access (token, protocol, who) ──► one file per theme ──► Handle ──► the leader's loop
//!                                                                             └─────► Views, archive, logs: what is durable
//! ```
//!
//! | file | what it answers |
//! |---|---|
//! | `runs` | submit, list, show, cancel, events, why, logs |
//! | `events` | what happens, as it happens: streams, and pages of everything |
//! | `workers` | who works here, and what they hold |
//! | `idempotency_keys` | what is done once, and who did it |
//! | `sessions` | our own workers: join, exchange, ended, logs |
//! | `plain_worker` | workers of any make |
//! | `cluster`, `metrics` | which cluster this is, and whether it is well, in numbers too |
//! | `tokens`, `admin` | who may ask and who did; what an operator does against somebody's will |
//! | `journal`, `replica` | what controllers read that observe, and what those answer themselves |
//! | `leader_only` | only who leads answers; others say who does |
//! | `allowed_hosts`, `access`, `name_rules` | whom a request is for and which page sent it; who may ask; what may be called how |
//! | `extract`, `body_budget`, `api_error` | what requests carry; the memory of all bodies; what is said to those that cannot be done |
//! | `routes`, `router` | which path leads where, and what it needs |
//! | `openapi` | the API described for programs |
//! | `server`, `rate_limit`, `etag` | connections; how many requests a second; answers that are known or packed |
//!
//! A refusal is a problem of RFC 9457 with a stable code, see [`Refused`]. Bodies are bounded, and so are connections.

mod access;
mod admin;
mod allowed_hosts;
mod api_error;
mod body_budget;
mod cluster;
mod etag;
mod events;
mod extract;
mod idempotency_keys;
mod journal;
mod leader_only;
mod metrics;
mod name_rules;
mod openapi;
mod plain_worker;
mod planning_limit;
mod rate_limit;
mod refusal_log;
mod replica;
mod router;
mod routes;
mod runs;
mod server;
mod sessions;
mod tokens;
mod workers;

pub use access::{FileTokens, file_tokens};
pub use allowed_hosts::AllowedHosts;
pub use api_error::ApiError;
pub use metrics::metrics_router;
pub use router::{Api, ApiStores, ControllerIdentity, ControllerMode, router};
pub use routes::{RouteAccess, RouteDescription, route_descriptions};
#[cfg(feature = "tls")]
pub use server::TlsListener;
pub use server::{
    ConnectionListener, ConnectionPeer, HttpServer, HttpServerLimits, IncomingConnection,
};
