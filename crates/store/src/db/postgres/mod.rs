//! PostgreSQL, as the stores use it.
//!
//! Every statement is complete in itself: parameters have their types with them, nothing is prepared under a name, nothing
//! is set for a session, and locks end with their transaction. So it works through a pooler that hands each transaction
//! another connection.

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
