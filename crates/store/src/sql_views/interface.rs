//! What changes in the tables, and who writes it.

use std::fmt;
use std::sync::Arc;

use windlass_core::engine::WorkerStatus;
use windlass_core::id::{Fence, Incarnation, RunId, StepIx, Term, WorkerId};
use windlass_core::idempotency::IdempotencyKeyStatus;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::Plan;
use windlass_core::report::{LeaderReport, StatusCounts, StopReport};
use windlass_core::requirement::Labels;
use windlass_core::time::Time;

use super::contact_rows::ContactRows;
use crate::db::StoreFuture;
use crate::journal::{Position, RecordedEvent};

/// The newest events that the tables keep: enough to see what happened just now, a few megabytes. The whole history is
/// in the journal and the archive.
pub const EVENTS_MAX: u64 = 10_000;

/// Rows of one difference, about.
const ROWS_MAX: usize = 50_000;

/// Keeps the tables. Object safe, one call.
pub trait SqlViews: Send + Sync + fmt::Debug {
    /// Writes a difference, all of it or nothing; readers see it whole. Not durable: after a crash of the machine the
    /// tables may be older, or gone.
    ///
    /// [`Written::Lost`] if the tables are not those that the difference [follows](Diff::follows): nothing was written.
    /// Writing the same difference twice has the effect of writing it once.
    fn write(&self, diff: Arc<SqlViewsDiff>) -> StoreFuture<'_, SqlViewsOutcome>;

    /// Whether they show when workers were heard: that changes all the time, also where nothing happens.
    fn shows_contacts(&self) -> bool {
        false
    }
}

/// What became of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlViewsOutcome {
    /// It is in the tables.
    Applied,
    /// Somebody removed the tables or wrote them: the writer is to begin anew.
    Conflict,
}

/// Names a state of the tables, so that whoever wrote it knows it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlViewsMark {
    /// Who wrote it: chosen by chance when the tables were begun.
    pub writer: u64,
    /// The how-manieth difference it was since then.
    pub write: u64,
}

/// How old the tables are: every row is at least as new as this. If the last look was one piece, as it is unless runs
/// are very large, all rows are of exactly this position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqlViewsAsOf {
    /// The position in the journal.
    pub position: Position,
    /// The time of the newest event or decision, in journal time.
    pub at: Time,
}

/// Rows that are new or have changed, and keys of rows that are gone.
#[derive(Clone, Debug)]
pub struct RowChanges<R, K> {
    /// Whole rows.
    pub upserted: Vec<R>,
    /// Their keys.
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
    /// The state that it changes. `None`: whatever is there goes, and this is all.
    pub follows: Option<SqlViewsMark>,
    /// The state that it makes.
    pub mark: SqlViewsMark,
    /// The term under which it is written.
    pub term: Term,
    /// How old the tables are afterwards. `None`: as they were, since more of the same look follows.
    pub as_of: Option<SqlViewsAsOf>,
    /// Who leads, if that has changed.
    pub leader: Option<LeaderReport>,
    /// Workers.
    pub workers: RowChanges<WorkerRow, WorkerId>,
    /// Leases.
    pub leases: RowChanges<LeaseRow, Fence>,
    /// When workers were heard, where that is shown.
    pub contacts: ContactRows,
    /// Runs. The steps of a run that is gone go with it.
    pub runs: RowChanges<RunRow, RunId>,
    /// Steps.
    pub steps: Vec<StepRows>,
    /// Keys of what is done once.
    pub keys: RowChanges<IdempotencyRow, Box<str>>,
    /// The newest events, in order. Of those that are there, the oldest go.
    pub events: Vec<(Position, RecordedEvent)>,
}

impl SqlViewsDiff {
    /// A difference that changes nothing yet.
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

    /// Whether it is to be written before more is added: some tenths of a second of writing, a few megabytes.
    pub fn is_large(&self) -> bool {
        self.rows() >= ROWS_MAX
    }

    /// How many rows it writes, those of events aside.
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

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRow {
    /// Its number.
    pub id: WorkerId,
    /// Its name.
    pub name: Box<str>,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Where it stands.
    pub status: WorkerStatus,
    /// What it advertises.
    pub labels: Labels,
    /// Steps at a time.
    pub slots: u32,
    /// Leases that it holds.
    pub leases: u32,
    /// When its status last changed.
    pub since: Time,
}

/// An open lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRow {
    /// Its number.
    pub fence: Fence,
    /// Of which run.
    pub run: RunId,
    /// Which step.
    pub step: StepIx,
    /// The how-manieth attempt, from 1.
    pub attempt: u16,
    /// The how-manieth hand-out of it, from 1.
    pub delivery: u16,
    /// Who holds it.
    pub worker: WorkerId,
    /// When it was granted, or last confirmed by a new leader.
    pub granted_at: Time,
    /// When it ends unless its worker is heard before that; `None` if it does not end by time.
    pub expires: Option<Time>,
    /// When its worker said that it had started.
    pub started_at: Option<Time>,
    /// Whether it was told to stop.
    pub stop: Option<StopReport>,
    /// Locks that it holds.
    pub locks: Vec<Box<str>>,
}

/// A run that is not sealed.
#[derive(Clone, Debug)]
pub struct RunRow {
    /// Its id.
    pub id: RunId,
    /// What it does.
    pub plan: Arc<Plan>,
    /// Where it stands.
    pub status: RunStatus,
    /// When it was submitted.
    pub submitted_at: Time,
    /// How many of its steps stand where.
    pub counts: StatusCounts,
}

/// A key of something that is done once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyRow {
    /// The key.
    pub key: Box<str>,
    /// Where it stands.
    pub status: IdempotencyKeyStatus,
    /// The run that is at it, or that did it last.
    pub run: RunId,
    /// Which step of it.
    pub step: StepIx,
    /// That step's name: its run may be sealed.
    pub name: Box<str>,
    /// Since when the step is at it, or when it ended.
    pub at: Time,
    /// How many steps wait for it.
    pub waiting: u32,
}

/// Steps of one run.
#[derive(Clone, Debug)]
pub struct StepRows {
    /// Which.
    pub run: RunId,
    /// Where their names are: they never change, and a run may have a million.
    pub plan: Arc<Plan>,
    /// The steps.
    pub rows: Vec<StepRow>,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its index.
    pub step: StepIx,
    /// Where it stands.
    pub status: StepStatus,
    /// The attempt under way or next, from 1.
    pub attempt: u16,
    /// Hand-outs of this attempt so far.
    pub delivery: u16,
    /// The newest lease that it ever had.
    pub fence: Option<Fence>,
    /// The step at the root of a failed need.
    pub cause: Option<StepIx>,
}
