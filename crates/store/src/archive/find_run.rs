//! Finds a run by `latest`, its id, or the beginning of its id.

use windlass_core::id::RunId;

use super::interface::{Archive, PAGE_MAX, RunQuery};
use crate::db::StoreError;

/// Maximum runs that the error for an ambiguous id lists.
const CANDIDATES_MAX: usize = 5;

/// The reason why a run was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindRunError {
    /// There are no runs.
    #[error("there are no runs yet: `windlass run` creates one")]
    NoRuns,
    /// No run has this id.
    #[error("there is no run `{0}`: `windlass runs` lists them")]
    NoSuchRun(String),
    /// Several runs have an id with this beginning.
    #[error("`{text}` is the beginning of several runs: {}", candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        /// The requested id.
        text: String,
        /// The matching runs.
        candidates: Vec<RunId>,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds a run by `latest`, its id, or the beginning of its id, among open runs and the newest page of the archive. Older
/// runs need the full id.
pub async fn find_run(
    text: &str,
    open: &[RunId],
    archive: &dyn Archive,
) -> Result<RunId, FindRunError> {
    if text == "latest" {
        let page = archive.runs(RunQuery { most: 1, ..RunQuery::default() }).await?;
        let sealed = page.first().map(|record| record.run);
        return sealed.max(open.iter().max().copied()).ok_or(FindRunError::NoRuns);
    }
    if let Some(run) = RunId::parse(text)
        && (open.contains(&run) || archive.run(run).await?.is_some())
    {
        return Ok(run);
    }
    let page = archive.runs(RunQuery { most: PAGE_MAX, ..RunQuery::default() }).await?;
    let all = open.iter().copied().chain(page.iter().map(|record| record.run));
    let mut candidates: Vec<RunId> = all.filter(|run| id_starts_with(*run, text)).collect();
    candidates.sort_unstable();
    // A run that has just ended may be in both.
    candidates.dedup();
    match candidates.as_slice() {
        [] => Err(FindRunError::NoSuchRun(text.to_owned())),
        [run] => Ok(*run),
        _ => {
            candidates.truncate(CANDIDATES_MAX);
            Err(FindRunError::Ambiguous { text: text.to_owned(), candidates })
        }
    }
}

fn id_starts_with(run: RunId, text: &str) -> bool {
    !text.is_empty() && run.to_string().starts_with(&text.to_lowercase())
}
