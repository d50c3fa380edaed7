//! Whether who is thought to lead is there at all. A machine that has lost its power refuses nothing: whoever asks it waits.
//!
//! A leader keeps an exchange for an interval, which it tells with each answer, or until it has a newer one; so one that is
//! out for longer has not reached anybody. From then on that controller counts as silent: whatever else waits for it is given up, and it is
//! asked how it is, which takes a second, before it is asked anything else. One that only was slow says so.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use windlass_core::id::{Incarnation, Seq};
use windlass_core::time::Span;

use windlass_net::http::ControllerAddress;

/// How long an answer may take beyond what the leader keeps it for: to travel, and to become durable.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// How long an exchange may be out when a newer one is.
const OVERTAKEN_FOR: Duration = Duration::from_secs(2);

/// The longest that an answer is waited for: longer than a leader keeps any.
pub(super) const EXCHANGE_TIMEOUT_MAX: Duration = Duration::from_mins(1);

/// An exchange, by its worker's life and its number there.
pub(super) type SentExchange = (Incarnation, Seq);

/// Who is silent, and how long somebody may be before.
#[derive(Debug)]
pub(super) struct LeaderLiveness {
    silent: watch::Sender<Option<ControllerAddress>>,
    /// The newest exchange that is out, of the newest life: each counts its own.
    newest: watch::Sender<SentExchange>,
    exchange_timeout: Mutex<Duration>,
}

impl LeaderLiveness {
    /// Nobody is known to be, and how long leaders keep exchanges is not known either.
    pub(super) fn new() -> Self {
        let (silent, newest) =
            (watch::Sender::new(None), watch::Sender::new((Incarnation(0), Seq(0))));
        Self { silent, newest, exchange_timeout: Mutex::new(EXCHANGE_TIMEOUT_MAX) }
    }

    /// How long an exchange is waited for.
    pub(super) fn exchange_timeout(&self) -> Duration {
        *self.exchange_timeout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A leader has answered, and keeps exchanges for so long.
    pub(super) fn record_answer(&self, interval: Span) {
        let keeps = Duration::from_millis(interval.as_millis());
        *self.exchange_timeout.lock().unwrap_or_else(PoisonError::into_inner) =
            keeps.saturating_add(ANSWER_MARGIN).min(EXCHANGE_TIMEOUT_MAX);
    }

    /// An exchange is on its way.
    pub(super) fn record_sent(&self, sent: SentExchange) {
        self.newest.send_if_modified(|newest| std::mem::replace(newest, sent.max(*newest)) < sent);
    }

    /// Waits until a newer exchange than this is out for so long that a leader would have answered this one.
    pub(super) async fn wait_until_overtaken(&self, sent: SentExchange) {
        drop(self.newest.subscribe().wait_for(|newest| *newest > sent).await);
        sleep(OVERTAKEN_FOR).await;
    }

    /// Nobody answered there in time. The next leader may keep exchanges for longer, so the next one has longer.
    pub(super) fn mark_silent(&self, place: &ControllerAddress) {
        let mut patience = self.exchange_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        *patience = (*patience * 2).min(EXCHANGE_TIMEOUT_MAX);
        self.silent.send_replace(Some(place.clone()));
    }

    /// It says that it is there.
    pub(super) fn mark_responsive(&self) {
        self.silent.send_replace(None);
    }

    pub(super) fn is_silent(&self, place: &ControllerAddress) -> bool {
        self.silent.borrow().as_ref() == Some(place)
    }

    /// Waits until somebody falls silent, for ever if need be.
    pub(super) async fn wait_until_silent(&self, place: &ControllerAddress) {
        let mut silent = self.silent.subscribe();
        // It lasts as long as its sender, which is this.
        drop(silent.wait_for(|silent| silent.as_ref() == Some(place)).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_exchange_is_overtaken_by_a_newer_one_and_by_no_other() {
        let silence = LeaderLiveness::new();
        let of_first = |seq: u64| (Incarnation(1), Seq(seq));
        silence.record_sent(of_first(5));
        let hour = Duration::from_hours(1);
        assert!(
            tokio::time::timeout(hour, silence.wait_until_overtaken(of_first(5))).await.is_err()
        );
        silence.record_sent(of_first(4));
        assert!(
            tokio::time::timeout(hour, silence.wait_until_overtaken(of_first(5))).await.is_err()
        );
        let began = tokio::time::Instant::now();
        silence.wait_until_overtaken(of_first(4)).await;
        assert_eq!(began.elapsed(), OVERTAKEN_FOR);
        let anew = (Incarnation(2), Seq(1));
        silence.record_sent(anew);
        assert!(
            tokio::time::timeout(hour, silence.wait_until_overtaken(anew)).await.is_err(),
            "another life"
        );
    }

    #[test]
    fn response_timeout_exceeds_the_poll_time_and_grows_without_answers() {
        let (silence, place) = (LeaderLiveness::new(), "http://a:1".parse().unwrap());
        assert_eq!(silence.exchange_timeout(), EXCHANGE_TIMEOUT_MAX, "nobody has told yet");
        silence.record_answer(Span::secs(5));
        assert_eq!(silence.exchange_timeout(), Duration::from_secs(7));
        silence.mark_silent(&place);
        assert_eq!(silence.exchange_timeout(), Duration::from_secs(14));
        (0..9).for_each(|_| silence.mark_silent(&place));
        assert_eq!(silence.exchange_timeout(), EXCHANGE_TIMEOUT_MAX);
        assert!(silence.is_silent(&place));
        silence.mark_responsive();
        silence.record_answer(Span::secs(1));
        assert!(!silence.is_silent(&place) && silence.exchange_timeout() == Duration::from_secs(3));
    }
}
