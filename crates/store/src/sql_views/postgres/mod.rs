//! The SQL views in PostgreSQL.
//!
//! ```text
//!  write ──► line ──► one transaction for each difference: rows by UNNEST, and the leader's row last
//! ```
//!
//! They are named `windlass_…`, beside the tables of the journal and the archive. The mark identifies the writer. A former
//! leader is also stopped by its term: each transaction ends by locking the leader row under the term. It does so last,
//! because a renewal of the term waits for that lock.

mod statement;
mod store;
mod unnest_columns;
mod writer;

pub use store::PostgresSqlViews;
