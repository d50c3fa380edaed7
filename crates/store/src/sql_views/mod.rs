//! Tables that anybody may query: the state of the cluster, a second old, in plain SQL.
//!
//! ```text
//!  views (durable state) ──a look a second──► TableKeeper: what changed ──Diff──► Tables: tables.db
//!                                                                                    ▲ sqlite3, dashboards, scripts
//! ```
//!
//! They are derived: the journal is the truth, nothing reads them to decide anything, and a file that is missing,
//! damaged or of another version is made anew. `as_of` says how old they are; see [`SqlViewsDiff`].
//!
//! | table | one row for each |
//! |---|---|
//! | `as_of` | position and time that the rows are at least as new as, and when that was written |
//! | `leader` | the term under way |
//! | `workers`, `leases` | worker that is known, lease that is open |
//! | `runs`, `steps` | run that is not sealed, with its steps counted by status; its steps (joins are none) |
//! | `idempotency` | key of something that is done once: pending, completed or failed, and by whom |
//! | `events` | of the newest events, with their JSON |
//!
//! The views `running`, `waiting`, `failures` and `lock_holders` put names to numbers. Sealed runs are not here: they are
//! in the archive. Neither are the keys of submissions, which the archive has in `archive.db` beside this file, where
//! they are durable before a run is made of them; `runs.number` is the id as it is written there:
//!
//! ```sql
//! ATTACH '.windlass/archive.db' AS archive;
//! SELECT key, runs.run, status FROM archive.keys LEFT JOIN runs ON runs.number = keys.run;
//! ```
//!
//! In PostgreSQL they are called `windlass_…`, and show besides when workers were heard and leases expire. There
//! `windlass_runs` has sealed runs too, `windlass_submissions` the keys of submissions, and `windlass_leader` is the row by which the
//! leader was elected.

mod contact_rows;
mod interface;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use contact_rows::ContactRows;
pub use interface::{
    EVENTS_MAX, IdempotencyRow, LeaseRow, RowChanges, RunRow, SqlViews, SqlViewsAsOf, SqlViewsDiff,
    SqlViewsMark, SqlViewsOutcome, StepRow, StepRows, WorkerRow,
};
#[cfg(feature = "postgres")]
pub use postgres::PostgresSqlViews;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteSqlViews;
