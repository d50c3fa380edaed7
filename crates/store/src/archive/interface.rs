//! What an archive must do, and what each call promises.

use std::fmt;

use serde_json::{Value, json};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::report::UtcTime;
use windlass_core::time::Time;

use super::run_history::RunHistory;
use crate::db::StoreFuture;
use crate::journal::{Position, RecordedEvent};

/// A run that ended, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Its id, which grows with the time of submission.
    pub run: RunId,
    /// The pipeline that it was a run of.
    pub pipeline: String,
    /// How it ended.
    pub status: RunStatus,
    /// When it was submitted.
    pub submitted_at: Time,
    /// When it ended.
    pub ended_at: Time,
    /// Steps of its plan.
    pub steps: u32,
    /// The workers that had leases of it, by name: the events of a run know them by number only.
    pub workers: Vec<(WorkerId, String)>,
}

impl RunRecord {
    /// The run as everybody shows it, as far as its line goes.
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

/// A run that ended, with its whole history.
#[derive(Clone, Debug, PartialEq)]
pub struct SealedRun {
    /// Its line.
    pub record: RunRecord,
    /// Every event of it; the first is its submission, which carries the plan.
    pub events: RunHistory,
}

/// Which runs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// Only runs older than this one: the last run of the page before.
    pub before: Option<RunId>,
    /// Only runs of this pipeline.
    pub pipeline: Option<String>,
    /// Only runs that ended like this.
    pub status: Option<RunStatus>,
    /// Only runs submitted at this time or later.
    pub since: Option<Time>,
    /// At most so many; [`PAGE_MAX`] at most.
    pub most: usize,
}

impl RunQuery {
    /// Whether its filters let this run through; `before` and `most` are up to who makes the page.
    pub fn selects(&self, record: &RunRecord) -> bool {
        self.pipeline.as_ref().is_none_or(|pipeline| *pipeline == record.pipeline)
            && self.status.is_none_or(|status| status == record.status)
            && self.since.is_none_or(|since| record.submitted_at >= since)
    }
}

/// The most runs in one page.
pub const PAGE_MAX: usize = 1_000;

/// A client's name for a submission, so that repeating it does not make a second run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionKeyClaim {
    /// The client's key, at most [`KEY_MAX`] bytes.
    pub key: String,
    /// A hash of what is submitted.
    pub body: [u8; 32],
    /// The run that is to be made of it, if the key is new.
    pub run: RunId,
    /// When it was asked.
    pub at: Time,
}

impl SubmissionKeyClaim {
    /// What is wrong with it: keys come from clients.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self.key.len() {
            0..=KEY_MAX => Ok(()),
            long => Err(format!("a key of {long} bytes, where {KEY_MAX} are the most")),
        }
    }
}

/// The most bytes of a key.
pub const KEY_MAX: usize = 256;

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmissionKeyOutcome {
    /// It was new, and stands for the claim's run now.
    New,
    /// It stood for this run already, with the same body: submitting that run again is harmless, and right if the first
    /// submission did not get through.
    Known(RunId),
    /// It stood for this run already, with another body: a mistake of the client's.
    Conflict(RunId),
}

/// Keeps runs that ended, for ever or until they are pruned, and the keys of submissions.
///
/// It is no part of the truth until a run leaves the engine: a run is kept first and sealed in the journal then, so that
/// a crash between the two repeats the first without effect.
pub trait Archive: Send + Sync + fmt::Debug {
    /// Keeps a run, durably when it returns. If the run is there already, the history whose last event comes later stays: an
    /// event may follow while a run is archived, and a leader whose term has passed may write what it knew then.
    fn keep(&self, run: SealedRun) -> StoreFuture<'_, ()>;

    /// The line of a run, if it is here.
    fn run(&self, run: RunId) -> StoreFuture<'_, Option<RunRecord>>;

    /// A page of runs, the newest first. Runs that are added or pruned meanwhile do not disturb the pages that follow.
    fn runs(&self, query: RunQuery) -> StoreFuture<'_, Vec<RunRecord>>;

    /// Events of a run behind a position, in order, at most `most`; empty if it is not here.
    fn events(
        &self,
        run: RunId,
        after: Position,
        most: usize,
    ) -> StoreFuture<'_, Vec<(Position, RecordedEvent)>>;

    /// Binds a key to a run, durably when it returns. Of claims at once, one is new. A key that is too long is refused
    /// as [unusable](crate::store::StoreError::Unusable).
    fn claim(&self, claim: SubmissionKeyClaim) -> StoreFuture<'_, SubmissionKeyOutcome>;

    /// Keys behind this one, in the order of their bytes, with what they stand for; from the first if none is named. At most
    /// `most`.
    fn keys(&self, after: Option<String>, most: usize) -> StoreFuture<'_, Vec<SubmissionKeyClaim>>;

    /// Drops runs that ended before `runs`, and keys claimed before `keys`. Returns the dropped runs, so that their logs
    /// can go too; at most [`PAGE_MAX`] in one call, and fewer if they are large, so that nobody waits long behind it.
    /// When none is returned, none is left.
    fn prune(&self, runs: Time, keys: Time) -> StoreFuture<'_, Vec<RunId>>;
}
