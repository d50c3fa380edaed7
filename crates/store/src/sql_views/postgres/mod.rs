//! The tables in PostgreSQL, for whoever has `psql`.
//!
//! ```text
//!  write ──► line ──► one transaction for each difference: rows by UNNEST, and the leader's row last
//! ```
//!
//! They are named `windlass_…`, beside the journal's and the archive's. What tells this leader's tables from another's is
//! the mark, as everywhere; a leader that was deposed is stopped by its term besides: its transaction ends by locking the
//! leader's row under it. Last, and for a moment: a renewal of the term waits for that lock.

mod statement;
mod store;
mod unnest_columns;
mod writer;

pub use store::PostgresSqlViews;
