//! The status of a worker for readers: the status in the journal, and whether the worker is silent at the moment.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::state_report::{LeaseReport, WorkerReport};
use crate::engine::WorkerContacts;
use crate::engine::state::engine::Engine;
use crate::engine::state::worker::WorkerStatus;
use crate::id::WorkerId;
use crate::time::Time;
use crate::word_set;

/// The status of a worker, as every list of workers shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerContactStatus {
    /// The worker is in contact and gets leases.
    Online,
    /// Two exchanges are overdue. The worker keeps its leases until the lease duration has passed, and is lost then.
    Stale,
    /// The worker is in contact, finishes its leases and gets no more.
    Draining,
    /// The leader had no contact with the worker for one lease duration.
    Lost,
    /// The worker's guard reported its end.
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
    /// Returns the status, given the silent workers
    /// ([`EngineRequest::Contacts`](crate::engine::EngineRequest::Contacts)).
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
    /// Returns when an open lease ends unless its worker makes contact; `None` if it does not end by time. A lease that
    /// was ordered to stop long ago may end earlier, which only the leader knows.
    pub fn expires(&self, lease: &LeaseReport<'_>, contacts: &WorkerContacts) -> Option<Time> {
        let worker = &self.workers[*self.worker_ids.get(&lease.worker)?];
        let run = &self.runs[*self.run_ids.get(&lease.run)?];
        let lease = self.leases.get(run.steps.get(lease.step.0 as usize)?.lease?)?;
        let contact = contacts.last_contact(worker.id).unwrap_or_default();
        if worker.leases_expire() { lease.expires(contact) } else { None }
    }
}
