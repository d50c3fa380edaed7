//! Where a worker stands, as its reader is told: what the journal knows, and whether it is silent just now.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state_report::{LeaseReport, WorkerReport};
use crate::engine::WorkerContacts;
use crate::engine::state::engine::Engine;
use crate::engine::state::worker::WorkerStatus;
use crate::id::WorkerId;
use crate::time::Time;
use crate::word_set;

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

word_set!(WorkerContactStatus {
    Online => "online",
    Stale => "stale",
    Draining => "draining",
    Lost => "lost",
    Ended => "ended",
});

impl fmt::Display for WorkerContactStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl WorkerReport<'_> {
    /// Where it stands, if these workers are silent ([`EngineRequest::Contacts`](crate::engine::EngineRequest::Contacts)).
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

impl Engine {
    /// When an open lease ends unless its worker is heard before that; `None` if it does not end by time. One that was
    /// told to stop for long may end earlier: only the leader knows that.
    pub fn expires(&self, lease: &LeaseReport<'_>, contacts: &WorkerContacts) -> Option<Time> {
        let worker = &self.workers[*self.worker_ids.get(&lease.worker)?];
        let run = &self.runs[*self.run_ids.get(&lease.run)?];
        let lease = self.leases.get(run.steps.get(lease.step.0 as usize)?.lease?)?;
        let contact = contacts.last_contact(worker.id).unwrap_or_default();
        worker.leases_expire().then(|| lease.expires(contact))
    }
}
