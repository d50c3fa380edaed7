//! Events about tokens and worker credentials.

use super::ApplyError;
use crate::access::{AuditEntry, Principal, WorkerCredential};
use crate::engine::event::{Acted, WorkerEnrolled};
use crate::engine::state::engine::Engine;
use crate::id::{TokenId, WorkerId};

impl Engine {
    pub(super) fn apply_worker_enrolled(
        &mut self,
        event: &WorkerEnrolled,
    ) -> Result<(), ApplyError> {
        let WorkerEnrolled { worker: id, digest, by } = event;
        let name = self.workers[self.worker_ix(*id)?].name.clone();
        let (digest, by, since) = (Some(*digest), by.clone(), self.now);
        let enrolment = WorkerCredential { name, digest, by, since, revoked: None };
        let known = &self.worker_ids;
        self.keys.enrol(*id, enrolment, |worker| known.contains_key(&worker));
        Ok(())
    }

    /// The worker gets no more leases. Its leases end by time, as those of any worker without contact.
    pub(in crate::engine) fn worker_revoked(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let known = self.worker_ids.get(&id).copied();
        if !self.keys.revoke_worker(id, self.now) {
            // It joined before credentials were kept.
            let name = self.workers[self.worker_ix(id)?].name.clone();
            let (by, since, revoked) = (Principal::Local, self.now, Some(self.now));
            let enrolment = WorkerCredential { name, digest: None, by, since, revoked };
            let known = &self.worker_ids;
            self.keys.enrol(id, enrolment, |worker| known.contains_key(&worker));
        }
        if known.is_some() { self.worker_drained(id) } else { Ok(()) }
    }

    pub(super) fn apply_acted(&mut self, event: &Acted) {
        let Acted { by, act, about } = event.clone();
        self.acts.push(AuditEntry { at: self.now, by, act, about });
    }

    pub(in crate::engine) fn token_revoked(&mut self, id: TokenId) -> Result<(), ApplyError> {
        if self.keys.revoke(id, self.now) { Ok(()) } else { Err(ApplyError::NoToken(id)) }
    }
}
