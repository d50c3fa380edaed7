//! Registers workers, and processes reports of their end.

use std::collections::BTreeSet;

use super::decide::DecisionDraft;
use crate::engine::config::SLOTS_MAX;
use crate::engine::event::{self, LeaseEndKind};
use crate::engine::state::engine::Engine;
use crate::engine::state::lease::Lease;
use crate::engine::state::worker::WorkerStatus;
use crate::id::{Fence, Incarnation, WorkerId};
use crate::outcome::{Outcome, OutcomeKind};
use crate::planted_bugs::PlantedBug;
use crate::session::{
    FinishedAttempt, FormerIncarnationProof, OutcomeVerdict, RegisterReply, RegisterRequest,
    WorkerLocality, WorkerRefusal,
};
use crate::slab::{LeaseIx, WorkerIx};

impl Engine {
    pub(in crate::engine) fn register(
        &mut self,
        out: &mut DecisionDraft,
        mut register: RegisterRequest,
    ) -> Result<RegisterReply, WorkerRefusal> {
        let known = self.worker_ids.get(&register.worker).copied();
        if let Some(refusal) = self.register_refusal(&register, known) {
            return Err(refusal);
        }
        self.detect_lost_history(out, register.spooled.iter().map(|finished| finished.lease.fence));
        let mut verdicts = Vec::new();
        // Outcomes of a former incarnation come first: a lease that they end is not lost with that incarnation.
        if let Some(worker) = known {
            verdicts = self.judge_all(out, worker, &register.spooled);
            if register.incarnation > self.workers[worker].incarnation {
                self.refuse_parked(out, worker, WorkerRefusal::Superseded);
                out.ending = Some(register.worker);
                self.end_former_incarnations(out, worker, &register.former);
                out.ending = None;
            }
        }
        let (id, spooled) = (register.worker, std::mem::take(&mut register.spooled));
        if known.is_none_or(|worker| register.incarnation > self.workers[worker].incarnation) {
            let locality = self.accepted_locality(&register);
            let RegisterRequest { worker, name, incarnation, labels, slots, scope, .. } = register;
            self.emit(
                out,
                event::WorkerRegistered {
                    worker,
                    name,
                    incarnation,
                    labels,
                    slots,
                    locality,
                    scope,
                },
            );
        }
        if known.is_none() {
            verdicts = self.judge_all(out, self.worker_ids[&id], &spooled);
        }
        let interval = self.interval();
        Ok(RegisterReply { term: self.term, ttl: self.ttl, interval, verdicts })
    }

    /// Returns the place of a worker's process, as far as the engine believes the registration. Only the leader's own
    /// worker can share its process.
    fn accepted_locality(&self, register: &RegisterRequest) -> WorkerLocality {
        match register.locality {
            WorkerLocality::SharedFate if self.own == Some(register.worker) => register.locality,
            WorkerLocality::SameHost if self.config.same_host_workers => register.locality,
            WorkerLocality::SharedFate | WorkerLocality::SameHost | WorkerLocality::Apart => {
                WorkerLocality::Apart
            }
        }
    }

    fn judge_all(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        spooled: &[FinishedAttempt],
    ) -> Vec<(Fence, OutcomeVerdict)> {
        let mut verdicts = Vec::new();
        for finished in spooled {
            verdicts.push((finished.lease.fence, self.judge_outcome(out, worker, finished)));
        }
        verdicts
    }

    fn register_refusal(
        &self,
        register: &RegisterRequest,
        known: Option<WorkerIx>,
    ) -> Option<WorkerRefusal> {
        if !(1..=SLOTS_MAX).contains(&register.slots) {
            return Some(WorkerRefusal::BadSlots(register.slots));
        }
        if self.keys.is_revoked(register.worker) {
            return Some(WorkerRefusal::Revoked);
        }
        if let Some(worker) = known.map(|worker| &self.workers[worker]) {
            if register.incarnation < worker.incarnation {
                return Some(WorkerRefusal::Superseded);
            }
            if register.incarnation == worker.incarnation && worker.status == WorkerStatus::Ended {
                return Some(WorkerRefusal::Ended);
            }
        } else if self.workers.len() >= self.config.workers_max {
            return Some(WorkerRefusal::TooManyWorkers(self.workers.len()));
        }
        let by = self.live_worker_named(&register.name, register.worker)?;
        Some(WorkerRefusal::NameTaken { name: register.name.clone(), by })
    }

    /// Returns another live worker of this name.
    pub(in crate::engine) fn live_worker_named(
        &self,
        name: &str,
        not: WorkerId,
    ) -> Option<WorkerId> {
        let others = self.workers.iter().map(|(_, worker)| worker).filter(|it| it.id != not);
        others.filter(|it| it.is_live()).find(|it| &*it.name == name).map(|it| it.id)
    }

    /// Ends all leases of an incarnation, because a guard reports that no process of it is left. This also holds if a
    /// newer incarnation has registered.
    pub(in crate::engine) fn guard_ended(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerId,
        incarnation: Incarnation,
        started: &[Fence],
    ) -> Result<(), WorkerRefusal> {
        let Some(worker_ix) = self.worker_ids.get(&worker).copied() else {
            return Err(WorkerRefusal::NotRegistered);
        };
        // A revoked worker is not trusted when it reports that none of its processes is left: its locks would be free
        // too soon.
        let believed = self.config.bugs.on(PlantedBug::RevokedGuardBelieved);
        if self.keys.is_revoked(worker) && !believed {
            return Err(WorkerRefusal::Revoked);
        }
        let it = &self.workers[worker_ix];
        if incarnation > it.incarnation {
            return Err(WorkerRefusal::NotRegistered);
        }
        let (is_latest, status) = (incarnation == it.incarnation, it.status);
        if is_latest && status == WorkerStatus::Ended {
            return Ok(());
        }
        if is_latest {
            self.refuse_parked(out, worker_ix, WorkerRefusal::Ended);
        }
        out.ending = Some(worker);
        self.end_incarnation(out, worker_ix, incarnation, started);
        out.ending = None;
        if is_latest {
            self.emit(out, event::WorkerEnded { worker, incarnation });
        }
        Ok(())
    }

    /// Ends the leases of an incarnation: those that its guard had started are lost, the rest is released. A guard does not
    /// list a start that was judged. If the store has lost that verdict, an unlisted lease of an earlier term may have
    /// started, so it is lost too.
    fn end_incarnation(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        incarnation: Incarnation,
        started: &[Fence],
    ) {
        let started: BTreeSet<Fence> = started.iter().copied().collect();
        for lease in self.leases_by_fence(worker) {
            if self.leases[lease].incarnation != incarnation {
                continue;
            }
            let forgotten = self.embargo_until().is_some() && self.leases[lease].term != self.term;
            let was_started = forgotten || started.contains(&self.leases[lease].fence);
            let kind = if was_started { OutcomeKind::Lost } else { OutcomeKind::Released };
            self.end_lease(out, lease, Outcome::plain(kind), LeaseEndKind::GivenUp);
        }
    }

    /// Ends the leases of former incarnations when a new one registers. If a step must not run twice and nothing proves
    /// that the former incarnation is dead, its lease is not renewed any more and ends by time.
    fn end_former_incarnations(
        &mut self,
        out: &mut DecisionDraft,
        worker: WorkerIx,
        former: &FormerIncarnationProof,
    ) {
        let contact = self.workers[worker].contact;
        for lease_ix in self.leases_by_fence(worker) {
            let lease = &self.leases[lease_ix];
            if self.may_end_early(lease, former) {
                self.end_lease(
                    out,
                    lease_ix,
                    Outcome::plain(OutcomeKind::Lost),
                    LeaseEndKind::GivenUp,
                );
                continue;
            }
            // The former incarnation counts its deadline from its own last contact, not from that of the new one.
            let ends = lease.expires(contact);
            if !self.config.bugs.on(PlantedBug::FrozenForgotten) {
                self.leases[lease_ix].frozen = ends;
            }
        }
    }

    /// Returns whether a lease of a former incarnation may end before its time.
    fn may_end_early(&self, lease: &Lease, former: &FormerIncarnationProof) -> bool {
        let spec = self.runs[lease.run].spec(lease.step);
        let harmless = !spec.stops_on_lost_contact() && spec.retry.lost > 0;
        harmless
            || former.proves(lease.incarnation)
            || self.config.bugs.on(PlantedBug::NewIncarnationFreesLocks)
    }

    fn leases_by_fence(&self, worker: WorkerIx) -> Vec<LeaseIx> {
        let mut leases = self.workers[worker].leases.clone();
        leases.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        leases
    }

    /// Returns whether the current incarnation of the worker holds the lease.
    pub(in crate::engine) fn is_of_current_incarnation(&self, lease: LeaseIx) -> bool {
        let lease = &self.leases[lease];
        lease.incarnation == self.workers[lease.worker].incarnation
    }
}
