//! The worker's end of a session.

use std::collections::BTreeMap;

use super::contact_deadline::{ContactDeadline, lost_contact, safety_margin};
use super::held_lease::{HeldLease, HeldLeaseState, ListedLease};
use super::message::{
    Exchange, ExchangeReply, ExchangeReplyBody, FinishedAttempt, LeaseGrant, OutcomeVerdict,
    WorkerRefusal,
};
use super::registration::RegisterReply;
use super::stop_order::{StopMode, StopOrder, StopReason};
use crate::id::{Fence, Incarnation, Seq, Term, WorkerId};
use crate::outcome::Outcome;
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::time::{Span, Time};

/// Exchanges whose reply is awaited. Beyond this number the oldest is dropped: its reply would no longer renew
/// anything.
const AWAITED_MAX: usize = 64;

/// Output bytes of an exchange, which must fit in a message of 1 MiB. An outcome that does not fit is listed as in
/// flight and reported by a later exchange.
const OUTPUT_BYTES_MAX: usize = 512 * 1024;

/// The settings of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionConfig {
    /// The worker's id.
    pub worker: WorkerId,
    /// The worker's incarnation.
    pub incarnation: Incarnation,
    /// The number of steps that the worker runs at a time.
    pub slots: u32,
    /// The largest number of leases that the worker takes, running and ahead.
    pub capacity: u32,
    /// Whether leases expire. False where leader and worker share their fate: there are no deadlines then.
    pub leases_expire: bool,
    /// Planted bugs; none outside of the simulator's hunt.
    pub bugs: PlantedBugs,
}

/// The phase of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SessionPhase {
    Working,
    /// The worker takes no more leases.
    Draining,
    /// The worker was refused permanently.
    Over(WorkerRefusal),
}

/// The news that no exchange has reported yet, by urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnsentNews {
    Nothing,
    /// A step has started that the newest exchange listed as queued.
    Started,
    /// News that the leader waits for.
    News,
}

/// An action that the session requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionAction {
    /// Start this step now.
    Start(LeaseGrant),
    /// Add this step to the executor's queue: it starts when a running one has ended, without another order. Queued steps start
    /// in this order, and each start is reported to [`WorkerSession::on_queue_started`].
    Enqueue(LeaseGrant),
    /// Stop this step. If it is queued at the executor, it never starts.
    Stop(StopOrder),
    /// Never start this step, if it is still queued at the executor.
    Withdraw(Fence),
}

/// A worker's view of its leases. It takes replies, ends of processes and time, and returns actions and, when asked,
/// the next exchange.
///
/// Its clock is the worker's own, counts suspension, and shares nothing with the leader's clock but the rate.
#[derive(Clone, Debug)]
pub struct WorkerSession {
    pub(super) config: SessionConfig,
    ttl: Span,
    interval: Span,
    seq: Seq,
    seen: Seq,
    term: Term,
    /// The highest fence accepted. A grant that is not above it is a repeat.
    highest: Fence,
    pub(super) held: BTreeMap<Fence, HeldLease>,
    /// The number of leases that occupy a slot.
    pub(super) occupied: usize,
    /// The number of leases that are queued at the executor.
    pub(super) executor_queued: usize,
    /// The number of leases that run and were started past that queue.
    pub(super) past_queue: usize,
    /// No lease below this fence waits to be started: leases start in order.
    pub(super) unstarted: Fence,
    sent: BTreeMap<Seq, Time>,
    /// The most urgent news that no exchange has reported.
    pub(super) unsent: UnsentNews,
    pub(super) phase: SessionPhase,
}

impl WorkerSession {
    /// Returns the session of a worker that has just registered.
    pub fn new(config: SessionConfig, registered: &RegisterReply) -> Self {
        Self {
            config,
            ttl: registered.ttl,
            interval: registered.interval,
            seq: Seq(0),
            seen: Seq(0),
            term: registered.term,
            highest: Fence(0),
            held: BTreeMap::new(),
            occupied: 0,
            executor_queued: 0,
            past_queue: 0,
            unstarted: Fence(0),
            sent: BTreeMap::new(),
            unsent: UnsentNews::News,
            phase: SessionPhase::Working,
        }
    }

    /// Returns the next exchange. `now` must be read before the exchange is sent: deadlines count from it.
    pub fn exchange(&mut self, now: Time) -> Exchange {
        self.seq = Seq(self.seq.0 + 1);
        self.unsent = UnsentNews::Nothing;
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
            drains: self.phase == SessionPhase::Draining,
        };
        let mut room = OUTPUT_BYTES_MAX;
        for held in self.held.values_mut() {
            held.listed_from.get_or_insert(self.seq);
            match held.to_listed(room) {
                ListedLease::InFlight(lease) => message.in_flight.push(lease),
                ListedLease::Finished(lease) => {
                    room = room.saturating_sub(lease.outcome.output.len());
                    message.finished.push(lease);
                }
            }
        }
        message
    }

    /// Whether to send an exchange now: there is news, a step has started, no reply is awaited, or the reply is
    /// overdue.
    pub fn exchange_due(&self, now: Time) -> bool {
        !self.is_over()
            && (self.unsent > UnsentNews::Nothing || self.exchange_at().is_none_or(|at| at <= now))
    }

    /// Whether there is news that no exchange has reported. Without news, an exchange only requests leases or reports
    /// starts.
    pub const fn has_news(&self) -> bool {
        matches!(self.unsent, UnsentNews::News)
    }

    /// Whether a lease waits for a slot. Further leases would wait behind it.
    pub fn has_ahead(&self) -> bool {
        self.occupied + self.executor_queued > self.config.slots as usize
            || self.held.range(self.unstarted..).any(|(_, held)| held.is_queued())
    }

    /// Records that the newest exchange did not reach the leader: the next one is due at once. The link decides when to
    /// send it, and to which controller.
    pub fn on_send_failed(&mut self) {
        self.unsent = UnsentNews::News;
    }

    /// Returns the time at which another exchange is due although the newest has no reply; `None` if no reply is
    /// awaited.
    ///
    /// The leader parks an exchange for an interval; after that it counts as lost. A lease that must not outlive
    /// contact cannot wait so long: its deadline counts from before the sending, so it would come within two intervals,
    /// or after one lost exchange. A newer exchange has the parked one answered.
    pub fn exchange_at(&self) -> Option<Time> {
        let (_, at) = self.sent.last_key_value().filter(|_| !self.is_over())?;
        let half = self.interval.divided_by(2);
        Some(*at + if self.holds_deadline_lease() { half } else { self.interval + half })
    }

    fn holds_deadline_lease(&self) -> bool {
        let strict = |held: &HeldLease| held.grant.stops_on_lost_contact && held.occupies();
        self.config.leases_expire && self.held.values().any(strict)
    }

    /// Takes a reply. Late, repeated and foreign ones change nothing.
    pub fn on_reply(&mut self, reply: ExchangeReply, now: Time) -> Vec<SessionAction> {
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
        body: ExchangeReplyBody,
        now: Time,
    ) -> Vec<SessionAction> {
        if seq <= self.seen {
            return Vec::new();
        }
        let Some(sent_at) = self.sent.get(&seq).copied() else {
            return Vec::new();
        };
        (self.seen, self.ttl, self.interval) = (seq, ttl, interval);
        self.sent.retain(|other, _| *other > seq);
        let counted_from =
            if self.config.bugs.on(PlantedBug::DeadlineFromReply) { now } else { sent_at };
        let deadline = counted_from + self.ttl.saturating_sub(safety_margin(self.ttl));
        self.renew(seq, deadline, &body.stops);
        for (fence, OutcomeVerdict::Accepted | OutcomeVerdict::Stale) in body.verdicts {
            self.on_verdict(fence);
        }
        for grant in body.grants {
            self.accept(grant, deadline);
        }
        let mut actions: Vec<SessionAction> =
            body.take_back.into_iter().filter_map(|fence| self.give_back(fence)).collect();
        actions.extend(body.stops.into_iter().filter_map(|stop| self.stop(stop)));
        actions.extend(self.start_queued(now));
        actions
    }

    fn renew(&mut self, seq: Seq, deadline: Time, stops: &[StopOrder]) {
        for (fence, held) in &mut self.held {
            let listed = held.listed_from.is_some_and(|from| from <= seq);
            if listed && held.is_renewed() && !stops.iter().any(|stop| stop.fence == *fence) {
                held.deadline = held.deadline.max(deadline);
            }
        }
    }

    fn on_verdict(&mut self, fence: Fence) {
        if self.held.get(&fence).is_some_and(HeldLease::is_finished) {
            self.held.remove(&fence);
        }
    }

    fn accept(&mut self, grant: LeaseGrant, deadline: Time) {
        let fence = grant.lease.fence;
        let repeat = if self.config.bugs.on(PlantedBug::RepeatedGrantRunsAgain) {
            self.held.get(&fence).is_some_and(|held| !held.is_finished())
        } else {
            fence <= self.highest
        };
        if repeat {
            return;
        }
        self.highest = self.highest.max(fence);
        self.unstarted = self.unstarted.min(fence);
        self.held.insert(fence, HeldLease::new(grant, deadline));
    }

    /// Answers the leader's wish to take a lease back: a lease that has not started is released and never starts.
    fn give_back(&mut self, fence: Fence) -> Option<SessionAction> {
        let held = self.held.get_mut(&fence)?;
        if held.is_queued_at_executor() {
            // The executor's answer tells whether the step has started.
            return Some(SessionAction::Withdraw(fence));
        }
        if held.is_queued() {
            held.release();
        }
        self.unsent = UnsentNews::News;
        None
    }

    fn stop(&mut self, stop: StopOrder) -> Option<SessionAction> {
        let held = self.held.get_mut(&stop.fence)?;
        match held.state {
            HeldLeaseState::Queued => {
                held.release();
                self.unsent = UnsentNews::News;
                None
            }
            HeldLeaseState::QueuedAtExecutor { stop: registered } => {
                let harder = registered.is_none_or(|(how, _)| how < stop.how);
                held.state = HeldLeaseState::QueuedAtExecutor {
                    stop: registered.max(Some((stop.how, stop.why))),
                };
                harder.then_some(SessionAction::Stop(stop))
            }
            HeldLeaseState::Started { at } => {
                held.state = HeldLeaseState::Stopping { at, how: stop.how, why: stop.why };
                Some(SessionAction::Stop(stop))
            }
            HeldLeaseState::Stopping { at, how, why } => {
                let harder = how < stop.how;
                let (how, why) = (how.max(stop.how), why.max(stop.why));
                held.state = HeldLeaseState::Stopping { at, how, why };
                harder.then_some(SessionAction::Stop(stop))
            }
            HeldLeaseState::Finished { .. } => None,
        }
    }

    /// Starts waiting leases while slots are free, oldest first. Leases that may no longer start are given back.
    fn start_queued(&mut self, now: Time) -> Vec<SessionAction> {
        let mut free = self.slots_free();
        let mut actions = Vec::new();
        let expires = self.config.leases_expire;
        let gives_back = expires || self.phase != SessionPhase::Working;
        for (fence, held) in self.held.range_mut(self.unstarted..) {
            if free == 0 && !gives_back {
                break;
            }
            if !held.is_queued() {
                continue;
            }
            let too_late = expires && held.deadline <= now;
            if too_late || self.phase != SessionPhase::Working {
                held.release();
                self.unsent = UnsentNews::News;
            } else if free > 0 {
                free -= 1;
                self.occupied += 1;
                self.unstarted = *fence;
                held.state = HeldLeaseState::Started { at: now };
                actions.push(SessionAction::Start(held.grant.clone()));
            }
        }
        actions
    }

    /// Returns the number of slots that are neither occupied nor reserved for queued leases.
    pub(super) fn slots_free(&self) -> usize {
        let count =
            |which: fn(&HeldLease) -> bool| self.held.values().filter(|it| which(it)).count();
        debug_assert_eq!(
            self.occupied,
            count(HeldLease::occupies),
            "every start and end is counted"
        );
        debug_assert_eq!(
            self.executor_queued,
            count(HeldLease::is_queued_at_executor),
            "every place in line is counted"
        );
        (self.config.slots as usize).saturating_sub(self.occupied + self.executor_queued)
    }

    fn want(&self) -> u32 {
        if self.phase != SessionPhase::Working {
            return 0;
        }
        let open = self.held.values().filter(|held| !held.is_finished()).count();
        self.config.capacity.saturating_sub(u32::try_from(open).unwrap_or(u32::MAX))
    }

    /// Takes a permanent refusal that came instead of a reply.
    pub fn on_permanent_refusal(&mut self, refusal: WorkerRefusal) -> Vec<SessionAction> {
        if self.is_over() {
            return Vec::new();
        }
        self.phase = SessionPhase::Over(refusal);
        self.kill_started()
    }

    fn on_refusal(&mut self, seq: Seq, refusal: WorkerRefusal) -> Vec<SessionAction> {
        match refusal {
            WorkerRefusal::OldSeq => return Vec::new(),
            WorkerRefusal::NotRegistered if seq <= self.seen => return Vec::new(),
            WorkerRefusal::NotRegistered
            | WorkerRefusal::Superseded
            | WorkerRefusal::Ended
            | WorkerRefusal::NameTaken { .. }
            | WorkerRefusal::TooManyWorkers(_)
            | WorkerRefusal::BadSlots(_)
            | WorkerRefusal::Revoked
            | WorkerRefusal::OtherWorker(_) => {}
        }
        self.on_permanent_refusal(refusal)
    }

    fn kill_started(&mut self) -> Vec<SessionAction> {
        let mut actions = Vec::new();
        for (fence, held) in &mut self.held {
            let stop = StopOrder { fence: *fence, how: StopMode::Kill, why: StopReason::Stale };
            held.state = match held.state {
                HeldLeaseState::Queued | HeldLeaseState::Finished { .. } => continue,
                HeldLeaseState::QueuedAtExecutor { .. } => {
                    HeldLeaseState::QueuedAtExecutor { stop: Some((stop.how, stop.why)) }
                }
                HeldLeaseState::Started { at } | HeldLeaseState::Stopping { at, .. } => {
                    HeldLeaseState::Stopping { at, how: stop.how, why: stop.why }
                }
            };
            actions.push(SessionAction::Stop(stop));
        }
        actions
    }

    /// Records the ends of processes, and starts the leases that waited for their slots.
    pub fn on_finished(
        &mut self,
        ended: impl IntoIterator<Item = (Fence, Outcome)>,
        now: Time,
    ) -> Vec<SessionAction> {
        for (fence, outcome) in ended {
            let Some(held) = self.held.get_mut(&fence) else { continue };
            let counted = if held.is_queued_at_executor() {
                &mut self.executor_queued
            } else {
                &mut self.occupied
            };
            if held.finish(outcome, now) {
                *counted -= 1;
                self.past_queue -= usize::from(held.is_past_queue);
                self.unsent = UnsentNews::News;
            }
        }
        self.start_queued(now)
    }

    /// Lets time pass: stops steps that must not outlive their lease while there is still time.
    pub fn on_tick(&mut self, now: Time) -> Vec<SessionAction> {
        let mut actions = Vec::new();
        if self.config.leases_expire {
            for (fence, held) in &mut self.held {
                actions.extend(lost_contact(*fence, held, self.ttl, now));
            }
        }
        actions.extend(self.start_queued(now));
        actions
    }

    /// Returns the time at which [`on_tick`](Self::on_tick) has something to do, or an exchange is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.stops_at().into_iter().chain(self.exchange_at()).min()
    }

    /// Returns the time at which [`on_tick`](Self::on_tick) has something to do.
    pub fn stops_at(&self) -> Option<Time> {
        let strict = |held: &&HeldLease| held.grant.stops_on_lost_contact;
        let expiring = self.config.leases_expire.then(|| self.held.values());
        let stops = expiring.into_iter().flatten().filter(strict);
        let stops = stops.filter_map(|held| match held.state {
            HeldLeaseState::Started { .. } => Some(held.lost_contact_at(self.ttl)),
            HeldLeaseState::Stopping { how: StopMode::Term, .. } => Some(held.deadline),
            HeldLeaseState::Queued
            | HeldLeaseState::QueuedAtExecutor { .. }
            | HeldLeaseState::Stopping { how: StopMode::Kill, .. }
            | HeldLeaseState::Finished { .. } => None,
        });
        stops.min()
    }

    /// Takes no more leases, and gives back those that have not started.
    pub fn drain(&mut self) -> Vec<SessionAction> {
        if self.phase == SessionPhase::Working {
            self.phase = SessionPhase::Draining;
        }
        self.unsent = UnsentNews::News;
        self.held.values_mut().filter(|held| held.is_queued()).for_each(HeldLease::release);
        let in_line = self.held.iter().filter(|(_, held)| held.is_queued_at_executor());
        in_line.map(|(fence, _)| SessionAction::Withdraw(*fence)).collect()
    }

    /// Gives up all leases: those that have not started are given back, the others are killed. Outcomes are still
    /// reported.
    pub fn abandon_all(&mut self) -> Vec<SessionAction> {
        // A step that is stopped need not be withdrawn as well.
        drop(self.drain());
        self.kill_started()
    }

    /// Returns the refusal that ended the session, if one did: the worker must kill everything and start again.
    pub const fn ended(&self) -> Option<&WorkerRefusal> {
        match &self.phase {
            SessionPhase::Working | SessionPhase::Draining => None,
            SessionPhase::Over(refusal) => Some(refusal),
        }
    }

    const fn is_over(&self) -> bool {
        self.ended().is_some()
    }

    /// Returns the number of held leases without an outcome.
    pub fn unfinished_leases(&self) -> usize {
        self.held.values().filter(|held| !held.is_finished()).count()
    }

    /// Returns the outcomes without a verdict. A restarted worker presents them when it registers.
    pub fn unacknowledged_outcomes(&self) -> Vec<FinishedAttempt> {
        let reports = self.held.values().map(|held| held.to_listed(usize::MAX));
        reports
            .filter_map(|report| match report {
                ListedLease::Finished(finished) => Some(finished),
                ListedLease::InFlight(_) => None,
            })
            .collect()
    }

    /// Returns the deadlines of this lease if contact stays lost; `None` if it may go on.
    pub fn deadline(&self, fence: Fence) -> Option<ContactDeadline> {
        let held = self.held.get(&fence)?;
        let strict = self.config.leases_expire && held.grant.stops_on_lost_contact;
        let (asks_at, kills_at) = (held.lost_contact_at(self.ttl), held.deadline);
        strict.then_some(ContactDeadline { asks_at, kills_at })
    }
}
