//! Detects whether the expected leader is alive. A machine without power refuses no connection: requests to it hang.
//!
//! A leader parks an exchange for an interval, which each answer states, or until it has a newer one. An exchange that
//! is pending for longer has therefore not reached a leader. From then on the controller counts as *silent*: other
//! pending requests to it are given up. Before the next request, a health check of at most one second asks whether it
//! is back. A controller that was only slow passes it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use windlass_core::id::{Incarnation, Seq};
use windlass_core::time::Span;
use windlass_net::http::ControllerAddress;

/// Time that an answer may take beyond the parking interval: for the network, and to become durable.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);

/// How long an exchange may be pending after a newer one was sent.
const OVERTAKEN_FOR: Duration = Duration::from_secs(2);

/// The longest timeout of an exchange: longer than any leader parks one.
pub(super) const EXCHANGE_TIMEOUT_MAX: Duration = Duration::from_mins(1);

/// An exchange, identified by its worker's incarnation and its sequence number.
pub(super) type SentExchange = (Incarnation, Seq);

/// The silent controller, and the current exchange timeout.
#[derive(Debug)]
pub(super) struct LeaderLiveness {
    silent: watch::Sender<Option<ControllerAddress>>,
    /// The newest exchange sent, of the newest incarnation: each incarnation counts its own.
    newest: watch::Sender<SentExchange>,
    exchange_timeout: Mutex<Duration>,
}

impl LeaderLiveness {
    /// Starts without a silent controller, and with the parking interval unknown.
    pub(super) fn new() -> Self {
        let (silent, newest) =
            (watch::Sender::new(None), watch::Sender::new((Incarnation(0), Seq(0))));
        Self { silent, newest, exchange_timeout: Mutex::new(EXCHANGE_TIMEOUT_MAX) }
    }

    /// Timeout of an exchange.
    pub(super) fn exchange_timeout(&self) -> Duration {
        *self.exchange_timeout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records an answer from a leader, with the interval for which that leader parks exchanges.
    pub(super) fn record_answer(&self, interval: Span) {
        let keeps = Duration::from_millis(interval.as_millis());
        *self.exchange_timeout.lock().unwrap_or_else(PoisonError::into_inner) =
            keeps.saturating_add(ANSWER_MARGIN).min(EXCHANGE_TIMEOUT_MAX);
    }

    /// Records that an exchange was sent.
    pub(super) fn record_sent(&self, sent: SentExchange) {
        self.newest.send_if_modified(|newest| std::mem::replace(newest, sent.max(*newest)) < sent);
    }

    /// Waits until a newer exchange has been pending for so long that a leader would have answered this one.
    pub(super) async fn wait_until_overtaken(&self, sent: SentExchange) {
        drop(self.newest.subscribe().wait_for(|newest| *newest > sent).await);
        sleep(OVERTAKEN_FOR).await;
    }

    /// Records that this controller did not answer in time. The next leader may park exchanges for longer, so the
    /// timeout grows.
    pub(super) fn mark_silent(&self, address: &ControllerAddress) {
        let mut patience = self.exchange_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        *patience = (*patience * 2).min(EXCHANGE_TIMEOUT_MAX);
        self.silent.send_replace(Some(address.clone()));
    }

    /// Records that the controller responds again.
    pub(super) fn mark_responsive(&self) {
        self.silent.send_replace(None);
    }

    pub(super) fn is_silent(&self, address: &ControllerAddress) -> bool {
        self.silent.borrow().as_ref() == Some(address)
    }

    /// Waits until this controller is silent, if necessary forever.
    pub(super) async fn wait_until_silent(&self, address: &ControllerAddress) {
        let mut silent = self.silent.subscribe();
        // The sender is part of `self`, so this does not fail.
        drop(silent.wait_for(|silent| silent.as_ref() == Some(address)).await);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn exchange_is_overtaken_only_by_a_newer_one() {
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
            "another incarnation"
        );
    }

    #[test]
    fn response_timeout_exceeds_the_poll_time_and_grows_without_answers() {
        let (silence, address) = (LeaderLiveness::new(), "http://a:1".parse().unwrap());
        assert_eq!(silence.exchange_timeout(), EXCHANGE_TIMEOUT_MAX, "no interval known yet");
        silence.record_answer(Span::secs(5));
        assert_eq!(silence.exchange_timeout(), Duration::from_secs(7));
        silence.mark_silent(&address);
        assert_eq!(silence.exchange_timeout(), Duration::from_secs(14));
        (0..9).for_each(|_| silence.mark_silent(&address));
        assert_eq!(silence.exchange_timeout(), EXCHANGE_TIMEOUT_MAX);
        assert!(silence.is_silent(&address));
        silence.mark_responsive();
        silence.record_answer(Span::secs(1));
        assert!(
            !silence.is_silent(&address) && silence.exchange_timeout() == Duration::from_secs(3)
        );
    }
}
