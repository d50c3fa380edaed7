//! PostgreSQL connections, schemas and errors for all stores.
//!
//! Statements do not depend on a session: parameters have types, no statement is prepared by name, no setting belongs to a
//! session, and locks end with their transaction. So the stores work through a pooler that gives each transaction another
//! connection.

pub mod address;
pub mod connection;
#[cfg(feature = "sqlite")]
pub mod copy_mark;
pub mod failure;
pub mod notifications;
pub mod partition;
pub mod runtime;
pub mod schema;
mod tls;
