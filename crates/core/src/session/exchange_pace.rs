//! The pace of a worker's exchanges: an exchange that could carry more in a moment waits for that moment.
//!
//! The [session](super::WorkerSession) knows what there is to report. Each exchange costs a commit and a wake-up, which is more
//! than a short step costs, so the pace decides how long a report waits for others.

use std::time::Duration;

use super::worker_session::WorkerSession;
use crate::start_queue::StartQueueLimits;
use crate::time::Span;

/// How long a report waits for others while other steps run, and for the answer to an exchange that has just left: the
/// shortest time that a timer knows, and long beside a step that does next to nothing.
const LINGER: Duration = Duration::from_millis(1);

/// The same while more steps wait than slots are free: whatever the leader answers would wait behind them.
const LINGER_AHEAD: Duration = Duration::from_millis(5);

/// The same where no other worker exists: no step that becomes ready could run elsewhere meanwhile.
const LINGER_ALONE: Duration = Duration::from_millis(20);

/// How long an exchange that reports starts only waits for an end to report: a step that is over by then costs one commit
/// instead of two.
const START_REPORT_WAIT: Duration = Duration::from_millis(10);

/// Whether other workers serve the same leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerWorkers {
    /// No others exist or will join. What becomes ready could run nowhere else, so reports can wait longer.
    Never,
    /// Others exist, or may join.
    Possible,
}

impl PeerWorkers {
    /// How long a report waits while steps wait for a slot.
    const fn linger_ahead(self) -> Duration {
        match self {
            Self::Never => LINGER_ALONE,
            Self::Possible => LINGER_AHEAD,
        }
    }
}

/// What the pace depends on and does not change.
#[derive(Clone, Copy, Debug)]
pub struct PaceSettings {
    /// Whether other workers serve the same leader.
    pub peers: PeerWorkers,
    /// How many steps run at a time.
    pub slots: u32,
    /// The most leases that the worker takes.
    pub capacity: u32,
    /// False where leader and worker share one process.
    pub leases_expire: bool,
}

/// Decides how long an exchange is held back. Its clock counts from any origin, finer than
/// [`Time`](crate::time::Time): the shortest wait is one millisecond.
#[derive(Clone, Debug)]
pub struct ExchangePace {
    settings: PaceSettings,
    /// Since when exchanges wait for more to report.
    lingers_since: Option<Duration>,
    /// No exchange that reports starts only leaves before.
    starts_wait_until: Option<Duration>,
    /// No exchange leaves before: the last one did not arrive.
    backoff_until: Option<Duration>,
    /// Attempts that have ended since the last exchange.
    unreported_ends: usize,
}

impl ExchangePace {
    /// The pace of a worker that has just joined.
    pub const fn new(settings: PaceSettings) -> Self {
        Self {
            settings,
            lingers_since: None,
            starts_wait_until: None,
            backoff_until: None,
            unreported_ends: 0,
        }
    }

    /// The limits that this worker sends to its executor with each queued step.
    pub fn queue_limits(&self) -> StartQueueLimits {
        let wait = self.settings.peers.linger_ahead().as_millis();
        let news_wait = Span::millis(u64::try_from(wait).unwrap_or(0));
        StartQueueLimits { below: self.settings.slots, news_wait }
    }

    /// Until when exchanges are held back, if they are.
    pub fn held_back_until(&self, session: &WorkerSession) -> Option<Duration> {
        let pace = if session.has_news() {
            let ahead = session.has_ahead();
            let linger = if ahead { self.settings.peers.linger_ahead() } else { LINGER };
            self.lingers_since.map(|since| since + linger)
        } else {
            self.starts_wait_until
        };
        pace.max(self.backoff_until)
    }

    /// An exchange has left.
    pub const fn on_sent(&mut self, now: Duration) {
        self.lingers_since = Some(now);
        self.starts_wait_until = None;
        self.unreported_ends = 0;
    }

    /// An exchange did not arrive. The next one leaves after the back-off.
    pub const fn on_send_failed(&mut self, backoff_until: Duration) {
        self.backoff_until = Some(backoff_until);
    }

    /// A reply has arrived. If the worker has something to do now, steps that do next to nothing are over in a moment: they
    /// are reported together with what the leader grants in their place.
    pub fn on_reply(&mut self, has_actions: bool, now: Duration) {
        self.backoff_until = None;
        if has_actions {
            self.lingers_since = Some(now);
            self.starts_wait_until = Some(now + START_REPORT_WAIT);
        }
    }

    /// Queued steps have started, the first of them so long ago.
    pub fn on_queue_started(&mut self, ago: Span, now: Duration) {
        if self.starts_wait_until.is_none_or(|until| until <= now) {
            let waited = Duration::from_millis(ago.as_millis());
            self.starts_wait_until = Some(now + START_REPORT_WAIT.saturating_sub(waited));
        }
    }

    /// Attempts have ended. The next exchange leaves at once in three cases: nothing else is about to end; so much has ended
    /// that the leader can work on it while the rest runs; or a step failed, and the leader may end the rest.
    pub const fn on_ended(&mut self, number: usize, failed: bool, none_left: bool) {
        self.unreported_ends += number;
        if failed || none_left || self.unreported_ends >= self.ends_before_exchange() {
            self.lingers_since = None;
        }
    }

    /// The worker gives up: its reports leave at once.
    pub const fn on_give_up(&mut self) {
        (self.lingers_since, self.backoff_until) = (None, None);
    }

    /// In the leader's own process an exchange costs next to nothing, and the sooner either side has something to do the less
    /// it waits.
    const fn ends_before_exchange(&self) -> usize {
        let part = if self.settings.leases_expire { 2 } else { 4 };
        self.settings.capacity as usize / part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Incarnation, Term, WorkerId};
    use crate::planted_bugs::PlantedBugs;
    use crate::session::{RegisterReply, SessionConfig};
    use crate::time::Time;

    const SETTINGS: PaceSettings =
        PaceSettings { peers: PeerWorkers::Never, slots: 2, capacity: 16, leases_expire: false };

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn session() -> WorkerSession {
        let config = SessionConfig {
            worker: WorkerId(1),
            incarnation: Incarnation(1),
            slots: 2,
            capacity: 16,
            leases_expire: false,
            bugs: PlantedBugs::NONE,
        };
        let (ttl, interval) = (Span::secs(15), Span::secs(5));
        WorkerSession::new(
            config,
            &RegisterReply { term: Term(1), ttl, interval, verdicts: Vec::new() },
        )
    }

    #[test]
    fn news_lingers_after_an_exchange_and_leaves_at_once_when_nothing_else_can_end() {
        let (mut pace, session) = (ExchangePace::new(SETTINGS), session());
        assert_eq!(pace.held_back_until(&session), None, "the first exchange does not wait");
        pace.on_sent(ms(100));
        assert_eq!(pace.held_back_until(&session), Some(ms(101)));
        pace.on_ended(1, false, false);
        assert_eq!(pace.held_back_until(&session), Some(ms(101)));
        pace.on_ended(1, false, true);
        assert_eq!(pace.held_back_until(&session), None);
    }

    #[test]
    fn quarter_of_the_capacity_or_a_failure_is_reported_at_once() {
        let (mut pace, session) = (ExchangePace::new(SETTINGS), session());
        pace.on_sent(ms(0));
        pace.on_ended(3, false, false);
        assert!(pace.held_back_until(&session).is_some());
        pace.on_ended(1, false, false);
        assert_eq!(pace.held_back_until(&session), None, "four of sixteen");
        pace.on_sent(ms(10));
        pace.on_ended(1, true, false);
        assert_eq!(pace.held_back_until(&session), None, "one failed");
    }

    #[test]
    fn start_is_reported_with_an_end_or_ten_milliseconds_later() {
        let (mut pace, mut session) = (ExchangePace::new(SETTINGS), session());
        session.exchange(Time::ZERO);
        assert!(!session.has_news());
        pace.on_queue_started(Span::millis(4), ms(100));
        assert_eq!(pace.held_back_until(&session), Some(ms(106)));
        pace.on_queue_started(Span::ZERO, ms(103));
        assert_eq!(pace.held_back_until(&session), Some(ms(106)), "the first start decides");
    }

    #[test]
    fn back_off_ends_with_a_reply_or_when_the_worker_gives_up() {
        let (mut pace, session) = (ExchangePace::new(SETTINGS), session());
        pace.on_send_failed(ms(900));
        assert_eq!(pace.held_back_until(&session), Some(ms(900)));
        pace.on_reply(false, ms(200));
        assert_eq!(pace.held_back_until(&session), None);
        pace.on_send_failed(ms(900));
        pace.on_give_up();
        assert_eq!(pace.held_back_until(&session), None);
    }
}
