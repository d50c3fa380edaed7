//! The interface of the SQL views: differences between two of their states.

use std::fmt;
use std::sync::Arc;

use windlass_core::id::{Fence, RunId, Term, WorkerId};
use windlass_core::report::LeaderReport;
use windlass_core::time::Time;

use super::contact_rows::ContactRows;
use super::rows::{IdempotencyRow, LeaseRow, RunRow, StepRows, WorkerRow};
use crate::db::StoreFuture;
use crate::journal::{Position, RecordedEvent};

/// Maximum events in the tables: a few megabytes of recent history. The journal and the archive have all of it.
pub const EVENTS_MAX: u64 = 10_000;

/// Approximate maximum rows of one difference.
const ROWS_MAX: usize = 50_000;

/// Writes the tables.
pub trait SqlViews: Send + Sync + fmt::Debug {
    /// Writes a difference atomically. It is not durable: after a crash of the machine the tables may be older, or missing.
    ///
    /// Returns [`SqlViewsOutcome::Conflict`] if the tables are not those that the difference
    /// [follows](SqlViewsDiff::follows): nothing was written.
    /// Writing the same difference twice has the effect of writing it once.
    fn write(&self, diff: Arc<SqlViewsDiff>) -> StoreFuture<'_, SqlViewsOutcome>;

    /// Whether the tables have the last contact of workers, which changes all the time.
    fn shows_contacts(&self) -> bool {
        false
    }
}

/// The result of writing a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlViewsOutcome {
    /// The difference is in the tables.
    Applied,
    /// The tables were removed or written by another process: the writer starts again with all rows.
    Conflict,
}

/// Identifies a state of the tables, so that its writer recognizes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlViewsMark {
    /// The writer: a random number, chosen when the tables were begun.
    pub writer: u64,
    /// The number of the difference since then.
    pub write: u64,
}

/// The age of the tables: every row includes at least this position. Unless runs are very large, all rows have exactly this
/// position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlViewsAsOf {
    /// The position in the journal.
    pub position: Position,
    /// The time of the newest event or decision, in journal time.
    pub at: Time,
}

/// New or changed rows, and keys of removed rows.
#[derive(Clone, Debug)]
pub struct RowChanges<R, K> {
    /// The complete rows.
    pub upserted: Vec<R>,
    /// The keys of removed rows.
    pub deleted: Vec<K>,
}

impl<R, K> Default for RowChanges<R, K> {
    fn default() -> Self {
        Self { upserted: Vec::new(), deleted: Vec::new() }
    }
}

/// The difference between two states of the tables.
#[derive(Clone, Debug)]
pub struct SqlViewsDiff {
    /// The state that it changes. `None` replaces all rows.
    pub follows: Option<SqlViewsMark>,
    /// The resulting state.
    pub mark: SqlViewsMark,
    /// The term of its writer.
    pub term: Term,
    /// The age of the tables afterwards. `None` if more differences of the same look follow.
    pub as_of: Option<SqlViewsAsOf>,
    /// The leader, if it has changed.
    pub leader: Option<LeaderReport>,
    /// Workers.
    pub workers: RowChanges<WorkerRow, WorkerId>,
    /// Leases.
    pub leases: RowChanges<LeaseRow, Fence>,
    /// The last contacts of workers, if the tables have them.
    pub contacts: ContactRows,
    /// Runs. Removing a run removes its steps.
    pub runs: RowChanges<RunRow, RunId>,
    /// Steps.
    pub steps: Vec<StepRows>,
    /// Idempotency keys of steps.
    pub keys: RowChanges<IdempotencyRow, Box<str>>,
    /// The newest events, in order. The oldest events in the table are removed.
    pub events: Vec<Arc<RecordedEvent>>,
}

impl SqlViewsDiff {
    /// Creates an empty difference.
    pub fn new(follows: Option<SqlViewsMark>, mark: SqlViewsMark) -> Self {
        Self {
            follows,
            mark,
            term: Term::default(),
            as_of: None,
            leader: None,
            workers: RowChanges::default(),
            leases: RowChanges::default(),
            contacts: ContactRows::default(),
            runs: RowChanges::default(),
            steps: Vec::new(),
            keys: RowChanges::default(),
            events: Vec::new(),
        }
    }

    /// Whether it is full and must be written before more is added: a few megabytes, which take some tenths of a second.
    pub fn is_large(&self) -> bool {
        self.rows() >= ROWS_MAX
    }

    /// Returns the number of rows without events.
    pub fn rows(&self) -> usize {
        let steps: usize = self.steps.iter().map(|of| of.rows.len()).sum();
        let keys = self.keys.upserted.len() + self.keys.deleted.len();
        self.workers.upserted.len()
            + self.leases.upserted.len()
            + self.runs.upserted.len()
            + steps
            + keys
    }
}
