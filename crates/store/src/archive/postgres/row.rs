//! The row of a run.

use tokio_postgres::Row;
use windlass_core::time::Time;

use crate::archive::{RunRecord, run_columns};
use crate::db::sql_number::run_from_sql;

/// Reads the record of a run, or describes the error. The table checks that numbers are not negative.
pub(super) fn record(row: &Row) -> Result<RunRecord, String> {
    let time = |name| Time::from_millis(row.get::<_, i64>(name).cast_unsigned());
    Ok(RunRecord {
        run: run_from_sql(row.get("number")),
        pipeline: row.get("pipeline"),
        status: run_columns::parse_status(row.get("status"))?,
        submitted_at: time("submitted_ms"),
        ended_at: time("ended_ms"),
        steps: u32::try_from(row.get::<_, i64>("steps")).map_err(|error| error.to_string())?,
        workers: run_columns::workers_from_json(row.get("workers"))?,
    })
}
