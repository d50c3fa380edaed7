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

use super::follow::Place;

/// How long an answer may take beyond what the leader keeps it for: to travel, and to become durable.
const BEYOND: Duration = Duration::from_secs(2);

/// How long an exchange may be out when a newer one is.
const OVERTAKEN_FOR: Duration = Duration::from_secs(2);

/// The longest that an answer is waited for: longer than a leader keeps any.
pub(super) const LONGEST: Duration = Duration::from_mins(1);

/// An exchange, by its worker's life and its number there.
pub(super) type Sent = (Incarnation, Seq);

/// Who is silent, and how long somebody may be before.
#[derive(Debug)]
pub(super) struct Silence {
    silent: watch::Sender<Option<Place>>,
    /// The newest exchange that is out, of the newest life: each counts its own.
    newest: watch::Sender<Sent>,
    patience: Mutex<Duration>,
}

impl Silence {
    /// Nobody is known to be, and how long leaders keep exchanges is not known either.
    pub(super) fn new() -> Self {
        let (silent, newest) =
            (watch::Sender::new(None), watch::Sender::new((Incarnation(0), Seq(0))));
        Self { silent, newest, patience: Mutex::new(LONGEST) }
    }

    /// How long an exchange is waited for.
    pub(super) fn patience(&self) -> Duration {
        *self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A leader has answered, and keeps exchanges for so long.
    pub(super) fn answered(&self, interval: Span) {
        let keeps = Duration::from_millis(interval.as_millis());
        *self.patience.lock().unwrap_or_else(PoisonError::into_inner) =
            keeps.saturating_add(BEYOND).min(LONGEST);
    }

    /// An exchange is on its way.
    pub(super) fn sent(&self, sent: Sent) {
        self.newest.send_if_modified(|newest| std::mem::replace(newest, sent.max(*newest)) < sent);
    }

    /// Waits until a newer exchange than this is out for so long that a leader would have answered this one.
    pub(super) async fn overtakes(&self, sent: Sent) {
        drop(self.newest.subscribe().wait_for(|newest| *newest > sent).await);
        sleep(OVERTAKEN_FOR).await;
    }

    /// Nobody answered there in time. The next leader may keep exchanges for longer, so the next one has longer.
    pub(super) fn fell_silent(&self, place: &Place) {
        let mut patience = self.patience.lock().unwrap_or_else(PoisonError::into_inner);
        *patience = (*patience * 2).min(LONGEST);
        self.silent.send_replace(Some(place.clone()));
    }

    /// It says that it is there.
    pub(super) fn awoke(&self) {
        self.silent.send_replace(None);
    }

    pub(super) fn is_silent(&self, place: &Place) -> bool {
        self.silent.borrow().as_ref() == Some(place)
    }

    /// Waits until somebody falls silent, for ever if need be.
    pub(super) async fn falls_silent(&self, place: &Place) {
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
        let silence = Silence::new();
        let of_first = |seq: u64| (Incarnation(1), Seq(seq));
        silence.sent(of_first(5));
        let hour = Duration::from_hours(1);
        assert!(tokio::time::timeout(hour, silence.overtakes(of_first(5))).await.is_err());
        silence.sent(of_first(4));
        assert!(tokio::time::timeout(hour, silence.overtakes(of_first(5))).await.is_err());
        let began = tokio::time::Instant::now();
        silence.overtakes(of_first(4)).await;
        assert_eq!(began.elapsed(), OVERTAKEN_FOR);
        let anew = (Incarnation(2), Seq(1));
        silence.sent(anew);
        assert!(tokio::time::timeout(hour, silence.overtakes(anew)).await.is_err(), "another life");
    }

    #[test]
    fn patience_is_what_the_leader_keeps_and_a_little_and_grows_while_nobody_answers() {
        let (silence, place) = (Silence::new(), "http://a:1".parse().unwrap());
        assert_eq!(silence.patience(), LONGEST, "nobody has told yet");
        silence.answered(Span::secs(5));
        assert_eq!(silence.patience(), Duration::from_secs(7));
        silence.fell_silent(&place);
        assert_eq!(silence.patience(), Duration::from_secs(14));
        (0..9).for_each(|_| silence.fell_silent(&place));
        assert_eq!(silence.patience(), LONGEST);
        assert!(silence.is_silent(&place));
        silence.awoke();
        silence.answered(Span::secs(1));
        assert!(!silence.is_silent(&place) && silence.patience() == Duration::from_secs(3));
    }
}
