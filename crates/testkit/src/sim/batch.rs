//! Batches: what a leader decided, on its way into the journal. Nobody hears of it before it is durable.

use windlass_core::engine::{Answer, Decision, Event, Request};
use windlass_core::id::Incarnation;
use windlass_core::planted::Bug;
use windlass_core::session::Reply;
use windlass_core::time::Time;

use super::client::ClientAnswer;
use super::journal::{Append, StoreOp};
use super::leader::Lead;
use super::link::Down;
use super::world::{Ev, World};

/// The engine's own invariants are checked at each so-manieth decision: they cost as much as there are steps.
const CHECK_EVERY: u64 = 16;

/// Events of one or more decisions that are appended together, and what may be said once they are durable.
pub(crate) struct Batch {
    id: u64,
    events: Vec<(Time, Event)>,
    out: Vec<Answered>,
    /// Whether it came of nothing but the passing of time.
    sweep: bool,
}

/// Who asked.
#[derive(Clone, Copy)]
pub(crate) enum Asker {
    Worker(usize),
    Client(usize),
}

/// What is to be said to whom.
enum Answered {
    Worker(usize, Down),
    Client(usize, ClientAnswer),
}

/// What has to be remembered of a request once the engine has consumed it.
struct Asked {
    by: Option<Asker>,
    /// The worker's life that it concerns, which the answer names.
    life: Option<Incarnation>,
    sweep: bool,
}

impl Lead {
    /// Whether the last batch may still grow: it is not the one being appended.
    fn pending_is_open(&self) -> bool {
        self.pending.len() > usize::from(self.busy)
    }
}

impl World<'_> {
    pub(crate) fn lead_request(&mut self, leader: usize, by: Option<Asker>, request: Request) {
        let luck = self.rng.next();
        let local = self.leaders[leader].clock.local(self.now);
        let lead = self.leaders[leader].lead.as_mut().expect("only a leader decides");
        let sweep = matches!(request, Request::Tick);
        let asked = Asked { by, life: life_of(&request), sweep };
        let now = lead.journal_now(local);
        let decision = lead.engine.decide(request, now, luck);
        lead.decisions += 1;
        let broken = if lead.decisions.is_multiple_of(CHECK_EVERY) {
            lead.engine.check()
        } else {
            Vec::new()
        };
        if let Some(violation) = broken.into_iter().next() {
            self.fail(violation.invariant, violation.detail);
        }
        self.carry_out(leader, &asked, decision);
    }

    fn carry_out(&mut self, leader: usize, asked: &Asked, decision: Decision) {
        let mut out: Vec<Answered> = Vec::new();
        for reply in decision.replies {
            let worker = usize::try_from(reply.worker.0).expect("workers are few");
            self.mark_reply(asked.by, worker, &reply);
            out.push(Answered::Worker(worker, Down::Reply(reply)));
        }
        out.extend(asked.by.and_then(|by| answered(by, decision.answer, asked.life)));
        let id = self.rng.next();
        let events: Vec<(Time, Event)> =
            decision.events.into_iter().map(|event| (decision.at, event)).collect();
        if self.bugs.on(Bug::ReplyBeforeDurable) {
            self.send_out(leader, std::mem::take(&mut out));
        }
        self.enqueue(leader, Batch { id, events, out, sweep: asked.sweep });
    }

    fn enqueue(&mut self, leader: usize, mut batch: Batch) {
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        if batch.events.is_empty() {
            // It may tell what the batches before it decided, so it waits for them.
            match lead.pending.back_mut() {
                Some(last) => last.out.append(&mut batch.out),
                None => self.send_out(leader, batch.out),
            }
            return;
        }
        let open = lead.pending_is_open();
        match lead.pending.back_mut().filter(|_| open) {
            Some(last) => {
                last.events.append(&mut batch.events);
                last.out.append(&mut batch.out);
                last.sweep &= batch.sweep;
            }
            None => lead.pending.push_back(batch),
        }
        if !lead.busy {
            self.append_first(leader);
        }
    }

    fn mark_reply(&mut self, by: Option<Asker>, worker: usize, reply: &Reply) {
        let Ok(body) = &reply.body else { return };
        let parked = !matches!(by, Some(Asker::Worker(asker)) if asker == worker);
        let orders = body.stops.len() + body.take_back.len();
        if parked && orders > 0 {
            self.marks.hit("backlog of orders carried by a parked exchange");
        }
        if body.verdicts.iter().any(|(fence, _)| self.witness.is_accepted(*fence)) {
            self.marks.hit("repeated report answered again");
        }
    }

    pub(crate) fn append_first(&mut self, leader: usize) {
        let fresh = self.rng.next();
        let head = self.journal.records.len();
        let doubles = self.bugs.on(Bug::DoubleAppendAfterUnknown);
        let Some(lead) = self.leaders[leader].lead.as_mut() else { return };
        let retried = lead.retry_at.take().is_some();
        let Some(batch) = lead.pending.front_mut() else { return };
        if retried && doubles {
            (batch.id, lead.head) = (fresh, head);
        }
        lead.busy = true;
        let append = Append {
            term: lead.term,
            after: lead.head,
            batch: batch.id,
            events: batch.events.clone(),
            sweep: batch.sweep,
        };
        self.ask_store(leader, StoreOp::Append(append));
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
        let Some(batch) = lead.pending.pop_front_if(|batch| batch.id == id) else { return };
        lead.busy = false;
        lead.head += batch.events.len();
        let more = !lead.pending.is_empty();
        self.send_out(leader, batch.out);
        if more {
            self.append_first(leader);
        }
    }

    fn send_out(&mut self, leader: usize, out: Vec<Answered>) {
        for answered in out {
            match answered {
                Answered::Worker(worker, message) => self.send_down(leader, worker, &message),
                Answered::Client(client, answer) => {
                    let delay = self.rng.range(1, 5);
                    self.at(self.now + delay, Ev::ToClient(client, answer));
                }
            }
        }
    }
}

fn life_of(request: &Request) -> Option<Incarnation> {
    match request {
        Request::Register(register) => Some(register.incarnation),
        Request::GuardEnded { incarnation, .. } => Some(*incarnation),
        Request::Lead { .. }
        | Request::Exchange(_)
        | Request::Submit(_)
        | Request::Cancel { .. }
        | Request::Drain { .. }
        | Request::ForceRelease { .. }
        | Request::Seal { .. }
        | Request::Tick => None,
    }
}

/// The answer to who asked, if there is more to it than the replies.
fn answered(by: Asker, answer: Answer, life: Option<Incarnation>) -> Option<Answered> {
    let worker = match by {
        Asker::Worker(worker) => worker,
        Asker::Client(client) => {
            return Some(Answered::Client(client, ClientAnswer::Of(answer)));
        }
    };
    let message = match answer {
        Answer::Registered(told) => Down::Joined(life?, Ok(told)),
        Answer::Refused(refusal) => Down::Joined(life?, Err(refusal)),
        Answer::Done => Down::GuardHeard(life?),
        Answer::Exchanged | Answer::Submitted { .. } | Answer::Denied(_) => return None,
    };
    Some(Answered::Worker(worker, message))
}
