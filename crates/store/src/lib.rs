//! The stores: the journal of decisions, the archive of ended runs, the logs of steps, their files, and the state as SQL
//! tables.
//!
//! | module | content |
//! |---|---|
//! | [`journal`] | the append-only record of every decision: the single source of truth |
//! | [`archive`] | the histories of ended runs, and the idempotency keys of submissions |
//! | `backup` | a folder with all of these at one position, each file with its hash |
//! | [`logs`] | the output of steps and large results, as bytes at offsets |
//! | [`objects`] | files of workspaces, artifacts and cached results, named by their hash |
//! | [`sql_views`] | the state of the cluster as tables for SQL clients, at most a second old |
//! | [`db`] | what the backends share: SQLite threads, PostgreSQL connections, errors, formats |
//! | `conformance` | the promises of each store as checks that a backend runs in one line |

pub mod archive;
#[cfg(feature = "sqlite")]
pub mod backup;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod db;
pub mod journal;
pub mod logs;
pub mod objects;
pub mod sql_views;
