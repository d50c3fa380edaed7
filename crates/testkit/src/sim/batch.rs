//! What a leader says, carried out: batches go to the journal, answers to who waits for them.

use windlass_core::engine::{Answer, EndedAs, Event, Request};
use windlass_core::id::Incarnation;
use windlass_core::leader::{Batch, Effect};
use windlass_core::planted::{Bug, Bugs};
use windlass_core::session::{Reply, StopReason};
use windlass_core::time::Time;

use super::client::ClientAnswer;
use super::journal::{Append, StoreOp};
use super::leader::Lead;
use super::link::Down;
use super::plain_worker::PlainEv;
use super::schedule::CrashPoint;
use super::world::{Ev, World};

/// The engine's own invariants are checked at each so-manieth decision: they cost as much as there are steps.
const CHECK_EVERY: u64 = 16;

/// The live state is compared with a replay at each so-manieth decision, if nothing is pending then.
const COMPARE_EVERY: u64 = 50;

/// Who asked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asker {
    Worker(usize),
    Client(usize),
    /// A controller, in the name of a plain worker.
    Plain(usize),
    /// The maintenance of the same node, in one life of it.
    Maintenance(u32),
}

/// What has to be remembered of a request once the engine has consumed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    by: Asker,
    /// The worker's life that it concerns, which the answer names.
    life: Option<Incarnation>,
}

impl World<'_> {
    pub(crate) fn lead_request(&mut self, leader: usize, by: Asker, request: Request) {
        let asked = Asked { by, life: life_of(&request) };
        self.lead_decides(leader, |lead, now, luck| {
            lead.machine.request(asked, request, now, luck)
        });
    }

    pub(crate) fn lead_ticks(&mut self, leader: usize) {
        self.lead_decides(leader, |lead, now, luck| lead.machine.tick(now, luck));
    }

    fn lead_decides(
        &mut self,
        leader: usize,
        decide: impl FnOnce(&mut Lead, Time, u64) -> Vec<Effect<Asked>>,
    ) {
        let luck = self.rng.next();
        let local = self.leaders[leader].clock.local(self.now);
        let lead = self.leaders[leader].lead.as_mut().expect("only a leader decides");
        let now = lead.journal_now(local);
        let effects = decide(lead, now, luck);
        lead.decisions += 1;
        // In the hunt the witness alone has to find what is wrong: the engine is the one that was tampered with.
        let hunting = self.bugs != Bugs::NONE;
        let broken = if !hunting && lead.decisions.is_multiple_of(CHECK_EVERY) {
            lead.machine.engine().check()
        } else {
            Vec::new()
        };
        if let Some(violation) = broken.into_iter().next() {
            self.fail(violation.invariant, violation.detail);
        }
        let appends = effects.iter().any(|effect| matches!(effect, Effect::Append(_)));
        if appends && self.crashes_at(leader, CrashPoint::AfterDecide) {
            return;
        }
        self.carry_out(leader, effects);
        self.compare_now_and_then(leader);
    }

    /// A leader that has nothing pending knows exactly what the journal says, also in the middle of everything.
    fn compare_now_and_then(&mut self, leader: usize) {
        let Some(lead) = &self.leaders[leader].lead else { return };
        let current = lead.machine.term() == self.journal.term && lead.machine.is_settled();
        if !current || !lead.decisions.is_multiple_of(COMPARE_EVERY) {
            return;
        }
        let live = lead.machine.engine().details();
        if let Some(replayed) = self.rebuild() {
            self.compare(&live, &replayed.details());
        }
    }

    pub(crate) fn carry_out(&mut self, leader: usize, effects: Vec<Effect<Asked>>) {
        for effect in effects {
            match effect {
                Effect::Append(batch) => self.append(leader, batch),
                // The witness reads the journal itself.
                Effect::Publish { .. } => {}
                Effect::Reply(reply) => {
                    let worker = self.host_of(reply.worker, reply.incarnation);
                    self.mark_reply(&reply);
                    if self.schedule.workers[worker].is_plain {
                        let life = self.leaders[leader].life;
                        let replied = PlainEv::Replied(leader, life, Box::new(reply));
                        self.at(self.now, Ev::Plain(replied));
                    } else {
                        self.send_down(leader, worker, &Down::Reply(reply));
                    }
                }
                Effect::Answer(asked, answer) => self.answer(leader, asked, answer),
            }
        }
    }

    fn mark_reply(&mut self, reply: &Reply) {
        let Ok(body) = &reply.body else { return };
        let orders = body.stops.iter().filter(|stop| stop.why != StopReason::Stale).count();
        if orders + body.take_back.len() > 0 {
            self.marks.hit("orders carried to a worker");
        }
        for (fence, _) in &body.verdicts {
            if !self.judged.insert(*fence) {
                self.marks.hit("repeated report answered again");
            }
        }
    }

    fn append(&mut self, leader: usize, batch: Batch) {
        let Batch { term, after, id, events } = batch;
        let after = usize::try_from(after).expect("journals are short here");
        let sweep = events.iter().all(|(_, event)| is_of_sweep(event));
        self.ask_store(leader, StoreOp::Append(Append { term, after, batch: id, events, sweep }));
    }

    /// The outcome of an append is not known: the same batch is appended again.
    pub(crate) fn append_again(&mut self, leader: usize) {
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        lead.retry_at = None;
        let Some(mut batch) = lead.machine.in_flight() else { return };
        if self.bugs.on(Bug::DoubleAppendAfterUnknown) {
            batch.after = self.journal.records.len() as u64;
        }
        self.append(leader, batch);
    }

    pub(crate) fn append_failed(&mut self, leader: usize) {
        let pause = self.rng.range(30, 200);
        let at = self.now + pause;
        if let Some(lead) = self.leaders[leader].lead.as_mut() {
            lead.retry_at = Some(at);
        }
    }

    pub(crate) fn batch_durable(&mut self, leader: usize, id: u64) {
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        let effects = lead.machine.durable(id);
        let speaks =
            |effect: &Effect<Asked>| matches!(effect, Effect::Reply(_) | Effect::Answer(..));
        if effects.iter().any(speaks) && self.crashes_at(leader, CrashPoint::BeforeReply) {
            return;
        }
        self.carry_out(leader, effects);
    }

    fn answer(&mut self, leader: usize, asked: Asked, answer: Answer) {
        match asked.by {
            Asker::Client(client) => {
                let delay = self.rng.range(1, 5);
                self.at(self.now + delay, Ev::ToClient(client, ClientAnswer::Of(answer)));
            }
            Asker::Maintenance(life) => self.seal_is_answered(leader, life, Some(&answer)),
            Asker::Plain(worker) => self.plain_answered((leader, worker), answer),
            Asker::Worker(worker) => {
                if let Some(message) = asked.life.and_then(|life| told(life, answer)) {
                    self.send_down(leader, worker, &message);
                }
            }
        }
    }
}

/// Whether an event can come of nothing but the passing of time.
fn is_of_sweep(event: &Event) -> bool {
    matches!(event, Event::WorkerLost { .. } | Event::Ended { ended: EndedAs::GivenUp, .. })
}

fn life_of(request: &Request) -> Option<Incarnation> {
    match request {
        Request::Register(register) | Request::Join { register, .. } => Some(register.incarnation),
        Request::Asked { request, .. } => life_of(request),
        Request::GuardEnded { incarnation, .. } => Some(*incarnation),
        Request::Lead { .. }
        | Request::Embargo { .. }
        | Request::Exchange(_)
        | Request::Submit(_)
        | Request::Cancel { .. }
        | Request::Condemn { .. }
        | Request::Crewed { .. }
        | Request::Drain { .. }
        | Request::ForceRelease { .. }
        | Request::RevokeWorker { .. }
        | Request::CreateToken(_)
        | Request::RevokeToken { .. }
        | Request::Seal { .. }
        | Request::Silent
        | Request::Tick => None,
    }
}

/// The answer to a worker, if there is more to it than the replies.
fn told(life: Incarnation, answer: Answer) -> Option<Down> {
    match answer {
        Answer::Registered(told) => Some(Down::Joined(life, Ok(told))),
        Answer::Refused(refusal) => Some(Down::Joined(life, Err(refusal))),
        Answer::Done => Some(Down::GuardHeard(life)),
        Answer::Exchanged
        | Answer::Submitted { .. }
        | Answer::TokenCreated(_)
        | Answer::Silent(_)
        | Answer::Denied(_) => None,
    }
}
