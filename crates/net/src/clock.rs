//! The clock for everything that expires: a worker's leases, a leader's term.

use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep_until};
use windlass_core::time::{Span, Time};

/// Counts from the start of the machine and includes suspension. The clock of macOS does so by default.
#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: ClockId = ClockId::Boottime;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
const BOOT_CLOCK: ClockId = ClockId::Monotonic;

/// The longest sleep on a clock that counts suspension. A sleep does not count it, so after a suspension it would last too
/// long by the rest of the sleep.
const SLEEP_MAX: Span = Span::secs(1);

/// The time of a process. It only grows; clocks of different processes share nothing but the rate.
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
    /// Creates a clock from the runtime's clock, for leases that do not expire, and for virtual time.
    pub fn runtime() -> Self {
        Self(ProcessClockSource::Runtime { since: Instant::now() })
    }

    /// Creates a clock that counts from the start of the machine and includes suspension, as the guard's does, for leases that
    /// expire.
    #[cfg(unix)]
    pub const fn since_boot() -> Self {
        Self(ProcessClockSource::SinceBoot)
    }

    /// Returns the clock of leases: it continues while the machine sleeps, where the platform has such a clock.
    #[cfg(unix)]
    pub const fn of_leases() -> Self {
        Self::since_boot()
    }

    /// Returns the clock of leases: it continues while the machine sleeps, where the platform has such a clock.
    #[cfg(not(unix))]
    pub fn of_leases() -> Self {
        Self::runtime()
    }

    /// Returns the time.
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

    /// Returns whether the guard uses the same clock.
    pub const fn is_guard_clock(&self) -> bool {
        match self.0 {
            ProcessClockSource::Runtime { .. } => false,
            #[cfg(unix)]
            ProcessClockSource::SinceBoot => true,
        }
    }

    /// Returns the end of a sleep until that moment; the clock may have to be read again after it.
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

/// Returns the time since the machine started, suspension included.
#[cfg(unix)]
pub fn time_since_boot() -> Time {
    let now = clock_gettime(BOOT_CLOCK);
    let millis = now.tv_sec * 1000 + now.tv_nsec / 1_000_000;
    Time::from_millis(u64::try_from(millis).expect("the time since the start is not negative"))
}
