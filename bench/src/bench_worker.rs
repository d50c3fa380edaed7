//! The worker's side of a session: it finishes all grants before its next exchange.

use windlass_core::id::{Incarnation, Seq, Term, WorkerId};
use windlass_core::outcome::Outcome;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::session::{
    Exchange, ExchangeReply, FinishedAttempt, FormerIncarnationProof, LeaseGrant, RegisterRequest,
    WorkerLocality,
};
use windlass_core::time::Span;

/// The first worker's id. It is as large as real ones, because its size in a journal counts.
const FIRST: u64 = 0x1e37_79b9_7f4a_7c15;

/// A worker with the state of its session.
#[derive(Debug)]
pub(crate) struct BenchWorker {
    worker: WorkerId,
    slots: u32,
    seq: u64,
    seen: Seq,
    grants: Vec<LeaseGrant>,
    /// Whether it waits for the reply to an exchange.
    pub(crate) waits: bool,
}

impl BenchWorker {
    /// Returns the worker with this index.
    pub(crate) fn new(at: usize, slots: u32) -> Self {
        let worker = WorkerId(FIRST + at as u64);
        Self { worker, slots, seq: 0, seen: Seq(0), grants: Vec::new(), waits: false }
    }

    /// Returns its registration.
    pub(crate) fn register(&self, labels: &[String]) -> RegisterRequest {
        RegisterRequest {
            worker: self.worker,
            name: format!("worker{}", self.worker.0 - FIRST).into(),
            incarnation: Incarnation(1),
            labels: Labels::new(labels),
            slots: self.slots,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::AllRuns,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        }
    }

    /// Returns its next exchange, in which all granted steps have succeeded.
    pub(crate) fn exchange(&mut self) -> Exchange {
        self.seq += 1;
        self.waits = true;
        let ended = |grant: LeaseGrant| FinishedAttempt {
            lease: grant.lease,
            outcome: Outcome::exit(0),
            ran: Some(Span::millis(1)),
        };
        Exchange {
            drains: false,
            worker: self.worker,
            incarnation: Incarnation(1),
            seq: Seq(self.seq),
            seen: self.seen,
            term: Term(1),
            finished: std::mem::take(&mut self.grants).into_iter().map(ended).collect(),
            in_flight: Vec::new(),
            want: self.slots,
        }
    }
}

/// Delivers a reply to its worker.
pub(crate) fn deliver(hands: &mut [BenchWorker], reply: ExchangeReply) {
    let at = usize::try_from(reply.worker.0 - FIRST).expect("workers are few");
    let hand = &mut hands[at];
    let body = reply.body.expect("no worker of the benchmark is refused");
    (hand.waits, hand.seen) = (false, reply.seq);
    hand.grants = body.grants;
}
