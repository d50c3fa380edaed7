//! PostgreSQL, as the stores use it.
//!
//! Every statement is complete in itself: parameters have their types with them, nothing is prepared under a name, nothing
//! is set for a session, and locks end with their transaction. So it works through a pooler that hands each transaction
//! another connection.

pub(crate) mod address;
pub(crate) mod connection;
#[cfg(feature = "sqlite")]
pub(crate) mod copy_mark;
pub(crate) mod failure;
pub(crate) mod notifications;
pub(crate) mod partition;
pub(crate) mod runtime;
pub(crate) mod schema;
mod tls;
