//! The order in which a leader reads its inputs, and how much of each it reads in a row.
//!
//! A leader has six inputs, read in the order of [`LeaderInput::IN_ORDER`]. Three rules decide between the inbox and time:
//!
//! - Without [room](LeaderLoad::has_room) for more requests the leader reads none, and lets no time pass: the engine would
//!   take the workers that it does not read for silent.
//! - A tick comes before requests, so that a flood of requests cannot hold up deadlines. It first reads the requests that have
//!   arrived by then.
//! - A leader that was held up reads requests for a while before it ticks: messages of workers are still on their way.

use crate::engine::BATCH_BYTES_MAX;
use crate::planted_bugs::{PlantedBug, PlantedBugs};
use crate::time::{Span, Time};

/// Events that may gather behind the append in flight before requests have to wait: more would only make a batch that takes
/// longer. Their bytes are limited too, to one batch.
const GATHERING_EVENTS_MAX: usize = 16_384;

/// Answers that may wait for the disk. Clients that gave up and asked again would add up while it hangs.
const UNSENT_ANSWERS_MAX: usize = 65_536;

/// Requests that are decided before the other inputs are looked at again: a batch must not wait for a flood to end.
const REQUESTS_PER_TURN_MAX: usize = 64;

/// For how long a leader that was held up reads requests before it lets time pass. A shorter delay needs no such period. It is a
/// small part of the shortest lease.
const HELD_UP_GRACE: Span = Span::secs(1);

/// An input of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderInput {
    /// The end of the leader lease. The leader answers nothing after it.
    LeaseEnd,
    /// The outcome of the append in flight, or the end of the pause after a failed one.
    AppendOutcome,
    /// The end of the wait for a journal that does not answer while the leader hands over.
    HandOverLimit,
    /// A deadline of the engine.
    Tick,
    /// The next request of a client or exchange of a worker. They share an inbox, and are read as they arrived.
    Request,
    /// The order to shut down.
    Shutdown,
}

impl LeaderInput {
    /// All inputs. The leader handles the first one that is ready.
    pub const IN_ORDER: [Self; 6] = [
        Self::LeaseEnd,
        Self::AppendOutcome,
        Self::HandOverLimit,
        Self::Tick,
        Self::Request,
        Self::Shutdown,
    ];

    /// The order of a leader whose ticks wait for an empty inbox.
    const TICKS_LAST: [Self; 6] = [
        Self::LeaseEnd,
        Self::AppendOutcome,
        Self::HandOverLimit,
        Self::Request,
        Self::Tick,
        Self::Shutdown,
    ];
}

/// What a leader holds until a batch is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaderLoad {
    /// Events that gather behind the append in flight.
    pub events: usize,
    /// Bytes that these events take in a journal.
    pub bytes: usize,
    /// Answers and replies that wait.
    pub answers: usize,
}

impl LeaderLoad {
    /// Whether the leader can take another request.
    pub const fn has_room(self) -> bool {
        self.events < GATHERING_EVENTS_MAX
            && self.bytes < BATCH_BYTES_MAX
            && self.answers < UNSENT_ANSWERS_MAX
    }
}

/// The inputs that a leader waits for in one turn, besides those that it always waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderTurn {
    /// Whether it reads requests.
    pub reads_requests: bool,
    /// When it ticks, if a deadline is pending.
    pub ticks_at: Option<Time>,
}

/// A tick that is due, while the requests before it are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueTick {
    /// How many requests to read before the tick, as far as there is room for them.
    pub requests_first: usize,
    held_up: bool,
}

/// Decides what a leader reads next.
#[derive(Clone, Debug)]
pub struct ReadingOrder {
    /// Since when there has been no room for requests.
    full_since: Option<Time>,
    /// The leader was held up: no tick before this time.
    requests_first_until: Option<Time>,
    last_tick_at: Time,
    bugs: PlantedBugs,
}

impl ReadingOrder {
    /// The order of a leader that begins to lead.
    pub const fn new(now: Time, bugs: PlantedBugs) -> Self {
        Self { full_since: None, requests_first_until: None, last_tick_at: now, bugs }
    }

    /// The inputs in the order in which they are handled.
    pub fn inputs(&self) -> [LeaderInput; 6] {
        if self.bugs.on(PlantedBug::TicksWaitForEmptyInbox) {
            return LeaderInput::TICKS_LAST;
        }
        LeaderInput::IN_ORDER
    }

    /// Begins a turn. `deadline` is the next one of the engine. A leader that shuts down reads no more requests and lets no time
    /// pass.
    pub fn begin_turn(
        &mut self,
        (load, shuts_down): (LeaderLoad, bool),
        deadline: Option<Time>,
        now: Time,
    ) -> LeaderTurn {
        self.note_room(load, now);
        let reads_requests = !shuts_down && load.has_room();
        let ticks_at = deadline.filter(|_| reads_requests);
        let ticks_at = ticks_at.map(|at| self.requests_first_until.map_or(at, |it| at.max(it)));
        LeaderTurn { reads_requests, ticks_at }
    }

    /// A leader that had no room for a while reads requests before it lets time pass, once: the senders were not silent.
    fn note_room(&mut self, load: LeaderLoad, now: Time) {
        if !load.has_room() {
            self.full_since.get_or_insert(now);
        } else if self.full_since.take().is_some_and(|since| now.since(since) >= HELD_UP_GRACE) {
            self.requests_first_until.get_or_insert(now + HELD_UP_GRACE);
        }
    }

    /// Whether the leader reads another request in this turn, after so many.
    pub const fn reads_another(load: LeaderLoad, read: usize) -> bool {
        read < REQUESTS_PER_TURN_MAX && load.has_room()
    }

    /// A tick is due, with so many requests in the inbox. They are read first: if the leader was held up, their senders were
    /// not silent.
    pub fn begin_tick(&self, waiting: usize, deadline: Option<Time>, now: Time) -> DueTick {
        DueTick { requests_first: waiting, held_up: self.is_held_up(deadline, now) }
    }

    /// Whether the tick is much later than its deadline: the leader was stopped, or its machine slept. Messages of workers may
    /// still be on their way through the server. A deadline from before the last tick is left over from that time.
    fn is_held_up(&self, deadline: Option<Time>, now: Time) -> bool {
        let late =
            deadline.is_some_and(|at| at > self.last_tick_at && now.since(at) >= HELD_UP_GRACE);
        late && self.requests_first_until.is_none()
    }

    /// Whether the leader ticks now, after it has read the requests before the tick.
    pub fn finish_tick(&mut self, tick: DueTick, load: LeaderLoad, now: Time) -> bool {
        if !load.has_room() {
            return false;
        }
        if tick.held_up {
            self.requests_first_until = Some(now + HELD_UP_GRACE);
            return false;
        }
        (self.requests_first_until, self.last_tick_at) = (None, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: LeaderLoad = LeaderLoad { events: GATHERING_EVENTS_MAX, bytes: 0, answers: 0 };
    const IDLE: LeaderLoad = LeaderLoad { events: 0, bytes: 0, answers: 0 };

    const fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn order() -> ReadingOrder {
        ReadingOrder::new(at(0), PlantedBugs::NONE)
    }

    #[test]
    fn tick_is_handled_before_requests_and_after_appends() {
        let place = |input| LeaderInput::IN_ORDER.iter().position(|it| *it == input);
        assert!(place(LeaderInput::AppendOutcome) < place(LeaderInput::Tick));
        assert!(place(LeaderInput::Tick) < place(LeaderInput::Request));
    }

    #[test]
    fn leader_without_room_reads_nothing_and_lets_no_time_pass() {
        let turn = order().begin_turn((FULL, false), Some(at(10)), at(5));
        assert_eq!(turn, LeaderTurn { reads_requests: false, ticks_at: None });
        let turn = order().begin_turn((IDLE, true), Some(at(10)), at(5));
        assert_eq!(turn, LeaderTurn { reads_requests: false, ticks_at: None });
        assert!(!ReadingOrder::reads_another(FULL, 1));
        assert!(!ReadingOrder::reads_another(IDLE, REQUESTS_PER_TURN_MAX));
        assert!(ReadingOrder::reads_another(IDLE, REQUESTS_PER_TURN_MAX - 1));
    }

    #[test]
    fn leader_that_had_no_room_reads_requests_for_a_second_before_it_ticks() {
        let mut order = order();
        order.begin_turn((FULL, false), Some(at(10)), at(5));
        let turn = order.begin_turn((IDLE, false), Some(at(10)), at(1_005));
        assert_eq!(turn.ticks_at, Some(at(2_005)));
        let tick = order.begin_tick(3, Some(at(10)), at(2_005));
        assert_eq!(tick.requests_first, 3);
        assert!(order.finish_tick(tick, IDLE, at(2_005)), "the grace is given once");
        let turn = order.begin_turn((IDLE, false), Some(at(3_000)), at(2_010));
        assert_eq!(turn.ticks_at, Some(at(3_000)));
    }

    #[test]
    fn leader_that_was_stopped_gives_senders_a_second_once() {
        let mut order = order();
        let tick = order.begin_tick(0, Some(at(100)), at(1_100));
        assert!(!order.finish_tick(tick, IDLE, at(1_100)));
        let turn = order.begin_turn((IDLE, false), Some(at(100)), at(1_101));
        assert_eq!(turn.ticks_at, Some(at(2_100)));
        let tick = order.begin_tick(0, Some(at(100)), at(2_100));
        assert!(order.finish_tick(tick, IDLE, at(2_100)));
        let tick = order.begin_tick(0, Some(at(100)), at(3_500));
        assert!(order.finish_tick(tick, IDLE, at(3_500)), "the deadline is from before the tick");
    }

    #[test]
    fn tick_waits_if_the_requests_before_it_leave_no_room() {
        let mut order = order();
        let tick = order.begin_tick(70, Some(at(100)), at(100));
        assert!(!order.finish_tick(tick, FULL, at(100)));
        assert!(order.finish_tick(tick, IDLE, at(101)));
    }
}
