//! The turns of a leader: in each it handles one input, which the real [`ReadingOrder`] of the core chooses.
//!
//! A decision takes no time in most schedules. In the others it takes milliseconds, so that inputs gather and their order
//! matters; a crowd of clients can keep the inbox full for a while.

use std::collections::VecDeque;

use windlass_core::engine::EngineRequest;
use windlass_core::event_batch::BatchId;
use windlass_core::leader::{LeaderInput, LeaderTurn, ReadingOrder};
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::time::Time;

use super::batch::SimRequestSource;
use super::leader::SimLeadership;
use super::world::{SimEvent, SimWorld};

/// A leader that is awake and has room ticks at most this long after a deadline of its engine.
const TICK_SLACK: u64 = 5_000;

/// The number of clients in a crowd. Each sends its next request when the last one is decided.
const CROWD: usize = 80;

/// The least time of a decision while a crowd sends requests.
const CROWD_DECISION_COST: u64 = 4;

/// The outcome of an append, as the store reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SimAppendOutcome {
    Durable(BatchId),
    Unknown,
}

/// The inputs of a leader that have arrived and are not handled.
pub(crate) struct LeaderInbox {
    order: ReadingOrder,
    requests: VecDeque<(SimRequestSource, EngineRequest)>,
    appends: VecDeque<SimAppendOutcome>,
    /// The time until which the last decisions occupy the leader.
    busy_until: u64,
    /// When the next turn is scheduled.
    turn_at: Option<u64>,
    /// Since when an unhandled tick has been due.
    tick_due_since: Option<u64>,
}

impl LeaderInbox {
    pub(crate) fn new(now: Time, bugs: PlantedBugs) -> Self {
        Self {
            order: ReadingOrder::new(now, bugs),
            requests: VecDeque::new(),
            appends: VecDeque::new(),
            busy_until: 0,
            turn_at: None,
            tick_due_since: None,
        }
    }

    /// Takes the requests that were not read.
    pub(crate) fn take_requests(&mut self) -> impl Iterator<Item = SimRequestSource> + use<> {
        std::mem::take(&mut self.requests).into_iter().map(|(from, _)| from)
    }
}

impl SimLeadership {
    /// Returns what the next turn waits for.
    pub(crate) fn next_turn(&self, local: Time) -> LeaderTurn {
        let situation = (self.machine.load(), self.is_handing_over());
        let mut order = self.inbox.order.clone();
        order.begin_turn(situation, self.machine.next_deadline(), self.journal_now(local))
    }
}

impl SimWorld<'_> {
    /// Adds a request that arrives at a leading node.
    pub(crate) fn enqueue_request(
        &mut self,
        leader: usize,
        from: SimRequestSource,
        request: EngineRequest,
    ) {
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        lead.inbox.requests.push_back((from, request));
        self.schedule_turn(leader);
    }

    /// Adds the outcome of an append, as the store reports it.
    pub(crate) fn enqueue_append_outcome(&mut self, leader: usize, outcome: SimAppendOutcome) {
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        lead.inbox.appends.push_back(outcome);
        self.schedule_turn(leader);
    }

    /// Begins a crowd of clients that send requests to the leader until this time.
    pub(crate) fn crowd_arrives(&mut self, leader: usize, until: u64) {
        self.leaders[leader].crowd_until = until;
        for _ in 0..CROWD {
            self.enqueue_request(leader, SimRequestSource::Crowd, EngineRequest::Contacts);
        }
    }

    /// Has the leader take its next turn as soon as it can.
    pub(crate) fn schedule_turn(&mut self, leader: usize) {
        let (now, incarnation) = (self.now, self.leaders[leader].incarnation);
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        let at = lead.inbox.busy_until.max(now);
        if lead.inbox.turn_at.is_none_or(|other| at < other) {
            lead.inbox.turn_at = Some(at);
            self.at(at, SimEvent::LeaderTurn(leader, incarnation));
        }
    }

    /// Handles the first input that is ready, and schedules the next turn.
    pub(crate) fn leader_takes_turn(&mut self, leader: usize, incarnation: u32) {
        if self.leaders[leader].incarnation != incarnation || !self.leaders[leader].up {
            return;
        }
        let now = self.now;
        let local = self.leaders[leader].clock.local(now);
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        lead.inbox.turn_at = None;
        let situation = (lead.machine.load(), lead.is_handing_over());
        let (deadline, journal_now) = (lead.machine.next_deadline(), lead.journal_now(local));
        let turn = lead.inbox.order.begin_turn(situation, deadline, journal_now);
        let inputs = lead.inbox.order.inputs();
        let ready = inputs.into_iter().find(|input| lead.is_ready(*input, turn, (local, now)));
        self.note_due_tick(leader, turn, ready);
        let Some(input) = ready else { return self.wake_leader_later(leader) };
        self.leader_handles(leader, input);
        self.schedule_turn(leader);
        self.wake_leader_later(leader);
    }

    /// Checks that a due tick does not wait forever behind other inputs.
    fn note_due_tick(&mut self, leader: usize, turn: LeaderTurn, ready: Option<LeaderInput>) {
        let (now, awake_since) = (self.now, self.leaders[leader].frozen_until);
        let local = self.leaders[leader].clock.local(now);
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        let due = turn.ticks_at.is_some_and(|at| at <= lead.journal_now(local));
        if !due || ready == Some(LeaderInput::Tick) {
            lead.inbox.tick_due_since = None;
            return;
        }
        let since = (*lead.inbox.tick_due_since.get_or_insert(now)).max(awake_since);
        if now.saturating_sub(since) > TICK_SLACK {
            self.fail("L5 deadlines", format!("leader {leader} has owed a tick since {since}"));
        }
    }

    fn leader_handles(&mut self, leader: usize, input: LeaderInput) {
        match input {
            LeaderInput::LeaseEnd => self.lease_runs_out(leader),
            LeaderInput::AppendOutcome => self.leader_handles_append(leader),
            LeaderInput::Tick => self.leader_passes_time(leader),
            LeaderInput::Request => self.leader_serves(leader),
            LeaderInput::HandOverLimit | LeaderInput::Shutdown => {
                unreachable!("a node here hands over without a limit")
            }
        }
    }

    fn leader_handles_append(&mut self, leader: usize) {
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        match lead.inbox.appends.pop_front() {
            Some(SimAppendOutcome::Durable(batch)) => self.batch_durable(leader, batch),
            Some(SimAppendOutcome::Unknown) => self.append_failed(leader),
            None => self.retry_append(leader),
        }
    }

    /// Reads the requests that the reading order puts before a tick, then ticks.
    fn leader_passes_time(&mut self, leader: usize) {
        let local = self.leaders[leader].clock.local(self.now);
        let Some(lead) = &self.leaders[leader].lead else { return };
        let now = lead.journal_now(local);
        let (waiting, deadline) = (lead.inbox.requests.len(), lead.machine.next_deadline());
        let tick = lead.inbox.order.begin_tick(waiting, deadline, now);
        for _ in 0..tick.requests_first {
            if !self.leader_reads_request(leader, 0) {
                break;
            }
        }
        let Some(lead) = &mut self.leaders[leader].lead else { return };
        let (order, held_back) = (&mut lead.inbox.order, lead.machine.load());
        if order.finish_tick(tick, held_back, now) {
            self.lead_ticks(leader);
        } else {
            self.marks.hit("tick waited for the workers of a leader that was held up");
        }
    }

    /// Reads the next request, and as many of those behind it as one turn may.
    fn leader_serves(&mut self, leader: usize) {
        let mut read = 0;
        while self.leader_reads_request(leader, read) {
            read += 1;
        }
    }

    /// Decides the next request, if the leader may read another one after so many.
    fn leader_reads_request(&mut self, leader: usize, read: usize) -> bool {
        let cost = self.decision_cost(leader);
        let now = self.now;
        let Some(lead) = &mut self.leaders[leader].lead else { return false };
        if lead.inbox.requests.is_empty() {
            return false;
        }
        if !ReadingOrder::reads_another(lead.machine.load(), read) {
            self.marks.hit("leader left requests for its next turn");
            return false;
        }
        let Some((from, request)) = lead.inbox.requests.pop_front() else { return false };
        lead.inbox.busy_until = lead.inbox.busy_until.max(now) + cost;
        self.lead_request(leader, from, request);
        let asks_again = matches!(from, SimRequestSource::Crowd);
        if asks_again && self.now < self.leaders[leader].crowd_until {
            self.enqueue_request(leader, SimRequestSource::Crowd, EngineRequest::Contacts);
        }
        true
    }

    /// Returns how long a decision takes. With a crowd it always takes time.
    fn decision_cost(&self, leader: usize) -> u64 {
        let crowded = self.now < self.leaders[leader].crowd_until;
        self.schedule.decision_cost.max(if crowded { CROWD_DECISION_COST } else { 0 })
    }
}

impl SimLeadership {
    fn is_ready(&self, input: LeaderInput, turn: LeaderTurn, (local, truth): (Time, u64)) -> bool {
        match input {
            LeaderInput::LeaseEnd => !self.tenure.is_valid(local),
            LeaderInput::AppendOutcome => {
                !self.inbox.appends.is_empty() || self.retry_at.is_some_and(|at| at <= truth)
            }
            LeaderInput::Tick => turn.ticks_at.is_some_and(|at| at <= self.journal_now(local)),
            LeaderInput::Request => turn.reads_requests && !self.inbox.requests.is_empty(),
            LeaderInput::HandOverLimit | LeaderInput::Shutdown => false,
        }
    }
}
