//! The HTTP API of a controller.
//!
//! ```text
//!  connection ──► HttpServer ──► access (token, protocol) ──► one file per theme ──► NodeHandle ──► leader loop
//!                                                                            └─────► SharedView, archive, logs
//! ```
//!
//! | file | content |
//! |---|---|
//! | `runs` | submit, list, show, rerun, cancel, events, why, logs |
//! | `events` | events of the cluster: pages and streams |
//! | `workers` | workers, locks and the queue |
//! | `idempotency_keys` | idempotency keys of steps |
//! | `sessions` | workers of windlass: join, exchange, ended, logs, values, cancel |
//! | `plain_worker` | workers of any make |
//! | `objects` | files of steps: objects by their hash |
//! | `cluster`, `metrics` | the description of the cluster, health, metrics |
//! | `tokens`, `admin` | tokens and the audit trail; revoking workers, releasing locks |
//! | `journal`, `replica` | the journal for read-only replicas; the answers of a replica |
//! | `leader_only` | only the leader answers; others name it |
//! | `allowed_hosts`, `access`, `name_rules` | host and origin; authorization; rules for names |
//! | `extract`, `comma_list`, `byte_range`, `body_budget` | path, query and body; lists in a query; `range`; the memory of all bodies |
//! | `api_error`, `id_body` | refusals; the answer to a change |
//! | `routes`, `router` | the table of routes; the router and the state of handlers |
//! | `openapi` | the description of the API in OpenAPI |
//! | `server`, `rate_limit`, `etag` | connections; requests per second; entity tags and compression |
//!
//! A refusal is a problem document of RFC 9457 with a stable code, see [`ApiError`]. Bodies and connections are limited. A
//! request or answer has a type, from which its schema in the OpenAPI document is derived. The types that clients also use
//! are in `windlass_link::http`, and those that the command line prints in `windlass_core`; the others are beside their
//! handlers.

mod access;
mod admin;
mod allowed_hosts;
mod api_error;
mod api_state;
mod body_budget;
mod byte_range;
mod cluster;
mod comma_list;
mod error_sources;
mod etag;
mod events;
mod extract;
mod id_body;
mod idempotency_keys;
mod journal;
mod leader_only;
mod metrics;
mod name_rules;
mod objects;
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
pub use api_state::{Api, ApiStores, ControllerIdentity, ControllerMode};
pub use metrics::metrics_router;
pub use router::router;
pub use routes::{RouteAccess, RouteDescription, route_descriptions};
#[cfg(feature = "tls")]
pub use server::TlsListener;
pub use server::{
    ConnectionListener, ConnectionPeer, HttpServer, HttpServerLimits, IncomingConnection,
};
