//! The rows of runs in SQLite.

use rusqlite::Row;
use rusqlite::types::Type;
use windlass_core::time::Time;

use crate::archive::{RunRecord, run_columns};
use crate::db::sql_number::{run_from_sql, to_sql};
use crate::journal::Position;

pub(super) fn time_to_sql(time: Time) -> i64 {
    to_sql(time.as_millis())
}

/// A row of a run.
pub(super) struct ArchivedRunRow {
    pub(super) record: RunRecord,
    /// The number of its events.
    pub(super) events: u64,
    /// The position of its last event.
    pub(super) last: Position,
}

impl ArchivedRunRow {
    /// Reads the row, unless a byte of it has changed. The table checks that numbers are not negative.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let number = |name| row.get::<_, i64>(name).map(i64::cast_unsigned);
        let time = |name| number(name).map(Time::from_millis);
        let record = RunRecord {
            run: run_from_sql(row.get("run")?),
            pipeline: row.get("pipeline")?,
            status: read(row, "status", run_columns::parse_status)?,
            submitted_at: time("submitted_at")?,
            ended_at: time("ended_at")?,
            steps: row.get("steps")?,
            workers: read(row, "workers", run_columns::workers_from_json)?,
        };
        let (events, last) = (number("events")?, Position(number("last")?));
        if row.get::<_, Vec<u8>>("line_check")? != run_columns::row_checksum(&record, events, last)
        {
            let what = format!("run {}: its row does not match its checksum", record.run);
            return Err(damaged(what));
        }
        Ok(Self { record, events, last })
    }
}

/// Returns the error for a word without a meaning.
fn read<T>(
    row: &Row<'_>,
    name: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> rusqlite::Result<T> {
    let text: String = row.get(name)?;
    read(&text).map_err(damaged)
}

fn damaged(what: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, what.into())
}
