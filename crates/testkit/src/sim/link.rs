//! The link: messages that may be lost, doubled, delayed and overtaken.

use windlass_core::engine::Request;
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{Exchange, Refusal, Register, Registered, Reply};

use super::world::{Ev, World};

/// What goes to a leader.
#[derive(Clone, Debug)]
pub(crate) enum Up {
    Register(usize, Register),
    Exchange(usize, Exchange),
    GuardEnded(usize, Incarnation, Vec<Fence>),
    Client(usize, Request),
    /// From the maintenance of the same node, in one life of it.
    Maintenance(u32, Request),
}

/// What goes to a worker.
#[derive(Clone, Debug)]
pub(crate) enum Down {
    Joined(Incarnation, Result<Registered, Refusal>),
    Reply(Reply),
    GuardHeard(Incarnation),
    NotLeader,
}

impl World<'_> {
    /// Sends a worker's message to a leader.
    pub(crate) fn send_up(&mut self, worker: usize, leader: usize, message: &Up) {
        if self.workers[worker].is_cut_up(self.now) {
            return;
        }
        for delay in self.deliveries(self.schedule.workers[worker].own_of == Some(leader)) {
            self.at(self.now + delay, Ev::ToLeader(leader, message.clone()));
        }
    }

    /// Sends a leader's message to a worker.
    pub(crate) fn send_down(&mut self, leader: usize, worker: usize, message: &Down) {
        if self.workers[worker].is_cut_down(self.now) {
            return;
        }
        for delay in self.deliveries(self.schedule.workers[worker].own_of == Some(leader)) {
            self.at(self.now + delay, Ev::ToWorker(worker, message.clone()));
        }
    }

    /// How long each copy of a message takes: none if it is lost, two if it is doubled.
    pub(crate) fn deliveries(&mut self, in_process: bool) -> Vec<u64> {
        if in_process {
            return vec![0];
        }
        if self.is_healed() {
            return vec![self.rng.range(1, 5)];
        }
        let weather = self.schedule.weather;
        let mut copies = Vec::new();
        if !self.rng.chance(weather.loss_per_mille) {
            copies.push(self.delay());
        }
        if self.rng.chance(weather.twice_per_mille) {
            copies.push(self.delay());
        }
        copies
    }

    fn delay(&mut self) -> u64 {
        let weather = self.schedule.weather;
        let straggler = self.rng.chance(weather.straggle_per_mille);
        let longest = if straggler { 8_000 } else { weather.delay_max };
        self.rng.range(1, longest)
    }
}
