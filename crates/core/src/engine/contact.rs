//! Where a worker stands, as its reader is told: what the journal knows, and whether it is silent just now.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state::Engine;
use super::state_report::{LeaseReport, WorkerReport};
use super::worker::{Worker, WorkerStatus};
use crate::id::WorkerId;
use crate::time::Time;

/// Exchanges that a worker may leave out before it is called stale. One may be late or lost without meaning anything.
const MISSED_EXCHANGES_MAX: u64 = 2;

/// Where a worker stands, in the words of every list of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerContactStatus {
    /// It is heard and gets leases.
    Online,
    /// Two of its exchanges are overdue. It keeps what it holds until a TTL has passed, and is lost then.
    Stale,
    /// It is heard, finishes what it has and gets no more.
    Draining,
    /// It was not heard for a TTL.
    Lost,
    /// Its guard reported its end, or a newer life of it.
    Ended,
}

impl fmt::Display for WorkerContactStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Online => "online",
            Self::Stale => "stale",
            Self::Draining => "draining",
            Self::Lost => "lost",
            Self::Ended => "ended",
        })
    }
}

impl WorkerReport<'_> {
    /// Where it stands, if these workers are silent ([`Request::Silent`](super::EngineRequest::Contacts)).
    pub fn contact_status(&self, silent: &[WorkerId]) -> WorkerContactStatus {
        match self.status {
            WorkerStatus::Online | WorkerStatus::Draining if silent.contains(&self.id) => {
                WorkerContactStatus::Stale
            }
            WorkerStatus::Online => WorkerContactStatus::Online,
            WorkerStatus::Draining => WorkerContactStatus::Draining,
            WorkerStatus::Lost => WorkerContactStatus::Lost,
            WorkerStatus::Ended => WorkerContactStatus::Ended,
        }
    }
}

/// When workers were heard. Only the leader's own engine knows: it is in no event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerContacts {
    /// Workers that count as live and were not heard for more than two intervals, by number.
    pub silent: Vec<WorkerId>,
    /// When this leader last heard each, or took over if it has not, by number.
    pub heard: Vec<(WorkerId, Time)>,
}

impl WorkerContacts {
    /// When a worker was last heard.
    pub fn last_contact(&self, worker: WorkerId) -> Option<Time> {
        let found = self.heard.binary_search_by_key(&worker, |(known, _)| *known);
        found.ok().map(|at| self.heard[at].1)
    }
}

impl Engine {
    /// When an open lease ends unless its worker is heard before that; `None` if it does not end by time. One that was
    /// told to stop for long may end earlier: only the leader knows that.
    pub fn expires(&self, lease: &LeaseReport<'_>, contacts: &WorkerContacts) -> Option<Time> {
        let worker = &self.workers[*self.worker_ids.get(&lease.worker)?];
        let run = &self.runs[*self.run_ids.get(&lease.run)?];
        let lease = self.leases.get(run.steps.get(lease.step.0 as usize)?.lease)?;
        let contact = contacts.last_contact(worker.id).unwrap_or_default();
        worker.leases_expire().then(|| lease.expires(contact))
    }

    /// When workers were heard, and who is silent.
    pub(super) fn contacts(&self) -> WorkerContacts {
        let patience = self.interval().times(MISSED_EXCHANGES_MAX);
        let silent = |it: &&Worker| {
            it.is_live() && it.leases_expire() && self.now.since(it.contact) > patience
        };
        let workers = || self.worker_ids.values().map(|worker| &self.workers[*worker]);
        WorkerContacts {
            silent: workers().filter(silent).map(|it| it.id).collect(),
            heard: workers().map(|it| (it.id, it.contact)).collect(),
        }
    }
}
