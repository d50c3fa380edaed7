//! What the line of a run says in words, in the tables of a database.

use windlass_core::id::WorkerId;
use windlass_core::outcome::RunStatus;

/// How a run ended, as its word says.
pub(super) fn status(word: &str) -> Result<RunStatus, String> {
    const ENDS: [RunStatus; 3] = [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled];
    let end = ENDS.into_iter().find(|end| end.to_string() == word);
    end.ok_or_else(|| format!("status {word}"))
}

/// The workers of a run: a list of numbers and names, in JSON.
pub(super) fn of_workers(workers: &[(WorkerId, String)]) -> String {
    serde_json::json!(workers).to_string()
}

/// The workers that such words mean.
pub(super) fn workers(words: &str) -> Result<Vec<(WorkerId, String)>, String> {
    serde_json::from_str(words).map_err(|error| format!("workers that cannot be read: {error}"))
}
