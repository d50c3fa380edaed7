//! Asks for leases back that were handed out ahead, when somebody else could start them at once.

use super::decide::Out;
use super::event::EndedAs;
use super::state::Engine;
use crate::outcome::{Outcome, OutcomeKind};
use crate::planted::Bug;

impl Engine {
    /// An idle worker found nothing: others who hold more than they run are asked for what they have not started. Their
    /// word comes with their next exchange, and until then nobody else gets the step.
    pub(super) fn ask_back(&mut self, idle: u32) {
        if self.ahead.is_empty()
            || !self.workers[idle].has_free_slot()
            || self.workers[idle].want == 0
        {
            return;
        }
        let mut wanted = (self.workers[idle].slots - self.workers[idle].open()) as usize;
        for holder in self.ahead.iter().copied().collect::<Vec<u32>>() {
            if wanted == 0 {
                return;
            }
            if holder != idle {
                wanted = wanted.saturating_sub(self.ask_holder(holder, idle, wanted));
            }
        }
    }

    fn ask_holder(&mut self, holder: u32, idle: u32, wanted: usize) -> usize {
        let surplus =
            self.workers[holder].open().saturating_sub(self.workers[holder].slots) as usize;
        let mut leases: Vec<u32> = self.workers[holder].leases.clone();
        leases.retain(|lease| self.may_ask(*lease, idle));
        leases.sort_unstable_by_key(|lease| std::cmp::Reverse(self.leases[*lease].fence));
        leases.truncate(surplus);
        let asked = leases.iter().filter(|lease| self.leases[**lease].asked_back).count();
        let fresh: Vec<u32> = leases
            .into_iter()
            .filter(|lease| !self.leases[*lease].asked_back)
            .take(wanted.saturating_sub(asked))
            .collect();
        for lease in &fresh {
            self.leases[*lease].asked_back = true;
            self.notify.insert(holder);
        }
        asked + fresh.len()
    }

    /// A worker that drains is asked for everything that it has not started.
    pub(super) fn ask_back_all(&mut self, holder: u32) {
        for lease in self.workers[holder].leases.clone() {
            let of_this_life = self.is_of_this_life(lease);
            let lease = &mut self.leases[lease];
            lease.asked_back = of_this_life && lease.started_at.is_none() && lease.stop.is_none();
        }
        self.notify.insert(holder);
    }

    /// Whether a lease has not started as far as is known, could run on the idle worker, and was given ahead.
    fn may_ask(&self, lease: u32, idle: u32) -> bool {
        let lease = &self.leases[lease];
        let spec = self.runs[lease.run].spec(lease.step);
        let serves = |class: &u32| self.board.classes[*class].placement == spec.placement;
        lease.started_at.is_none()
            && lease.stop.is_none()
            && lease.life == self.workers[lease.worker].incarnation
            && spec.may_lease_ahead()
            && self.workers[idle].classes.iter().any(serves)
    }

    /// The planted mistake of not waiting for the holder's word.
    pub(super) fn take_back_at_once(&mut self, out: &mut Out) {
        if !self.config.bugs.on(Bug::TakenBackWhileStarting) {
            return;
        }
        for lease in self.leases.indices() {
            if self.leases[lease].asked_back {
                self.end(out, lease, Outcome::plain(OutcomeKind::Released), EndedAs::GivenUp);
            }
        }
    }
}
