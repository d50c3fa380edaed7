//! The link: messages may be lost, duplicated, delayed and reordered.

use windlass_core::engine::EngineRequest;
use windlass_core::id::{Fence, Incarnation};
use windlass_core::session::{
    Exchange, ExchangeReply, RegisterReply, RegisterRequest, WorkerRefusal,
};

use super::world::{SimEvent, SimWorld};

/// A message to a leader.
#[derive(Clone, Debug)]
pub(crate) enum UplinkMessage {
    Register(usize, RegisterRequest),
    Exchange(usize, Exchange),
    GuardEnded(usize, Incarnation, Vec<Fence>),
    Client(usize, EngineRequest),
    /// A request from the maintenance of the same node, in one incarnation of it.
    Maintenance(u32, EngineRequest),
}

/// A message to a worker.
#[derive(Clone, Debug)]
pub(crate) enum DownlinkMessage {
    Joined(Incarnation, Result<RegisterReply, WorkerRefusal>),
    Reply(ExchangeReply),
    GuardHeard(Incarnation),
    NotLeader,
}

impl SimWorld<'_> {
    /// Sends a worker's message to a leader.
    pub(crate) fn send_up(&mut self, worker: usize, leader: usize, message: &UplinkMessage) {
        if self.workers[worker].is_cut_up(self.now) {
            return;
        }
        for delay in self.deliveries(self.schedule.workers[worker].own_of == Some(leader)) {
            self.at(self.now + delay, SimEvent::ToLeader(leader, message.clone()));
        }
    }

    /// Sends a leader's message to a worker.
    pub(crate) fn send_down(&mut self, leader: usize, worker: usize, message: &DownlinkMessage) {
        if self.workers[worker].is_cut_down(self.now) {
            return;
        }
        for delay in self.deliveries(self.schedule.workers[worker].own_of == Some(leader)) {
            self.at(self.now + delay, SimEvent::ToWorker(worker, message.clone()));
        }
    }

    /// Returns the delay of each copy of a message: none if it is lost, two if it is duplicated.
    pub(crate) fn deliveries(&mut self, in_process: bool) -> Vec<u64> {
        if in_process {
            return vec![0];
        }
        if self.is_healed() {
            return vec![self.rng.range(1, 5)];
        }
        let weather = self.schedule.network;
        let mut copies = Vec::new();
        if !self.rng.chance(weather.loss_per_mille) {
            copies.push(self.delay());
        }
        if self.rng.chance(weather.duplicates_per_mille) {
            copies.push(self.delay());
        }
        copies
    }

    fn delay(&mut self) -> u64 {
        let weather = self.schedule.network;
        let straggler = self.rng.chance(weather.long_delays_per_mille);
        let longest = if straggler { 8_000 } else { weather.delay_max };
        self.rng.range(1, longest)
    }
}
