//! Runs and times as SQLite keeps them.

use rusqlite::Row;
use rusqlite::types::Type;
use windlass_core::time::Time;

use crate::archive::{RunRecord, words};
use crate::store::number::{run_of_sql, to_sql};

pub(super) fn time_to_sql(time: Time) -> i64 {
    to_sql(time.as_millis())
}

/// The line of a run. The table has checks for what must not be negative.
pub(super) fn record(row: &Row<'_>) -> rusqlite::Result<RunRecord> {
    let time = |name| row.get::<_, i64>(name).map(|at| Time::from_millis(at.cast_unsigned()));
    Ok(RunRecord {
        run: run_of_sql(row.get("run")?),
        pipeline: row.get("pipeline")?,
        status: read(row, "status", words::status)?,
        submitted_at: time("submitted_at")?,
        ended_at: time("ended_at")?,
        steps: row.get("steps")?,
        workers: read(row, "workers", words::workers)?,
    })
}

/// A word that means nothing is damage.
fn read<T>(
    row: &Row<'_>,
    name: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> rusqlite::Result<T> {
    let text: String = row.get(name)?;
    read(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, error.into()))
}
