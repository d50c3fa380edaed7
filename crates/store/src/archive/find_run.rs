//! The run that a person means.

use windlass_core::id::RunId;

use super::interface::{Archive, PAGE_MAX, RunQuery};
use crate::db::StoreError;

/// Runs that are named to somebody whose beginning of an id fits several.
const CANDIDATES_MAX: usize = 5;

/// Why a run was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindRunError {
    /// There are no runs at all.
    #[error("there are no runs yet: `windlass run` makes one")]
    NoRuns,
    /// None is called so.
    #[error("there is no run `{0}`: `windlass runs` lists them")]
    NoSuchRun(String),
    /// Several are.
    #[error("`{text}` is the beginning of several runs: {}", candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    Ambiguous {
        /// What was asked for.
        text: String,
        /// What it may mean.
        candidates: Vec<RunId>,
    },
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Finds `latest`, an id, or the beginning of one, among runs that are open and those that the archive has: of the
/// latter the newest page, older ones are to be named in full.
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
    // A run that ended a moment ago may be in both.
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
