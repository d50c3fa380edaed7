//! Events about leaders and workers.

use std::collections::BTreeMap;

use super::ApplyError;
use crate::engine::event::{Led, WorkerEnded, WorkerRegistered};
use crate::engine::state::engine::Engine;
use crate::engine::state::timer::EngineTimer;
use crate::engine::state::worker::{Worker, WorkerStatus};
use crate::id::WorkerId;
use crate::planted_bugs::PlantedBug;
use crate::session::{LeaderSession, WorkerLocality};
use crate::slab::WorkerIx;
use crate::time::Time;

impl Engine {
    /// Applies a takeover. Leases of earlier terms must be presented, and every worker must make contact, within one
    /// lease duration.
    pub(super) fn apply_led(&mut self, event: &Led) {
        let &Led { term, ttl, generation, own, embargo, .. } = event;
        // A leader takes over from itself when it learns of lost history.
        self.loss_noticed = term == self.term;
        (self.term, self.ttl, self.generation) = (term, ttl, generation);
        (self.own, self.led_at) = (own, self.now);
        self.embargo_begins(embargo);
        for lease in self.leases.indices() {
            let lease = &mut self.leases[lease];
            if lease.led_since.is_none() || self.config.bugs.on(PlantedBug::GracePerTakeover) {
                lease.led_since = Some(self.now);
            }
            if self.config.bugs.on(PlantedBug::TakeoverUsesOwnTtl) {
                lease.ttl = ttl;
            }
        }
        for worker in self.workers.indices() {
            self.workers[worker].contact = self.now;
            // The worker shared the process of a former leader. From now on its leases end by time.
            let it = &mut self.workers[worker];
            if it.locality == WorkerLocality::SharedFate && own != Some(it.id) {
                it.locality = WorkerLocality::Apart;
            }
            let id = self.workers[worker].id;
            if own != Some(id) && self.config.bugs.on(PlantedBug::TakeoverInterrupts) {
                self.halt_runs_of(id, None);
            }
            self.join_classes(worker);
            self.watch_worker(worker);
            if self.workers[worker].drained {
                self.request_all_back(worker);
            }
        }
    }

    pub(super) fn apply_worker_registered(&mut self, event: &WorkerRegistered) {
        let WorkerRegistered { worker: id, name, incarnation, labels, slots, locality, scope } =
            event;
        self.met_others |= *locality == WorkerLocality::Apart;
        let worker = Worker {
            id: *id,
            name: name.clone(),
            incarnation: *incarnation,
            labels: labels.clone(),
            slots: *slots,
            locality: *locality,
            scope: *scope,
            status: WorkerStatus::Online,
            drained: false,
            since: self.now,
            leases: Vec::new(),
            former: 0,
            classes: Vec::new(),
            kinds: BTreeMap::new(),
            timer: None,
            peer: LeaderSession::default(),
            contact: self.now,
            stops_sent: BTreeMap::new(),
            want: 0,
            park_until: Time::ZERO,
            pace_us: 0,
        };
        let worker_ix = match self.worker_ids.get(id).copied() {
            Some(known) => {
                self.leave_classes(known);
                self.unwatch_worker(known);
                self.parked.remove(&known);
                self.ahead.remove(&known);
                let former = std::mem::replace(&mut self.workers[known], worker);
                let it = &mut self.workers[known];
                // Leases that are still open belong to incarnations that are not proven to have ended.
                it.former = former.open_of_all_incarnations();
                (it.leases, it.kinds) = (former.leases, former.kinds);
                known
            }
            None => self.workers.insert(worker),
        };
        self.worker_ids.insert(*id, worker_ix);
        self.join_classes(worker_ix);
        self.watch_worker(worker_ix);
        self.halt_runs_of(*id, Some(*incarnation));
    }

    pub(super) fn apply_worker_ended(&mut self, event: &WorkerEnded) -> Result<(), ApplyError> {
        self.worker_became(event.worker, WorkerStatus::Ended)?;
        self.halt_runs_of(event.worker, None);
        Ok(())
    }

    pub(in crate::engine) fn worker_became(
        &mut self,
        id: WorkerId,
        status: WorkerStatus,
    ) -> Result<(), ApplyError> {
        let worker = self.worker_ix(id)?;
        self.workers[worker].status = status;
        self.workers[worker].since = self.now;
        self.workers[worker].peer.unpark();
        self.parked.remove(&worker);
        self.join_classes(worker);
        self.watch_worker(worker);
        Ok(())
    }

    pub(in crate::engine) fn worker_returned(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let drained = self.workers[self.worker_ix(id)?].drained;
        self.worker_became(id, if drained { WorkerStatus::Draining } else { WorkerStatus::Online })
    }

    pub(in crate::engine) fn worker_drained(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let worker = self.worker_ix(id)?;
        self.workers[worker].drained = true;
        if self.workers[worker].status == WorkerStatus::Online {
            self.workers[worker].status = WorkerStatus::Draining;
            self.join_classes(worker);
        }
        Ok(())
    }

    pub(in crate::engine) fn worker_forgotten(&mut self, id: WorkerId) -> Result<(), ApplyError> {
        let worker = self.worker_ix(id)?;
        self.leave_classes(worker);
        self.unwatch_worker(worker);
        self.workers.remove(worker);
        self.worker_ids.remove(&id);
        self.halt_runs_of(id, None);
        self.ahead.remove(&worker);
        self.parked.remove(&worker);
        self.notify.remove(&worker);
        Ok(())
    }

    /// Sets the time at which the engine notices that a worker is silent.
    pub(in crate::engine) fn watch_worker(&mut self, worker: WorkerIx) {
        self.unwatch_worker(worker);
        let it = &self.workers[worker];
        let at = match it.status {
            WorkerStatus::Online | WorkerStatus::Draining if !it.leases_expire() => {
                let Some(at) = self.former_incarnations_end(worker) else { return };
                at
            }
            WorkerStatus::Online | WorkerStatus::Draining => self.silence_ends(worker),
            WorkerStatus::Lost | WorkerStatus::Ended => self.next_loss_deadline(worker),
        };
        self.workers[worker].timer = Some(at);
        self.timers.set(at, EngineTimer::Contact(worker));
    }

    pub(in crate::engine) fn unwatch_worker(&mut self, worker: WorkerIx) {
        if let Some(at) = self.workers[worker].timer.take() {
            self.timers.clear(at, EngineTimer::Contact(worker));
        }
    }

    /// Returns when the first lease of a lost worker ends, or when the worker itself is to be dropped.
    pub(in crate::engine) fn next_loss_deadline(&self, worker: WorkerIx) -> Time {
        let it = &self.workers[worker];
        let leases = it.leases.iter().filter_map(|lease| self.leases[*lease].expires(it.contact));
        let forgotten = it.since + self.config.forget_after;
        let stays = !it.leases.is_empty() && forgotten <= self.now;
        // A lease that does not end by time keeps the worker, which is looked at again later.
        let ends = if stays { self.now + self.config.forget_after } else { forgotten };
        leases.min().unwrap_or(ends)
    }

    /// Returns when the first lease of a worker's former incarnations ends.
    pub(in crate::engine) fn former_incarnations_end(&self, worker: WorkerIx) -> Option<Time> {
        let it = &self.workers[worker];
        let former = it.leases.iter().map(|lease| &self.leases[*lease]);
        let former = former.filter(|lease| lease.incarnation != it.incarnation);
        former.filter_map(|lease| lease.expires(it.contact)).min()
    }

    /// Returns when a silent worker's first lease ends, or when the worker itself counts as lost.
    pub(in crate::engine) fn silence_ends(&self, worker: WorkerIx) -> Time {
        let it = &self.workers[worker];
        let leases = it.leases.iter().filter_map(|lease| self.leases[*lease].expires(it.contact));
        leases.chain([it.contact + self.ttl]).min().expect("the worker's own end is among them")
    }
}
