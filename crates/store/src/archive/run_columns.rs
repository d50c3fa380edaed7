//! The text columns of the row of a run.

use windlass_core::id::WorkerId;
use windlass_core::outcome::RunStatus;

#[cfg(feature = "sqlite")]
use super::interface::RunRecord;
#[cfg(feature = "sqlite")]
use crate::journal::Position;

/// Parses the status of an archived run.
pub(super) fn parse_status(word: &str) -> Result<RunStatus, String> {
    let mut at_rest = RunStatus::ALL.into_iter().filter(|status| status.is_at_rest());
    let end = at_rest.find(|status| status.word() == word);
    end.ok_or_else(|| format!("status {word}"))
}

/// Formats the workers of a run: a list of numbers and names, in JSON.
pub(super) fn workers_to_json(workers: &[(WorkerId, String)]) -> String {
    serde_json::json!(workers).to_string()
}

/// Returns a checksum of the record of a run, the number of its events and the position of the last one.
#[cfg(feature = "sqlite")]
pub(super) fn row_checksum(record: &RunRecord, events: u64, last: Position) -> [u8; 8] {
    let RunRecord { run, pipeline, status, submitted_at, ended_at, steps, workers } = record;
    let times = [submitted_at.as_millis(), ended_at.as_millis()];
    let line = serde_json::json!([
        run.0,
        pipeline,
        status.to_string(),
        times,
        steps,
        workers,
        events,
        last.0
    ]);
    let hash = blake3::hash(line.to_string().as_bytes());
    hash.as_bytes()[..8].try_into().expect("a BLAKE3 hash is longer")
}

/// Parses the workers of a run.
pub(super) fn workers_from_json(words: &str) -> Result<Vec<(WorkerId, String)>, String> {
    serde_json::from_str(words).map_err(|error| format!("workers that cannot be read: {error}"))
}
