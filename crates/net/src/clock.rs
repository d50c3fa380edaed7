//! The clock by which a process counts what it was given for a while: a worker its leases, a leader its term.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep_until};
use windlass_core::time::{Span, Time};

/// Counts since the start of the machine, suspension included. That of macOS does by itself.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: ClockId = ClockId::Boottime;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
const BOOT_CLOCK: ClockId = ClockId::Monotonic;

/// The longest sleep by a clock that counts suspension: a sleep itself does not, and after a suspension it would last
/// too long by as much as was left of it.
const SLEEP_MAX: Span = Span::secs(1);

/// A process's own time: it only grows, and shares nothing with that of others but the rate.
#[derive(Clone, Copy, Debug)]
pub struct ProcessClock(ProcessClockSource);

#[derive(Clone, Copy, Debug)]
enum ProcessClockSource {
    Runtime {
        since: Instant,
    },
    #[cfg(unix)]
    SinceBoot,
}

impl ProcessClock {
    /// The runtime's clock from now on, for what does not end by time, and for virtual time.
    pub fn runtime() -> Self {
        Self(ProcessClockSource::Runtime { since: Instant::now() })
    }

    /// The clock that counts since the start of the machine, suspension included, as the guard does: for what ends by
    /// time.
    #[cfg(unix)]
    pub const fn since_boot() -> Self {
        Self(ProcessClockSource::SinceBoot)
    }

    /// The time.
    pub fn now(&self) -> Time {
        match self.0 {
            ProcessClockSource::Runtime { since } => {
                let elapsed = since.elapsed().as_millis();
                Time::from_millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
            }
            #[cfg(unix)]
            ProcessClockSource::SinceBoot => time_since_boot(),
        }
    }

    /// Whether its moments are the guard's too.
    pub const fn is_guard_clock(&self) -> bool {
        match self.0 {
            ProcessClockSource::Runtime { .. } => false,
            #[cfg(unix)]
            ProcessClockSource::SinceBoot => true,
        }
    }

    /// Until when to sleep in order to see that moment; it may have to be looked at again.
    pub fn next_wake_up(&self, at: Time) -> Instant {
        let left = at.since(self.now());
        let left = if self.is_guard_clock() { left.min(SLEEP_MAX) } else { left };
        Instant::now() + Duration::from_millis(left.as_millis())
    }
    /// Waits until that moment.
    pub async fn sleep_until(&self, at: Time) {
        while self.now() < at {
            sleep_until(self.next_wake_up(at)).await;
        }
    }
}

/// The time since the machine started, suspension included.
#[cfg(unix)]
pub fn time_since_boot() -> Time {
    let now = clock_gettime(BOOT_CLOCK);
    let millis = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
    Time::from_millis(u64::try_from(millis).expect("the time since the start is not negative"))
}
