//! PostgreSQL, as the stores use it.
//!
//! Every statement is complete in itself: parameters have their types with them, nothing is prepared under a name, nothing
//! is set for a session, and locks end with their transaction. So it works through a pooler that hands each transaction
//! another connection.

pub(crate) mod address;
pub(crate) mod failure;
pub(crate) mod line;
#[cfg(feature = "sqlite")]
pub(crate) mod mark;
pub(crate) mod notices;
pub(crate) mod office;
pub(crate) mod partition;
pub(crate) mod schema;
mod security;
