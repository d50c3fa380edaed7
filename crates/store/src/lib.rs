//! The stores: what was decided, the runs that ended, the output of steps, and the state as tables for SQL.
//!
//! | module | what it has |
//! |---|---|
//! | [`journal`] | the append-only record of every decision: the one source of truth |
//! | [`archive`] | the histories of runs that ended, and the idempotency keys of submissions |
//! | [`logs`] | the output of steps and large results, as bytes at offsets |
//! | [`sql_views`] | the state of the cluster as tables for SQL clients, at most a second old |
//! | [`db`] | what the backends share: SQLite threads, PostgreSQL connections, errors, formats |
//! | `conformance` | the promises of each store as checks that a backend runs in one line |

pub mod archive;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod db;
pub mod journal;
pub mod logs;
pub mod sql_views;
