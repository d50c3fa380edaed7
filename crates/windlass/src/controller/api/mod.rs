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
//! | `keys` | what is done once, and who did it |
//! | `sessions` | our own workers: join, exchange, ended, logs |
//! | `foreign` | workers of any make |
//! | `cluster`, `metrics` | which cluster this is, and whether it is well, in numbers too |
//! | `tokens`, `forced` | who may ask and who did; what an operator does against somebody's will |
//! | `journal`, `observed` | what controllers read that observe, and what those answer themselves |
//! | `leading` | only who leads answers; others say who does |
//! | `hosts`, `access`, `names` | whom a request is for and which page sent it; who may ask; what may be called how |
//! | `input`, `body_budget`, `refused` | what requests carry; the memory of all bodies; what is said to those that cannot be done |
//! | `routes`, `router` | which path leads where, and what it needs |
//! | `openapi` | the API described for programs |
//! | `doors`, `rates`, `documents` | connections; how many requests a second; answers that are known or packed |
//!
//! A refusal is a problem of RFC 9457 with a stable code, see [`Refused`]. Bodies are bounded, and so are connections.

mod access;
mod body_budget;
mod cluster;
mod documents;
mod doors;
mod events;
mod forced;
mod foreign;
mod hosts;
mod input;
mod journal;
mod keys;
mod leading;
mod metrics;
mod names;
mod observed;
mod openapi;
mod planning;
mod rates;
mod refusal_log;
mod refused;
mod router;
mod routes;
mod runs;
mod sessions;
mod tokens;
mod workers;

pub use access::{FileTokens, file_tokens};
#[cfg(feature = "tls")]
pub use doors::TlsDoors;
pub use doors::{Accept, Bounds, Caller, Peer, Server};
pub use hosts::Hosts;
pub use metrics::metrics_router;
pub use refused::Refused;
pub use router::{About, Api, Company, Kept, router};
pub use routes::{Described, Needs, described};
