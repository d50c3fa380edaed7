//! Runs and times as SQLite keeps them.

use rusqlite::Row;
use rusqlite::types::Type;
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use crate::archive::RunRecord;

/// The top bit of an id, which SQLite takes for a sign.
const TOP: u64 = 1 << 63;

/// How ids are kept: in their order, though numbers are signed there.
pub(super) fn run_to_sql(run: RunId) -> i64 {
    (run.0 ^ TOP).cast_signed()
}

pub(super) fn run_of_sql(number: i64) -> RunId {
    RunId(number.cast_unsigned() ^ TOP)
}

/// A position, a time or a number of things. What lies beyond SQLite's numbers lies beyond all that there are.
pub(super) fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn time_to_sql(time: Time) -> i64 {
    to_sql(time.as_millis())
}

/// The line of a run. The table has checks for what must not be negative.
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    let time = |name| row.get::<_, i64>(name).map(|at| Time::from_millis(at.cast_unsigned()));
    Ok(RunRecord {
        run: run_of_sql(row.get("run")?),
        pipeline: row.get("pipeline")?,
        status: status(row)?,
        submitted_at: time("submitted_at")?,
        ended_at: time("ended_at")?,
        steps: row.get("steps")?,
        workers: workers(row)?,
    })
}

fn workers(row: &Row<'_>) -> rusqlite::Result<Vec<(WorkerId, String)>> {
    let text: String = row.get("workers")?;
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into()))
}

/// The workers of a run as text.
pub(super) fn workers_to_sql(workers: &[(WorkerId, String)]) -> String {
    serde_json::json!(workers).to_string()
}

fn status(row: &Row<'_>) -> rusqlite::Result<RunStatus> {
    const ENDS: [RunStatus; 3] = [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled];
    let text: String = row.get("status")?;
    let end = ENDS.into_iter().find(|end| end.to_string() == text);
    end.ok_or_else(|| rusqlite::Error::InvalidColumnType(0, format!("status {text}"), Type::Text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_order_in_sqlite() {
        let ids = [0, 1, RunId::new(1_790_000_000_000, 5).0, TOP - 1, TOP, u64::MAX];
        let kept = ids.map(|id| run_to_sql(RunId(id)));
        assert!(kept.is_sorted(), "{kept:?}");
        assert_eq!(kept.map(run_of_sql), ids.map(RunId));
    }
}
