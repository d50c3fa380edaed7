//! The state of the cluster as SQL tables, at most a second old.
//!
//! ```text
//!  views (durable state) ──once a second──► TableKeeper: changes ──Diff──► Tables: tables.db
//!                                                                                    ▲ sqlite3, dashboards, scripts
//! ```
//!
//! They are derived from the journal. No decision reads them, and a file that is missing, damaged or of another version is
//! rebuilt. `as_of` has their age; see [`SqlViewsDiff`].
//!
//! | table | rows |
//! |---|---|
//! | `as_of` | the position and time that all rows include at least, and the time of writing |
//! | `leader` | the current term |
//! | `workers`, `leases` | known workers, open leases |
//! | `runs`, `steps` | runs that are not sealed, with their steps counted by status; their steps without joins |
//! | `idempotency` | idempotency keys of steps: pending, completed or failed, and the step |
//! | `events` | the newest events, with their JSON |
//!
//! The views `running`, `waiting`, `failures` and `lock_holders` join names to numbers. Sealed runs are in the archive, and
//! so are the keys of submissions, in `archive.db` beside this file; `runs.number` is the id of a run in the archive:
//!
//! ```sql
//! ATTACH '.windlass/archive.db' AS archive;
//! SELECT key, runs.run, status FROM archive.keys LEFT JOIN runs ON runs.number = keys.run;
//! ```
//!
//! In PostgreSQL they are named `windlass_…`, and also have the last contact of workers and the expiry of leases.
//! `windlass_runs` includes sealed runs, `windlass_submissions` has the keys of submissions, and `windlass_leader` is the
//! row of the election.

mod contact_rows;
mod interface;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use contact_rows::ContactRows;
pub use interface::{
    EVENTS_MAX, RowChanges, SqlViews, SqlViewsAsOf, SqlViewsDiff, SqlViewsMark, SqlViewsOutcome,
};
#[cfg(feature = "postgres")]
pub use postgres::PostgresSqlViews;
pub use rows::{IdempotencyRow, LeaseRow, RunRow, StepRow, StepRows, WorkerRow};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteSqlViews;
