//! The worker's end of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::held::{Held, HeldState, Report};
use super::message::{
    Exchange, Finished, Grant, Refusal, Registered, Reply, ReplyBody, Stop, StopHow, StopReason,
    Verdict,
};
use crate::id::{Fence, Incarnation, Seq, Term, WorkerId};
use crate::outcome::Outcome;
use crate::planted::{Bug, Bugs};
use crate::time::{Span, Time};

/// Sent exchanges whose reply is awaited; beyond it the oldest is given up, its reply would renew nothing any more.
const AWAITED_MAX: usize = 64;

/// Bytes of output in one exchange: it must fit in a message of 1 MiB. What does not fit is listed as in flight and
/// reported with a later one.
const OUTPUT_ROOM: usize = 512 * 1024;

/// Who a session speaks for.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// The worker.
    pub worker: WorkerId,
    /// This life of it.
    pub incarnation: Incarnation,
    /// How many steps it runs at a time.
    pub slots: u32,
    /// The most leases that it takes, running and ahead.
    pub capacity: u32,
    /// False where leader and worker share one fate: no deadline then.
    pub leases_expire: bool,
    /// Planted mistakes, none outside the simulator's hunt.
    pub bugs: Bugs,
}

/// How far a session is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Life {
    Working,
    /// Takes no more leases.
    Draining,
    /// Refused for good.
    Over(Refusal),
}

/// What a session has to tell, by how soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Untold {
    Nothing,
    /// Something has started that the newest exchange told as queued.
    Begun,
    /// Something that the leader waits for.
    News,
}

/// When the process of a lease that must not outlive contact is to end if contact stays lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// It is told to end.
    pub asks_at: Time,
    /// Nothing of it may be alive any more.
    pub kills_at: Time,
}

/// What a session tells its surroundings to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start this step now.
    Start(Grant),
    /// Have this step start when one of those that run has ended, without asking again. Those that were told so start in
    /// this order; that one has is told to [`WorkerSession::on_begun`].
    LineUp(Grant),
    /// Stop this step. If it stands in line it is never started.
    Stop(Stop),
    /// Never start this step, if it still stands in line.
    Withdraw(Fence),
}

/// A worker's view of its leases. Feed it replies, ends of processes and the passing of time; it answers with what to
/// do and, when asked, with the next exchange to send.
///
/// Its clock is the worker's own, counts suspension, and shares nothing with the leader's but the rate.
#[derive(Clone, Debug)]
pub struct WorkerSession {
    pub(super) config: SessionConfig,
    ttl: Span,
    interval: Span,
    seq: Seq,
    seen: Seq,
    term: Term,
    /// The highest fence accepted: what is not above it is a repeat.
    highest: Fence,
    pub(super) held: BTreeMap<Fence, Held>,
    /// How many of them take up a slot.
    pub(super) occupied: usize,
    /// How many of them stand in line.
    pub(super) in_line: usize,
    /// None below it waits to be started: they start in their order.
    pub(super) unstarted: Fence,
    sent: BTreeMap<Seq, Time>,
    /// What no exchange has told.
    pub(super) untold: Untold,
    pub(super) phase: Life,
}

impl WorkerSession {
    /// A session that has just been registered, with what the leader told it.
    pub fn new(config: SessionConfig, told: &Registered) -> Self {
        Self {
            config,
            ttl: told.ttl,
            interval: told.interval,
            seq: Seq(0),
            seen: Seq(0),
            term: told.term,
            highest: Fence(0),
            held: BTreeMap::new(),
            occupied: 0,
            in_line: 0,
            unstarted: Fence(0),
            sent: BTreeMap::new(),
            untold: Untold::News,
            phase: Life::Working,
        }
    }

    /// The next exchange. `now` must be read before it is sent: deadlines count from it.
    pub fn exchange(&mut self, now: Time) -> Exchange {
        self.seq = Seq(self.seq.0 + 1);
        self.untold = Untold::Nothing;
        self.sent.insert(self.seq, now);
        if self.sent.len() > AWAITED_MAX {
            self.sent.pop_first();
        }
        let finished = self.held.values().filter(|held| held.is_finished()).count();
        let mut message = Exchange {
            worker: self.config.worker,
            incarnation: self.config.incarnation,
            seq: self.seq,
            seen: self.seen,
            term: self.term,
            finished: Vec::with_capacity(finished),
            in_flight: Vec::with_capacity(self.held.len() - finished),
            want: self.want(),
            drains: self.phase == Life::Draining,
        };
        let mut room = OUTPUT_ROOM;
        for held in self.held.values_mut() {
            held.listed_from.get_or_insert(self.seq);
            match held.report(room) {
                Report::InFlight(lease) => message.in_flight.push(lease),
                Report::Finished(lease) => {
                    room = room.saturating_sub(lease.outcome.output.len());
                    message.finished.push(lease);
                }
            }
        }
        message
    }

    /// Whether an exchange should be sent now: there is news, something has started, nothing is awaited, or the reply is
    /// overdue.
    pub fn exchange_due(&self, now: Time) -> bool {
        !self.is_over()
            && (self.untold > Untold::Nothing || self.exchange_at().is_none_or(|at| at <= now))
    }

    /// Whether there is something to tell that no exchange has told. Without it, an exchange only asks for more, or says what
    /// has started.
    pub const fn has_news(&self) -> bool {
        matches!(self.untold, Untold::News)
    }

    /// Whether something waits for a slot: what a reply brings would wait behind it.
    pub fn has_ahead(&self) -> bool {
        self.occupied + self.in_line > self.config.slots as usize
            || self.held.range(self.unstarted..).any(|(_, held)| held.is_queued())
    }

    /// Learns that the newest exchange did not reach the leader: the next one is due at once. How soon to send it, and
    /// to whom, is the link's business.
    pub fn on_unreached(&mut self) {
        self.untold = Untold::News;
    }

    /// When another exchange is due though the newest has no reply; `None` if none is awaited.
    ///
    /// The leader keeps it for an interval, after that it counts as lost. What must not outlive contact cannot wait so
    /// long: a deadline counts from before the sending, so it would come within two intervals of it, or after one
    /// exchange that got lost. A newer exchange has the kept one answered.
    pub fn exchange_at(&self) -> Option<Time> {
        let (_, at) = self.sent.last_key_value().filter(|_| !self.is_over())?;
        let half = self.interval.part(2);
        Some(*at + if self.holds_strictly() { half } else { self.interval + half })
    }

    fn holds_strictly(&self) -> bool {
        let strict = |held: &Held| held.grant.stops_on_lost_contact && held.occupies();
        self.config.leases_expire && self.held.values().any(strict)
    }

    /// Takes in a reply. Late, repeated and foreign ones change nothing.
    pub fn on_reply(&mut self, reply: Reply, now: Time) -> Vec<Action> {
        let known =
            (reply.worker, reply.incarnation) == (self.config.worker, self.config.incarnation);
        if !known || self.is_over() {
            return Vec::new();
        }
        match reply.body {
            Ok(body) => {
                self.term = self.term.max(reply.term);
                self.on_answer(reply.seq, (reply.ttl, reply.interval), body, now)
            }
            Err(refusal) => self.on_refusal(reply.seq, refusal),
        }
    }

    fn on_answer(
        &mut self,
        seq: Seq,
        (ttl, interval): (Span, Span),
        body: ReplyBody,
        now: Time,
    ) -> Vec<Action> {
        if seq <= self.seen {
            return Vec::new();
        }
        let Some(sent_at) = self.sent.get(&seq).copied() else {
            return Vec::new();
        };
        (self.seen, self.ttl, self.interval) = (seq, ttl, interval);
        self.sent.retain(|other, _| *other > seq);
        let counted_from = if self.config.bugs.on(Bug::DeadlineFromReply) { now } else { sent_at };
        let deadline = counted_from + self.ttl.less(safety_margin(self.ttl));
        self.renew(seq, deadline, &body.stops);
        for (fence, Verdict::Accepted | Verdict::Stale) in body.verdicts {
            self.on_verdict(fence);
        }
        for grant in body.grants {
            self.accept(grant, deadline);
        }
        let mut actions: Vec<Action> =
            body.take_back.into_iter().filter_map(|fence| self.give_back(fence)).collect();
        actions.extend(body.stops.into_iter().filter_map(|stop| self.stop(stop)));
        actions.extend(self.start_queued(now));
        actions
    }

    fn renew(&mut self, seq: Seq, deadline: Time, stops: &[Stop]) {
        for (fence, held) in &mut self.held {
            let listed = held.listed_from.is_some_and(|from| from <= seq);
            if listed && held.is_renewed() && !stops.iter().any(|stop| stop.fence == *fence) {
                held.deadline = held.deadline.max(deadline);
            }
        }
    }

    fn on_verdict(&mut self, fence: Fence) {
        if self.held.get(&fence).is_some_and(Held::is_finished) {
            self.held.remove(&fence);
        }
    }

    fn accept(&mut self, grant: Grant, deadline: Time) {
        let fence = grant.lease.fence;
        let repeat = if self.config.bugs.on(Bug::RepeatedGrantRunsAgain) {
            self.held.get(&fence).is_some_and(|held| !held.is_finished())
        } else {
            fence <= self.highest
        };
        if repeat {
            return;
        }
        self.highest = self.highest.max(fence);
        self.unstarted = self.unstarted.min(fence);
        self.held.insert(fence, Held::new(grant, deadline));
    }

    /// Answers a wish to have a lease back: released if it has not started, and then never will.
    fn give_back(&mut self, fence: Fence) -> Option<Action> {
        let held = self.held.get_mut(&fence)?;
        if held.is_in_line() {
            // Whether it has started is what the answer will tell.
            return Some(Action::Withdraw(fence));
        }
        if held.is_queued() {
            held.release();
        }
        self.untold = Untold::News;
        None
    }

    fn stop(&mut self, stop: Stop) -> Option<Action> {
        let held = self.held.get_mut(&stop.fence)?;
        match held.state {
            HeldState::Queued => {
                held.release();
                self.untold = Untold::News;
                None
            }
            HeldState::InLine { stop: told } => {
                let harder = told.is_none_or(|(how, _)| how < stop.how);
                held.state = HeldState::InLine { stop: told.max(Some((stop.how, stop.why))) };
                harder.then_some(Action::Stop(stop))
            }
            HeldState::Started { at } => {
                held.state = HeldState::Stopping { at, how: stop.how, why: stop.why };
                Some(Action::Stop(stop))
            }
            HeldState::Stopping { at, how, why } => {
                let harder = how < stop.how;
                let (how, why) = (how.max(stop.how), why.max(stop.why));
                held.state = HeldState::Stopping { at, how, why };
                harder.then_some(Action::Stop(stop))
            }
            HeldState::Finished { .. } => None,
        }
    }

    /// Starts what waits while slots are free, oldest first. What may not start any more is given back.
    fn start_queued(&mut self, now: Time) -> Vec<Action> {
        let mut free = self.slots_free();
        let mut actions = Vec::new();
        let expires = self.config.leases_expire;
        let gives_back = expires || self.phase != Life::Working;
        for (fence, held) in self.held.range_mut(self.unstarted..) {
            if free == 0 && !gives_back {
                break;
            }
            if !held.is_queued() {
                continue;
            }
            let too_late = expires && held.deadline <= now;
            if too_late || self.phase != Life::Working {
                held.release();
                self.untold = Untold::News;
            } else if free > 0 {
                free -= 1;
                self.occupied += 1;
                self.unstarted = *fence;
                held.state = HeldState::Started { at: now };
                actions.push(Action::Start(held.grant.clone()));
            }
        }
        actions
    }

    /// Slots that nobody has, and nobody in line will have.
    pub(super) fn slots_free(&self) -> usize {
        let count = |which: fn(&Held) -> bool| self.held.values().filter(|it| which(it)).count();
        debug_assert_eq!(self.occupied, count(Held::occupies), "every start and end is counted");
        debug_assert_eq!(self.in_line, count(Held::is_in_line), "every place in line is counted");
        (self.config.slots as usize).saturating_sub(self.occupied + self.in_line)
    }

    fn want(&self) -> u32 {
        if self.phase != Life::Working {
            return 0;
        }
        let open = self.held.values().filter(|held| !held.is_finished()).count();
        self.config.capacity.saturating_sub(u32::try_from(open).unwrap_or(u32::MAX))
    }

    /// The leader refused this worker for good, before it came to any reply.
    pub fn on_dismissal(&mut self, refusal: Refusal) -> Vec<Action> {
        if self.is_over() {
            return Vec::new();
        }
        self.phase = Life::Over(refusal);
        self.kill_started()
    }

    fn on_refusal(&mut self, seq: Seq, refusal: Refusal) -> Vec<Action> {
        match refusal {
            Refusal::OldSeq => return Vec::new(),
            Refusal::NotRegistered if seq <= self.seen => return Vec::new(),
            Refusal::NotRegistered
            | Refusal::Superseded
            | Refusal::Ended
            | Refusal::NameTaken { .. }
            | Refusal::TooManyWorkers(_)
            | Refusal::BadSlots(_)
            | Refusal::Revoked
            | Refusal::OtherWorker(_) => {}
        }
        self.on_dismissal(refusal)
    }

    fn kill_started(&mut self) -> Vec<Action> {
        let mut actions = Vec::new();
        for (fence, held) in &mut self.held {
            let stop = Stop { fence: *fence, how: StopHow::Kill, why: StopReason::Stale };
            held.state = match held.state {
                HeldState::Queued | HeldState::Finished { .. } => continue,
                HeldState::InLine { .. } => HeldState::InLine { stop: Some((stop.how, stop.why)) },
                HeldState::Started { at } | HeldState::Stopping { at, .. } => {
                    HeldState::Stopping { at, how: stop.how, why: stop.why }
                }
            };
            actions.push(Action::Stop(stop));
        }
        actions
    }

    /// Records that processes ended, and starts what waited for their slots.
    pub fn on_finished(
        &mut self,
        ended: impl IntoIterator<Item = (Fence, Outcome)>,
        now: Time,
    ) -> Vec<Action> {
        for (fence, outcome) in ended {
            let Some(held) = self.held.get_mut(&fence) else { continue };
            let counted = if held.is_in_line() { &mut self.in_line } else { &mut self.occupied };
            if held.finish(outcome, now) {
                *counted -= 1;
                self.untold = Untold::News;
            }
        }
        self.start_queued(now)
    }

    /// Lets time pass: steps that must not outlive their lease are told to stop while there is still time.
    pub fn on_tick(&mut self, now: Time) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.config.leases_expire {
            for (fence, held) in &mut self.held {
                actions.extend(lost_contact(*fence, held, self.ttl, now));
            }
        }
        actions.extend(self.start_queued(now));
        actions
    }

    /// When [`on_tick`](Self::on_tick) has something to do, or an exchange is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.stops_at().into_iter().chain(self.exchange_at()).min()
    }

    /// When [`on_tick`](Self::on_tick) has something to do.
    pub fn stops_at(&self) -> Option<Time> {
        let strict = |held: &&Held| held.grant.stops_on_lost_contact;
        let expiring = self.config.leases_expire.then(|| self.held.values());
        let stops = expiring.into_iter().flatten().filter(strict);
        let stops = stops.filter_map(|held| match held.state {
            HeldState::Started { .. } => Some(held.lost_contact_at(self.ttl)),
            HeldState::Stopping { how: StopHow::Term, .. } => Some(held.deadline),
            HeldState::Queued
            | HeldState::InLine { .. }
            | HeldState::Stopping { how: StopHow::Kill, .. }
            | HeldState::Finished { .. } => None,
        });
        stops.min()
    }

    /// Takes no more leases and gives back what has not started.
    pub fn drain(&mut self) -> Vec<Action> {
        if self.phase == Life::Working {
            self.phase = Life::Draining;
        }
        self.untold = Untold::News;
        self.held.values_mut().filter(|held| held.is_queued()).for_each(Held::release);
        let in_line = self.held.iter().filter(|(_, held)| held.is_in_line());
        in_line.map(|(fence, _)| Action::Withdraw(*fence)).collect()
    }

    /// Gives up everything: what has not started is given back, what has is ended by force. Outcomes are still told.
    pub fn give_up(&mut self) -> Vec<Action> {
        // Who is told to stop need not be told to stay.
        drop(self.drain());
        self.kill_started()
    }

    /// Why the session is over, if it is: everything must be killed and the worker start anew.
    pub const fn ended(&self) -> Option<&Refusal> {
        match &self.phase {
            Life::Working | Life::Draining => None,
            Life::Over(refusal) => Some(refusal),
        }
    }

    const fn is_over(&self) -> bool {
        self.ended().is_some()
    }

    /// How many leases it holds whose outcome is not known to it.
    pub fn busy(&self) -> usize {
        self.held.values().filter(|held| !held.is_finished()).count()
    }

    /// Outcomes without a verdict: what a restarted worker presents when it registers.
    pub fn spool(&self) -> Vec<Finished> {
        let reports = self.held.values().map(|held| held.report(usize::MAX));
        reports
            .filter_map(|report| match report {
                Report::Finished(finished) => Some(finished),
                Report::InFlight(_) => None,
            })
            .collect()
    }

    /// By when the process of this lease must be dead if contact stays lost; `None` if it may go on.
    pub fn deadline(&self, fence: Fence) -> Option<Deadline> {
        let held = self.held.get(&fence)?;
        let strict = self.config.leases_expire && held.grant.stops_on_lost_contact;
        let (asks_at, kills_at) = (held.lost_contact_at(self.ttl), held.deadline);
        strict.then_some(Deadline { asks_at, kills_at })
    }
}

/// How much sooner than its leader a worker takes a lease for ended: a tenth of the TTL for clocks that run at different
/// rates, and half a second for a kill to be carried out.
pub fn safety_margin(ttl: Span) -> Span {
    ttl.part(10) + Span::millis(500)
}

fn lost_contact(fence: Fence, held: &mut Held, ttl: Span, now: Time) -> Option<Action> {
    if !held.grant.stops_on_lost_contact {
        return None;
    }
    let (at, how) = match held.state {
        HeldState::Started { at } if now >= held.deadline => (at, StopHow::Kill),
        HeldState::Started { at } if now >= held.lost_contact_at(ttl) => (at, StopHow::Term),
        HeldState::Stopping { at, how: StopHow::Term, .. } if now >= held.deadline => {
            (at, StopHow::Kill)
        }
        HeldState::Queued
        | HeldState::InLine { .. }
        | HeldState::Started { .. }
        | HeldState::Stopping { .. }
        | HeldState::Finished { .. } => return None,
    };
    let why = match held.state {
        HeldState::Stopping { why, .. } => why,
        HeldState::Queued
        | HeldState::InLine { .. }
        | HeldState::Started { .. }
        | HeldState::Finished { .. } => StopReason::Stale,
    };
    held.state = HeldState::Stopping { at, how, why };
    Some(Action::Stop(Stop { fence, how, why: StopReason::Stale }))
}
