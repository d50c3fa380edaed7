//! Condemns a run whose events the engine cannot apply.
//!
//! This command does not apply events; it only looks for the run's id in the journal. It leads the store meanwhile, so that no
//! controller continues with a state that contains the run.

use std::collections::BTreeSet;

use windlass_core::engine::{Event, event};
use windlass_core::id::RunId;
use windlass_core::time::Span;
use windlass_store::db::StoreError;
use windlass_store::journal::{CampaignOutcome, Journal, LeaderCandidate, Position, SqliteJournal};

use super::address::StoreAddress;
use super::stores::Stores;

/// The term of this command. If the command is killed, the store can be led again after it.
const TERM: Span = Span::secs(30);

/// Events per read.
const PAGE: usize = 4_096;

/// Why no run was condemned.
#[derive(Debug, thiserror::Error)]
pub enum CondemnError {
    /// The store does not exist.
    #[error("there is no store in {place}")]
    Missing {
        /// The store.
        place: String,
    },
    /// A controller leads the store, so its events can be applied.
    #[error(
        "the store {place} is led by {node}, which has applied the run: end it with `windlass cancel {run} --kill`, or stop {node} first"
    )]
    Led {
        /// The store.
        place: String,
        /// The controller.
        node: String,
        /// The run, as named in the request.
        run: String,
    },
    /// No run in the journal has this id.
    #[error(
        "no run {run} is in the journal of {place}: sealed runs are in the archive and are never applied; name the run by its id or the beginning of its id"
    )]
    NoSuchRun {
        /// The store.
        place: String,
        /// The run, as named in the request.
        run: String,
    },
    /// Several ids begin with this text.
    #[error("{run} is the beginning of {count} runs in {place}: name more of the id")]
    Ambiguous {
        /// The store.
        place: String,
        /// The run, as named in the request.
        run: String,
        /// The number of runs.
        count: usize,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Condemns the run with this id or unique prefix and returns its id. The next start of a controller ends it as failed.
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
    // A term that is not given up expires.
    drop(journal.resign(term).await);
    condemned
}

/// Finds the run among those in the journal that are not sealed.
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

/// The runs that were submitted or resumed and not sealed. The journal still contains the first of these events of each.
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
        after = last.position();
        for recorded in page.iter().flat_map(|batch| &batch.events) {
            match &recorded.event {
                Event::RunSubmitted(event::RunSubmitted { run, .. })
                | Event::RunResumed(event::RunResumed { run, .. }) => drop(open.insert(*run)),
                Event::RunSealed(event::RunSealed { run }) => drop(open.remove(run)),
                _ => {}
            }
        }
    }
}
