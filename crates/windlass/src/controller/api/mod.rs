//! The controller's API: HTTP in front of a node.
//!
//! ```text
//!  connection ──► Server ──► access (token, protocol, who) ──► one file per theme ──► Handle ──► the leader's loop
//!                                                                             └─────► Views, archive, logs: what is durable
//! ```
//!
//! | file | what it answers |
//! |---|---|
//! | `sessions` | our own workers: join, exchange, ended, logs |
//! | `cluster` | which cluster this is, and whether it is well |
//!
//! A refusal is a problem of RFC 9457 with a stable code, see [`Refused`]. Bodies are bounded, and so are connections.

mod access;
mod cluster;
mod input;
mod refused;
mod router;
mod server;
mod sessions;
mod writers;

pub use access::Token;
pub use refused::Refused;
pub use router::{Api, Kept, router};
pub use server::{Accept, Server};
pub use writers::Writers;
