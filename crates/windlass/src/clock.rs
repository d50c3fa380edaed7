//! The clock by which a process counts what it was given for a while: a worker its leases, a leader its term.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep_until};
use windlass_core::time::{Span, Time};

/// Counts since the start of the machine, suspension included. That of macOS does by itself.
#[cfg(any(target_os = "linux", target_os = "android"))]
const SINCE_START: ClockId = ClockId::Boottime;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
const SINCE_START: ClockId = ClockId::Monotonic;

/// The longest sleep by a clock that counts suspension: a sleep itself does not, and after a suspension it would last
/// too long by as much as was left of it.
const NAP_MAX: Span = Span::secs(1);

/// A process's own time: it only grows, and shares nothing with that of others but the rate.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Kind);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Runtime {
        since: Instant,
    },
    #[cfg(unix)]
    Machine,
}

impl Clock {
    /// The runtime's clock from now on, for what does not end by time, and for virtual time.
    pub fn of_runtime() -> Self {
        Self(Kind::Runtime { since: Instant::now() })
    }

    /// The clock that counts since the start of the machine, suspension included, as the guard does: for what ends by
    /// time.
    #[cfg(unix)]
    pub const fn of_machine() -> Self {
        Self(Kind::Machine)
    }

    /// The time.
    pub fn now(&self) -> Time {
        match self.0 {
            Kind::Runtime { since } => {
                let elapsed = since.elapsed().as_millis();
                Time::from_millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
            }
            #[cfg(unix)]
            Kind::Machine => since_start(),
        }
    }

    /// Whether its moments are the guard's too.
    pub(crate) const fn is_the_guards(&self) -> bool {
        match self.0 {
            Kind::Runtime { .. } => false,
            #[cfg(unix)]
            Kind::Machine => true,
        }
    }

    /// Until when to sleep in order to see that moment; it may have to be looked at again.
    pub(crate) fn nap_until(&self, at: Time) -> Instant {
        let left = at.since(self.now());
        let left = if self.is_the_guards() { left.min(NAP_MAX) } else { left };
        Instant::now() + Duration::from_millis(left.as_millis())
    }
    /// Waits until that moment.
    pub(crate) async fn sleep_until(&self, at: Time) {
        while self.now() < at {
            sleep_until(self.nap_until(at)).await;
        }
    }
}

/// The time since the machine started, suspension included.
#[cfg(unix)]
pub(crate) fn since_start() -> Time {
    let now = clock_gettime(SINCE_START);
    let millis = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
    Time::from_millis(u64::try_from(millis).expect("the time since the start is not negative"))
}
