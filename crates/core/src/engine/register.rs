//! Workers join, come back, and are reported dead.

use std::collections::BTreeSet;

use super::config::SLOTS_MAX;
use super::decide::Out;
use super::event::{EndedAs, Event};
use super::request::Answer;
use super::state::Engine;
use super::worker::WorkerStatus;
use crate::id::{Fence, Incarnation, WorkerId};
use crate::outcome::{Outcome, OutcomeKind};
use crate::session::{Finished, Home, Refusal, Register, Registered, Verdict};

impl Engine {
    pub(super) fn register(&mut self, out: &mut Out, mut register: Register) -> Answer {
        let known = self.worker_ids.get(&register.worker).copied();
        if let Some(refusal) = self.cannot_join(&register, known) {
            return Answer::Refused(refusal);
        }
        self.notice_loss(out, register.spooled.iter().map(|finished| finished.lease.fence));
        let mut verdicts = Vec::new();
        // Outcomes of a former life come first: what they end is not lost with that life.
        if let Some(worker) = known {
            verdicts = self.judge_all(out, worker, &register.spooled);
            if register.incarnation > self.workers[worker].incarnation {
                self.dismiss(out, worker, Refusal::Superseded);
                self.end_life(out, worker, None);
            }
        }
        let (id, spooled) = (register.worker, std::mem::take(&mut register.spooled));
        if known.is_none_or(|worker| register.incarnation > self.workers[worker].incarnation) {
            let Register { worker, name, incarnation, labels, slots, home, spooled: _ } = register;
            // Only the leader's own worker can share its fate, whatever others say of themselves.
            let home = if self.own == Some(worker) { home } else { Home::Apart };
            self.emit(
                out,
                Event::WorkerRegistered { worker, name, incarnation, labels, slots, home },
            );
        }
        if known.is_none() {
            verdicts = self.judge_all(out, self.worker_ids[&id], &spooled);
        }
        let interval = self.interval();
        Answer::Registered(Registered { term: self.term, ttl: self.ttl, interval, verdicts })
    }

    fn judge_all(
        &mut self,
        out: &mut Out,
        worker: u32,
        spooled: &[Finished],
    ) -> Vec<(Fence, Verdict)> {
        let mut verdicts = Vec::new();
        for finished in spooled {
            verdicts.push((finished.lease.fence, self.judge(out, worker, finished)));
        }
        verdicts
    }

    fn cannot_join(&self, register: &Register, known: Option<u32>) -> Option<Refusal> {
        if !(1..=SLOTS_MAX).contains(&register.slots) {
            return Some(Refusal::BadSlots(register.slots));
        }
        if self.keys.is_revoked(register.worker) {
            return Some(Refusal::Revoked);
        }
        if let Some(worker) = known.map(|worker| &self.workers[worker]) {
            if register.incarnation < worker.incarnation {
                return Some(Refusal::Superseded);
            }
            if register.incarnation == worker.incarnation && worker.status == WorkerStatus::Ended {
                return Some(Refusal::Ended);
            }
        } else if self.workers.len() >= self.config.workers_max {
            return Some(Refusal::TooManyWorkers(self.workers.len()));
        }
        let by = self.namesake(&register.name, register.worker)?;
        Some(Refusal::NameTaken { name: register.name.clone(), by })
    }

    /// Another live worker of this name.
    pub(super) fn namesake(&self, name: &str, not: WorkerId) -> Option<WorkerId> {
        let others = self.workers.iter().map(|(_, worker)| worker).filter(|it| it.id != not);
        others.filter(|it| it.is_live()).find(|it| &*it.name == name).map(|it| it.id)
    }

    /// A guard vouches that nothing of a life is left: all its leases end now.
    pub(super) fn guard_ended(
        &mut self,
        out: &mut Out,
        worker: WorkerId,
        incarnation: Incarnation,
        started: &[Fence],
    ) -> Answer {
        let Some(worker_ix) = self.worker_ids.get(&worker).copied() else {
            return Answer::Refused(Refusal::NotRegistered);
        };
        let it = &self.workers[worker_ix];
        // Who is not trusted any more is not believed that nothing of it runs: its locks would be free too soon.
        if self.keys.is_revoked(worker) {
            return Answer::Refused(Refusal::Revoked);
        }
        if it.incarnation != incarnation {
            return Answer::Refused(Refusal::Superseded);
        }
        if it.status != WorkerStatus::Ended {
            self.dismiss(out, worker_ix, Refusal::Ended);
            self.end_life(out, worker_ix, Some(started));
            self.emit(out, Event::WorkerEnded { worker, incarnation });
        }
        Answer::Done
    }

    /// Ends every lease of a worker's life as lost. Where a guard lists what it had started, the rest was never started
    /// and goes back as released.
    fn end_life(&mut self, out: &mut Out, worker: u32, started: Option<&[Fence]>) {
        let started: Option<BTreeSet<Fence>> = started.map(|list| list.iter().copied().collect());
        let mut leases = self.workers[worker].leases.clone();
        leases.sort_unstable_by_key(|lease| self.leases[*lease].fence);
        for lease in leases {
            let fence = self.leases[lease].fence;
            let kind = match &started {
                Some(started) if !started.contains(&fence) => OutcomeKind::Released,
                Some(_) | None => OutcomeKind::Lost,
            };
            self.end(out, lease, Outcome::plain(kind), EndedAs::GivenUp);
        }
    }
}
