//! The interface of an archive.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::report::UtcTime;
use windlass_core::time::Time;

use super::run_history::RunHistory;
use crate::db::StoreFuture;
use crate::journal::{Position, RecordedEvent};

/// The record of a run that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its id, which grows with the time of submission.
    pub run: RunId,
    /// The pipeline.
    pub pipeline: String,
    /// The final status.
    pub status: RunStatus,
    /// The time of the submission.
    pub submitted_at: Time,
    /// The time of the end.
    pub ended_at: Time,
    /// The number of steps of the plan.
    pub steps: u32,
    /// The workers that had leases of the run, with their names: events have only their numbers.
    pub workers: Vec<(WorkerId, String)>,
}

impl RunRecord {
    /// Returns the JSON form of the record.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.run.to_string(),
            "pipeline": self.pipeline,
            "status": self.status.to_string(),
            "created_at": UtcTime(self.submitted_at).to_string(),
            "ended_at": UtcTime(self.ended_at).to_string(),
            "steps": self.steps,
        })
    }
}

/// A run that has ended, with all its events.
#[derive(Clone, Debug, PartialEq)]
pub struct SealedRun {
    /// Its record.
    pub record: RunRecord,
    /// All its events; the first is its submission, which contains the plan.
    pub events: RunHistory,
}

/// The runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only runs older than this one: the last run of the page before.
    pub before: Option<RunId>,
    /// Only runs of this pipeline.
    pub pipeline: Option<String>,
    /// Only runs with this final status.
    pub status: Option<RunStatus>,
    /// Only runs submitted at this time or later.
    pub since: Option<Time>,
    /// Maximum number of runs, up to [`PAGE_MAX`].
    pub most: usize,
}

impl RunQuery {
    /// Whether a run matches the filters; the caller applies `before` and `most`.
    pub fn selects(&self, record: &RunRecord) -> bool {
        self.pipeline.as_ref().is_none_or(|pipeline| *pipeline == record.pipeline)
            && self.status.is_none_or(|status| status == record.status)
            && self.since.is_none_or(|since| record.submitted_at >= since)
    }
}

/// Maximum runs in one page.
pub const PAGE_MAX: usize = 1_000;

/// The idempotency key of a submission, so that a repetition creates no second run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionKeyClaim {
    /// The client's key, at most [`KEY_MAX`] bytes.
    pub key: String,
    /// A hash of the submission.
    pub body: [u8; 32],
    /// The run to create if the key is new.
    pub run: RunId,
    /// The time of the claim.
    pub at: Time,
}

impl SubmissionKeyClaim {
    /// Checks the key, which comes from a client.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.key.len() {
            0..=KEY_MAX => Ok(()),
            long => Err(format!("a key has {long} bytes; at most {KEY_MAX} are allowed")),
        }
    }
}

/// Maximum bytes of a key.
pub const KEY_MAX: usize = 256;

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmissionKeyOutcome {
    /// The key was new and now belongs to the run of the claim.
    New,
    /// The key belongs to this run, with the same body. Submitting the run again is harmless, and needed if the first
    /// submission was lost.
    Known(RunId),
    /// The key belongs to this run, with another body: an error of the client.
    Conflict(RunId),
}

/// Stores runs that have ended, until they are pruned, and the keys of submissions.
///
/// A run is archived first and then sealed in the journal, so that a crash between the two repeats the first without
/// effect.
pub trait Archive: Send + Sync + fmt::Debug {
    /// Stores a run durably. If the archive has the run, the history with the later last event stays: an event may follow
    /// while a run is archived, and a former leader may write an older history.
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()>;

    /// Returns the record of a run, if the archive has it.
    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>>;

    /// Returns a page of runs, the newest first. Later pages are correct even if runs are added or pruned meanwhile.
    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>>;

    /// Returns at most `most` events of a run after a position, in order; none if the archive does not have the run.
    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<Arc<RecordedEvent>>>;

    /// Binds a key to a run durably. Of concurrent claims one is new. A key that is too long is refused as
    /// [unusable](crate::db::StoreError::Unusable).
    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome>;

    /// Returns at most `most` claims with keys after this one, in the order of their bytes; from the first if `None`.
    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>>;

    /// Deletes runs that ended before `runs`, and keys claimed before `keys`. Returns the deleted runs, so that their logs
    /// can be removed too: at most [`PAGE_MAX`], and fewer if they are large, so that other calls do not wait long. If it
    /// returns none, none is left.
    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>>;
}
