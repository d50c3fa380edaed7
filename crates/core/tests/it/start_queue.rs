//! Leases in the start queue of their executor: the executor starts them by itself, and notifies the session later.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use windlass_core::id::{Fence, Incarnation, RunId, StepIx, Term, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::session::{
    ExchangeReply, ExchangeReplyBody, LeaseGrant, LeasePhase, LeaseRef, RegisterReply,
    SessionAction, SessionConfig, StopMode, StopOrder, StopReason, WorkerSession,
};
use windlass_core::time::{Span, Time};

const SLOTS: u32 = 2;

/// The maximum length of the queue.
const LINE: usize = 4;

/// A notification of an executor with a start queue.
enum QueueNotice {
    Began(Fence),
    Ended(Fence, Outcome),
}

/// A session, an executor with a start queue, and a leader that answers as the test decides.
struct QueuedSession {
    session: WorkerSession,
    fences: u64,
    /// From this fence on the executor queues no lease.
    willing_below: Fence,
    running: BTreeSet<Fence>,
    line: VecDeque<Fence>,
    /// The notifications of the executor that the session has not received.
    untold: VecDeque<QueueNotice>,
    started: BTreeSet<Fence>,
    outcomes: BTreeMap<Fence, OutcomeKind>,
}

impl QueuedSession {
    fn new() -> Self {
        let config = SessionConfig {
            worker: WorkerId(1),
            incarnation: Incarnation(1),
            slots: SLOTS,
            capacity: 64,
            leases_expire: false,
            bugs: PlantedBugs::NONE,
        };
        let reply = RegisterReply {
            term: Term(1),
            ttl: Span::secs(15),
            interval: Span::secs(5),
            verdicts: Vec::new(),
        };
        Self {
            session: WorkerSession::new(config, &reply),
            fences: 0,
            willing_below: Fence(u64::MAX),
            running: BTreeSet::new(),
            line: VecDeque::new(),
            untold: VecDeque::new(),
            started: BTreeSet::new(),
            outcomes: BTreeMap::new(),
        }
    }

    /// The leader answers with new leases and with orders.
    fn answer(&mut self, leases: u64, stops: Vec<StopOrder>, take_back: Vec<Fence>) {
        let exchange = self.session.exchange(Time::ZERO);
        for finished in &exchange.finished {
            self.outcomes.insert(finished.lease.fence, finished.outcome.kind);
        }
        for listed in exchange.in_flight {
            let fence = listed.lease.fence;
            let heard = !self
                .untold
                .iter()
                .any(|notice| matches!(notice, QueueNotice::Began(of) if *of == fence));
            let started = self.started.contains(&fence) && heard;
            assert_eq!(listed.phase == LeasePhase::Started, started, "{listed:?}");
        }
        let accepted = windlass_core::session::OutcomeVerdict::Accepted;
        let verdicts = exchange.finished.iter().map(|it| (it.lease.fence, accepted)).collect();
        let grants = (0..leases.min(exchange.want.into())).map(|_| self.grant()).collect();
        let reply = ExchangeReply {
            worker: WorkerId(1),
            incarnation: Incarnation(1),
            seq: exchange.seq,
            term: Term(1),
            ttl: Span::secs(15),
            interval: Span::secs(5),
            body: Ok(ExchangeReplyBody { verdicts, grants, stops, take_back }),
        };
        let actions = self.session.on_reply(reply, Time::ZERO);
        self.act(actions);
    }

    fn grant(&mut self) -> LeaseGrant {
        self.fences += 1;
        let (fence, run) = (Fence(self.fences), RunId::new(1, 1));
        LeaseGrant {
            lease: LeaseRef { fence, run, step: StepIx(0), attempt: 1 },
            delivery: 1,
            root: run,
            name: "step".into(),
            values: None,
            work: "{}".into(),
            timeout: None,
            kill_grace: Span::secs(1),
            stops_on_lost_contact: false,
        }
    }

    fn act(&mut self, actions: Vec<SessionAction>) {
        let can_queue = |grant: &LeaseGrant| grant.lease.fence < self.willing_below;
        let assigned = self.session.assign_to_executor(actions, LINE, can_queue);
        for action in assigned {
            self.carry_out(action);
        }
        assert!(self.line.len() <= LINE + SLOTS as usize, "{:?}", self.line);
    }

    fn carry_out(&mut self, action: SessionAction) {
        match action {
            SessionAction::Start(grant) => self.start(grant.lease.fence),
            SessionAction::Enqueue(grant) => self.line_up(grant.lease.fence),
            SessionAction::Stop(stop) if self.running.remove(&stop.fence) => {
                let cancelled = Outcome::plain(OutcomeKind::Cancelled);
                self.untold.push_back(QueueNotice::Ended(stop.fence, cancelled));
                self.advance();
            }
            SessionAction::Stop(StopOrder { fence, .. }) | SessionAction::Withdraw(fence) => {
                self.withdraw(fence);
            }
        }
    }

    fn line_up(&mut self, fence: Fence) {
        self.line.push_back(fence);
        self.advance();
    }

    fn start(&mut self, fence: Fence) {
        assert!(self.started.insert(fence), "{fence} is started once");
        self.running.insert(fence);
        assert!(
            self.running.len() <= SLOTS as usize,
            "as many run as there are slots: {:?}",
            self.running
        );
    }

    fn withdraw(&mut self, fence: Fence) {
        let before = self.line.len();
        self.line.retain(|other| *other != fence);
        if self.line.len() < before {
            let released = Outcome::plain(OutcomeKind::Released);
            self.untold.push_back(QueueNotice::Ended(fence, released));
        }
    }

    /// Starts the first lease of the queue, if a process has ended.
    fn advance(&mut self) {
        while self.running.len() < SLOTS as usize
            && let Some(fence) = self.line.pop_front()
        {
            self.start(fence);
            self.untold.push_back(QueueNotice::Began(fence));
        }
    }

    /// Ends a process.
    fn end(&mut self, fence: Fence) {
        assert!(self.running.remove(&fence));
        self.untold.push_back(QueueNotice::Ended(fence, Outcome::exit(0)));
        self.advance();
    }

    /// Delivers the oldest notification to the session.
    fn hear(&mut self) {
        match self.untold.pop_front() {
            None => {}
            Some(QueueNotice::Began(fence)) => {
                self.session.on_queue_started([(fence, Time::ZERO)]);
                self.act(Vec::new());
            }
            Some(QueueNotice::Ended(fence, outcome)) => {
                let actions = self.session.on_finished([(fence, outcome)], Time::ZERO);
                self.act(actions);
            }
        }
    }

    fn hear_all(&mut self) {
        while !self.untold.is_empty() {
            self.hear();
        }
    }
}

fn stop(fence: Fence) -> StopOrder {
    StopOrder { fence, how: StopMode::Term, why: StopReason::RunCancelled }
}

#[test]
fn queued_steps_start_before_the_session_is_notified() {
    let mut post = QueuedSession::new();
    post.answer(10, Vec::new(), Vec::new());
    post.hear_all();
    assert_eq!(Vec::from(post.line.clone()), [3, 4, 5, 6].map(Fence));
    post.end(Fence(1));
    post.end(Fence(2));
    post.end(Fence(3));
    assert_eq!(post.started, (1..=5).map(Fence).collect());
    // The executor has used the free slot itself: the session starts nothing in it.
    post.hear_all();
    assert_eq!(post.started, (1..=5).map(Fence).collect());
    assert_eq!(Vec::from(post.line.clone()), [6, 7, 8, 9].map(Fence));
}

#[test]
fn start_is_reported_while_an_answer_is_pending() {
    let mut post = QueuedSession::new();
    post.answer(1, Vec::new(), Vec::new());
    let phase = |post: &mut QueuedSession| post.session.exchange(Time::ZERO).in_flight[0].phase;
    assert_eq!(phase(&mut post), LeasePhase::Queued, "no notification has arrived");
    assert!(!post.session.exchange_due(Time::ZERO));
    post.hear_all();
    assert!(post.session.exchange_due(Time::ZERO) && !post.session.has_news());
    assert_eq!(phase(&mut post), LeasePhase::Started);
    assert!(!post.session.exchange_due(Time::ZERO));
}

#[test]
fn late_notification_of_an_end_does_not_lengthen_the_step() {
    let mut post = QueuedSession::new();
    post.answer(2, Vec::new(), Vec::new());
    let ms = Time::from_millis;
    post.session.on_queue_started([(Fence(1), ms(100)), (Fence(2), ms(100))]);
    post.session.on_processes_gone([(Fence(1), ms(130))]);
    let ended = [1, 2].map(|fence| (Fence(fence), Outcome::exit(0)));
    post.session.on_finished(ended, ms(150));
    let finished = post.session.exchange(ms(150)).finished;
    let ran: Vec<_> = finished.iter().map(|finished| finished.ran).collect();
    assert_eq!(ran, [Some(Span::millis(30)), Some(Span::millis(50))]);
}

#[test]
fn recalled_queued_lease_is_released_or_has_started() {
    let mut post = QueuedSession::new();
    post.answer(6, Vec::new(), Vec::new());
    post.end(Fence(1));
    // The third lease has started, but the session does not know it yet.
    post.answer(0, Vec::new(), [3, 4].map(Fence).to_vec());
    post.hear_all();
    post.answer(0, vec![stop(Fence(5)), stop(Fence(3))], Vec::new());
    post.hear_all();
    post.answer(0, Vec::new(), Vec::new());
    let released = OutcomeKind::Released;
    assert_eq!(
        post.outcomes,
        [
            (Fence(1), OutcomeKind::Succeeded),
            (Fence(3), OutcomeKind::Cancelled),
            (Fence(4), released),
            (Fence(5), released)
        ]
        .into()
    );
    assert_eq!(post.running, [2, 6].map(Fence).into());
}

#[test]
fn lease_that_cannot_queue_blocks_those_behind_it() {
    let mut post = QueuedSession::new();
    post.willing_below = Fence(4);
    post.answer(6, Vec::new(), Vec::new());
    assert_eq!(Vec::from(post.line.clone()), [Fence(3)]);
    post.end(Fence(1));
    post.end(Fence(2));
    post.hear_all();
    assert_eq!(post.running, [3, 4].map(Fence).into());
}

#[test]
fn no_order_of_events_starts_a_lease_twice_or_exceeds_the_slots() {
    for chance in 1..=300_u64 {
        let mut post = QueuedSession::new();
        if chance % 3 == 0 {
            post.willing_below = Fence(chance % 40);
        }
        let mut state = chance;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for _ in 0..200 {
            let any = Fence(below(post.fences + 1));
            match below(8) {
                0 => post.answer(below(6), Vec::new(), Vec::new()),
                1 => post.answer(0, vec![stop(any)], Vec::new()),
                2 => post.answer(below(2), Vec::new(), vec![any]),
                3..=5 => {
                    let ends =
                        if below(2) == 0 { post.running.first() } else { post.running.last() };
                    if let Some(fence) = ends.copied() {
                        post.end(fence);
                    }
                }
                _ => post.hear(),
            }
        }
        let actions =
            if chance % 2 == 0 { post.session.drain() } else { post.session.abandon_all() };
        post.act(actions);
        while !post.running.is_empty() || !post.untold.is_empty() {
            post.running.clone().into_iter().for_each(|fence| post.end(fence));
            post.hear_all();
        }
        assert_eq!(
            post.session.unfinished_leases(),
            0,
            "no lease stays in the queue (chance {chance})"
        );
        post.answer(0, Vec::new(), Vec::new());
        let outcomes = post.outcomes.iter();
        for (fence, kind) in outcomes {
            let released = *kind == OutcomeKind::Released;
            assert_ne!(released, post.started.contains(fence), "{fence} (chance {chance})");
        }
        assert_eq!(post.outcomes.len() as u64, post.fences, "chance {chance}");
    }
}
