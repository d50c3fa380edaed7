//! The SQL statements that are run repeatedly, one operation each.

use rusqlite::types::Value;

use super::row::time_to_sql;
use crate::archive::{PAGE_MAX, RunQuery};
use crate::db::sql_number::{run_to_sql, to_sql};

/// Writes the row of a run, unless the archive has a history of the run that is at least as long.
pub(super) const WRITE_RUN: &str = "
    INSERT INTO runs
        (run, pipeline, status, submitted_at, ended_at, steps, events, last, workers, line_check)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (run) DO UPDATE SET
        pipeline = excluded.pipeline, status = excluded.status,
        submitted_at = excluded.submitted_at, ended_at = excluded.ended_at,
        steps = excluded.steps, events = excluded.events, last = excluded.last,
        workers = excluded.workers, line_check = excluded.line_check
    WHERE excluded.last > runs.last";

/// Writes a chunk of a run.
pub(super) const WRITE_CHUNK: &str = "
    INSERT INTO chunks (run, last, follows, events) VALUES (?1, ?2, ?3, ?4)";

/// Selects the row of a run.
pub(super) const RUN: &str = "SELECT * FROM runs WHERE run = ?1";

/// Selects the chunks of a run that end after a position, without a limit: the reader stops when it has enough.
pub(super) const CHUNKS: &str = "
    SELECT last, follows, events FROM chunks WHERE run = ?1 AND last > ?2 ORDER BY last";

/// Binds a key, unless it is bound already.
pub(super) const WRITE_KEY: &str = "
    INSERT INTO keys (key, body, run, at) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO NOTHING";

/// Selects the claim of a key.
pub(super) const KEY: &str = "SELECT body, run FROM keys WHERE key = ?1";

/// Selects keys after another one, in the order of their bytes.
pub(super) const KEYS: &str = "
    SELECT key, body, run, at FROM keys WHERE ?1 IS NULL OR key > ?1 ORDER BY key LIMIT ?2";

/// Selects the runs that ended first, before a time.
pub(super) const ENDED: &str = "
    SELECT * FROM runs WHERE ended_at < ?1 ORDER BY ended_at, run LIMIT ?2";

/// Deletes the chunks of a run.
pub(super) const DROP_CHUNKS: &str = "DELETE FROM chunks WHERE run = ?1";

/// Deletes the row of a run.
pub(super) const DROP_RUN: &str = "DELETE FROM runs WHERE run = ?1";

/// Deletes keys that were bound before a time, the oldest first.
pub(super) const DROP_KEYS: &str = "
    DELETE FROM keys WHERE key IN (SELECT key FROM keys WHERE at < ?1 ORDER BY at LIMIT ?2)";

/// Returns the statement for a page of runs. It contains only the requested filters and names their index, because SQLite
/// has no statistics and would guess.
///
/// Ids grow with the time of submission, but each client has a clock of its own. So `since` does not end the page at the
/// first older run: it looks up the first run that is not older, and the page ends there.
pub(super) fn runs(query: &RunQuery) -> (String, Vec<Value>) {
    let mut conditions: Vec<&str> = Vec::new();
    let mut values: Vec<Value> = Vec::new();
    let mut demand = |condition, value| {
        conditions.push(condition);
        values.push(value);
    };
    if let Some(before) = query.before {
        demand("run < ?", run_to_sql(before).into());
    }
    if let Some(pipeline) = &query.pipeline {
        demand("pipeline = ?", pipeline.clone().into());
    }
    if let Some(status) = query.status {
        demand("status = ?", status.to_string().into());
    }
    if let Some(since) = query.since.map(time_to_sql) {
        demand(FIRST_SINCE, since.into());
        demand("submitted_at >= ?", since.into());
    }
    let index = index(query.pipeline.is_some(), query.status.is_some());
    let filter = if conditions.is_empty() { "true" } else { &conditions.join(" AND ") };
    values.push(to_sql(query.most.min(PAGE_MAX) as u64).into());
    (format!("SELECT * FROM runs {index} WHERE {filter} ORDER BY run DESC LIMIT ?"), values)
}

const FIRST_SINCE: &str = "run >= (
    SELECT min(run) FROM runs INDEXED BY runs_by_submission WHERE submitted_at >= ?)";

const fn index(pipeline: bool, status: bool) -> &'static str {
    match (pipeline, status) {
        (false, false) => "NOT INDEXED",
        (true, false) => "INDEXED BY runs_by_pipeline",
        (false, true) => "INDEXED BY runs_by_status",
        (true, true) => "INDEXED BY runs_by_pipeline_and_status",
    }
}

/// All constant statements, for the test that prepares each.
#[cfg(test)]
pub(super) const ALL: [&str; 11] = [
    WRITE_RUN,
    WRITE_CHUNK,
    RUN,
    CHUNKS,
    WRITE_KEY,
    KEY,
    KEYS,
    ENDED,
    DROP_CHUNKS,
    DROP_RUN,
    DROP_KEYS,
];
