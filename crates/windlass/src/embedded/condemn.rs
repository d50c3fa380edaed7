//! Condemns a run in a store that cannot be folded with it.
//!
//! Nothing is folded here: the journal is read for the run's name only. The store is led meanwhile, so that no controller
//! goes on with a state that has the run in it.

use std::collections::BTreeSet;

use windlass_core::engine::Event;
use windlass_core::id::RunId;
use windlass_core::time::Span;
use windlass_store::db::StoreError;
use windlass_store::journal::{CampaignOutcome, Journal, LeaderCandidate, Position, SqliteJournal};

use super::address::StoreAddress;
use super::stores::Stores;

/// How long a term lasts unless it is given back: if the command is killed, the store can be led after it.
const TERM: Span = Span::secs(30);

/// Events that are read at once.
const PAGE: usize = 4_096;

/// Why no run was condemned.
#[derive(Debug, thiserror::Error)]
pub enum CondemnError {
    /// There is no store.
    #[error("there is no store in {place}")]
    Missing {
        /// Where it was looked for.
        place: String,
    },
    /// A controller leads the store, so it can be folded.
    #[error(
        "the store {place} is led by {node}, which has applied the run: end it with `windlass cancel {run} --kill`, or stop {node} first"
    )]
    Led {
        /// Which store.
        place: String,
        /// The controller.
        node: String,
        /// The run as it was named.
        run: String,
    },
    /// No run that is not sealed has such an id.
    #[error(
        "no run {run} is in the journal of {place}: sealed runs are in the archive and are never applied; name the run by its id or the beginning of its id"
    )]
    NoSuchRun {
        /// Which store.
        place: String,
        /// The run as it was named.
        run: String,
    },
    /// Several runs have ids that begin so.
    #[error("{run} is the beginning of {count} runs in {place}: name more of the id")]
    Ambiguous {
        /// Which store.
        place: String,
        /// The run as it was named.
        run: String,
        /// How many.
        count: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Condemns the run with this id, or whose id begins so, and returns it. The next start fails it.
pub async fn condemn(address: &StoreAddress, run: &str) -> Result<RunId, CondemnError> {
    let place = address.to_string();
    if address.folder().is_some_and(|folder| !SqliteJournal::exists(folder)) {
        return Err(CondemnError::Missing { place });
    }
    let journal = Stores::at(address, TERM).await?.journal;
    let candidate = LeaderCandidate { node: "windlass store condemn".to_owned(), address: None };
    let term = match journal.campaign_patiently(candidate).await? {
        CampaignOutcome::Won(won) => won.term,
        CampaignOutcome::LedBy { node, .. } => {
            return Err(CondemnError::Led { place, node, run: run.to_owned() });
        }
    };
    let found = find_run(&*journal, &place, run).await;
    let condemned = match found {
        Ok(run) => journal.condemn(term, run).await.map(|()| run).map_err(Into::into),
        Err(error) => Err(error),
    };
    // A term that is not given back ends by itself.
    drop(journal.resign(term).await);
    condemned
}

/// The run that is meant, among those that a fold would build.
async fn find_run(journal: &dyn Journal, place: &str, run: &str) -> Result<RunId, CondemnError> {
    let wanted = run.to_ascii_lowercase();
    let open = open_runs(journal).await?;
    let mut meant: Vec<RunId> =
        open.into_iter().filter(|open| open.to_string().starts_with(&wanted)).collect();
    if let Some(exact) = meant.iter().position(|open| open.to_string() == wanted) {
        return Ok(meant.swap_remove(exact));
    }
    let (place, run) = (place.to_owned(), run.to_owned());
    match *meant {
        [one] => Ok(one),
        [] => Err(CondemnError::NoSuchRun { place, run }),
        _ => Err(CondemnError::Ambiguous { place, run, count: meant.len() }),
    }
}

/// Runs that were submitted and not sealed. The journal has the beginning of each: nothing before it is pruned.
async fn open_runs(journal: &dyn Journal) -> Result<BTreeSet<RunId>, StoreError> {
    let mut open = BTreeSet::new();
    let mut after = Position(0);
    loop {
        let page = match journal.tail(after, PAGE).await {
            Err(StoreError::Pruned { upto }) if upto > after => {
                after = upto;
                continue;
            }
            page => page?,
        };
        let Some(last) = page.last() else { return Ok(open) };
        after = last.position;
        for recorded in page.iter().flat_map(|batch| &batch.events) {
            match &recorded.event {
                Event::RunSubmitted { run, .. } => drop(open.insert(*run)),
                Event::RunSealed { run } => drop(open.remove(run)),
                _ => {}
            }
        }
    }
}
