//! Carries out the effects of a leader: batches go to the journal, answers to the clients and workers that wait for
//! them.

use std::sync::Arc;

use windlass_core::engine::{EngineAnswer, EngineRequest, Event, LeaseEndKind, event};
use windlass_core::event_batch::{BatchId, EventBatch};
use windlass_core::id::Incarnation;
use windlass_core::leader::LeaderEffect;
use windlass_core::planted_bugs::{PlantedBug, PlantedBugs};
use windlass_core::recorded_event::Position;
use windlass_core::session::{ExchangeReply, StopReason};
use windlass_core::time::Time;

use super::client::ClientAnswer;
use super::journal::{StoreAppend, StoreOp};
use super::leader::SimLeadership;
use super::link::DownlinkMessage;
use super::plain_worker::PlainWorkerEvent;
use super::schedule::CrashPoint;
use super::world::{SimEvent, SimWorld};

/// The engine's own invariants are checked at every decision of this number, because the cost grows with the number of
/// steps.
const CHECK_EVERY: u64 = 16;

/// The live state is compared with a replay at every decision of this number, if nothing is pending then.
const COMPARE_EVERY: u64 = 50;

/// The source of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SimRequestSource {
    Worker(usize),
    Client(usize),
    /// A controller, on behalf of a plain worker.
    Plain(usize),
    /// The maintenance of the same node, in one incarnation of it.
    Maintenance(u32),
    /// A client of a crowd, which only waits for an answer.
    Crowd,
}

/// What must be remembered of a request once the engine has consumed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SimPendingRequest {
    by: SimRequestSource,
    /// The incarnation of the worker that it concerns, which the answer names.
    incarnation: Option<Incarnation>,
}

impl SimWorld<'_> {
    pub(crate) fn lead_request(
        &mut self,
        leader: usize,
        by: SimRequestSource,
        request: EngineRequest,
    ) {
        let pending = SimPendingRequest { by, incarnation: incarnation_of(&request) };
        self.lead_decides(leader, |lead, now, luck| {
            lead.machine.request(pending, request, now, luck)
        });
    }

    pub(crate) fn lead_ticks(&mut self, leader: usize) {
        self.lead_decides(leader, |lead, now, luck| lead.machine.tick(now, luck));
    }

    fn lead_decides(
        &mut self,
        leader: usize,
        decide: impl FnOnce(&mut SimLeadership, Time, u64) -> Vec<LeaderEffect<SimPendingRequest>>,
    ) {
        let luck = self.rng.next();
        let local = self.leaders[leader].clock.local(self.now);
        let lead = self.leaders[leader].lead.as_mut().expect("only a leader decides");
        let now = lead.journal_now(local);
        let effects = decide(lead, now, luck);
        lead.decisions += 1;
        // In the hunt only the witness may find what is wrong, because the engine is the part with the planted bug.
        let hunting = self.bugs != PlantedBugs::NONE;
        let broken = if !hunting && lead.decisions.is_multiple_of(CHECK_EVERY) {
            lead.machine.engine().check()
        } else {
            Vec::new()
        };
        if let Some(violation) = broken.into_iter().next() {
            self.fail(violation.invariant, violation.detail);
        }
        let appends = effects.iter().any(|effect| matches!(effect, LeaderEffect::Append(_)));
        if appends && self.crashes_at(leader, CrashPoint::AfterDecide) {
            return;
        }
        self.carry_out(leader, effects);
        self.compare_with_replay_periodically(leader);
    }

    /// Compares the engine with a replay. A leader without pending requests knows exactly what the journal says, at any
    /// time.
    fn compare_with_replay_periodically(&mut self, leader: usize) {
        let Some(lead) = &self.leaders[leader].lead else { return };
        let current = lead.machine.term() == self.journal.term && lead.machine.is_all_durable();
        if !current || !lead.decisions.is_multiple_of(COMPARE_EVERY) {
            return;
        }
        let live = lead.machine.engine().dump_details();
        if let Some(replayed) = self.rebuild() {
            self.compare(&live, &replayed.dump_details());
        }
    }

    pub(crate) fn carry_out(
        &mut self,
        leader: usize,
        effects: Vec<LeaderEffect<SimPendingRequest>>,
    ) {
        for effect in effects {
            match effect {
                LeaderEffect::Append(batch) => {
                    let after = index(batch.after);
                    self.append(leader, batch, after);
                }
                // The witness reads the journal itself.
                LeaderEffect::Publish(_) => {}
                LeaderEffect::Reply(reply) => {
                    let worker = self.host_of(reply.worker, reply.incarnation);
                    self.mark_reply(&reply);
                    if self.schedule.workers[worker].is_plain {
                        let incarnation = self.leaders[leader].incarnation;
                        let replied =
                            PlainWorkerEvent::Replied(leader, incarnation, Box::new(reply));
                        self.at(self.now, SimEvent::Plain(replied));
                    } else {
                        self.send_down(leader, worker, &DownlinkMessage::Reply(reply));
                    }
                }
                LeaderEffect::Answer(request, answer) => self.answer(leader, request, answer),
            }
        }
    }

    fn mark_reply(&mut self, reply: &ExchangeReply) {
        let Ok(body) = &reply.body else { return };
        let orders = body.stops.iter().filter(|stop| stop.why != StopReason::Stale).count();
        if orders + body.take_back.len() > 0 {
            self.marks.hit("orders carried to a worker");
        }
        for (fence, _) in &body.verdicts {
            if !self.verdicts_sent.insert(*fence) {
                self.marks.hit("repeated report answered again");
            }
        }
    }

    fn append(&mut self, leader: usize, batch: Arc<EventBatch>, after: usize) {
        let sweep = batch.events.iter().all(|recorded| is_of_sweep(&recorded.event));
        self.ask_store(leader, StoreOp::Append(StoreAppend { batch, after, sweep }));
    }

    /// Appends the same batch again, because the outcome of the append is not known.
    pub(crate) fn retry_append(&mut self, leader: usize) {
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        lead.retry_at = None;
        let Some(batch) = lead.machine.append_in_flight() else { return };
        let doubles = self.bugs.on(PlantedBug::DoubleAppendAfterUnknown);
        let after = if doubles { self.journal.records.len() } else { index(batch.after) };
        self.append(leader, batch, after);
    }

    pub(crate) fn append_failed(&mut self, leader: usize) {
        let pause = self.rng.range(30, 200);
        let at = self.now + pause;
        if let Some(lead) = self.leaders[leader].lead.as_mut() {
            lead.retry_at = Some(at);
        }
    }

    pub(crate) fn batch_durable(&mut self, leader: usize, id: BatchId) {
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        let effects = lead.machine.on_durable(id);
        let speaks = |effect: &LeaderEffect<SimPendingRequest>| {
            matches!(effect, LeaderEffect::Reply(_) | LeaderEffect::Answer(..))
        };
        if effects.iter().any(speaks) && self.crashes_at(leader, CrashPoint::BeforeReply) {
            return;
        }
        self.carry_out(leader, effects);
    }

    fn answer(&mut self, leader: usize, request: SimPendingRequest, answer: EngineAnswer) {
        match request.by {
            SimRequestSource::Client(client) => {
                let delay = self.rng.range(1, 5);
                self.at(self.now + delay, SimEvent::ToClient(client, ClientAnswer::Of(answer)));
            }
            SimRequestSource::Maintenance(incarnation) => {
                self.seal_is_answered(leader, incarnation, Some(&answer));
            }
            SimRequestSource::Plain(worker) => self.plain_answered((leader, worker), answer),
            SimRequestSource::Crowd => {}
            SimRequestSource::Worker(worker) => {
                if let Some(message) =
                    request.incarnation.and_then(|incarnation| worker_answer(incarnation, answer))
                {
                    self.send_down(leader, worker, &message);
                }
            }
        }
    }
}

fn index(position: Position) -> usize {
    usize::try_from(position.0).expect("journals are short here")
}

/// Whether an event can come of nothing but the passing of time.
fn is_of_sweep(event: &Event) -> bool {
    matches!(
        event,
        Event::WorkerLost(_)
            | Event::LeaseEnded(event::LeaseEnded { ended: LeaseEndKind::GivenUp, .. })
    )
}

fn incarnation_of(request: &EngineRequest) -> Option<Incarnation> {
    match request {
        EngineRequest::Register(register) | EngineRequest::Join { register, .. } => {
            Some(register.incarnation)
        }
        EngineRequest::OnBehalfOf { request, .. } => incarnation_of(request),
        EngineRequest::GuardEnded { incarnation, .. } => Some(*incarnation),
        EngineRequest::Lead { .. }
        | EngineRequest::Embargo { .. }
        | EngineRequest::Exchange(_)
        | EngineRequest::Submit(_)
        | EngineRequest::Resume(_)
        | EngineRequest::Cancel { .. }
        | EngineRequest::Condemn { .. }
        | EngineRequest::NoMoreWorkers { .. }
        | EngineRequest::Drain { .. }
        | EngineRequest::ForceRelease { .. }
        | EngineRequest::RevokeWorker { .. }
        | EngineRequest::CreateToken(_)
        | EngineRequest::RevokeToken { .. }
        | EngineRequest::Seal { .. }
        | EngineRequest::Contacts
        | EngineRequest::Tick => None,
    }
}

/// Returns the answer to a worker, if it contains more than the replies.
fn worker_answer(incarnation: Incarnation, answer: EngineAnswer) -> Option<DownlinkMessage> {
    match answer {
        EngineAnswer::Registered(reply) => Some(DownlinkMessage::Joined(incarnation, Ok(reply))),
        EngineAnswer::Refused(refusal) => Some(DownlinkMessage::Joined(incarnation, Err(refusal))),
        EngineAnswer::Done => Some(DownlinkMessage::GuardHeard(incarnation)),
        EngineAnswer::Exchanged
        | EngineAnswer::Submitted { .. }
        | EngineAnswer::TokenCreated(_)
        | EngineAnswer::Contacts(_)
        | EngineAnswer::Denied(_) => None,
    }
}
