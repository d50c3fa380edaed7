//! The clock by which a worker counts its leases.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::time::{Span, Time};

#[cfg(unix)]
use super::platform;

/// The longest sleep by a clock that counts suspension: a sleep itself does not, and after a suspension it would last
/// too long by as much as was left of it.
const NAP_MAX: Span = Span::secs(1);

/// A worker's own time: it only grows, and shares nothing with the leader's but the rate.
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
    /// The runtime's clock from now on, for leases that do not end by time, and for virtual time.
    pub fn of_runtime() -> Self {
        Self(Kind::Runtime { since: Instant::now() })
    }

    /// The clock that counts since the start of the machine, suspension included, as the guard does: for leases that end
    /// by time.
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
            Kind::Machine => platform::boottime(),
        }
    }

    /// Whether its moments are the guard's too.
    pub(super) const fn is_the_guards(&self) -> bool {
        match self.0 {
            Kind::Runtime { .. } => false,
            #[cfg(unix)]
            Kind::Machine => true,
        }
    }

    /// Until when to sleep in order to see that moment; it may have to be looked at again.
    pub(super) fn nap_until(&self, at: Time) -> Instant {
        let left = at.since(self.now());
        let left = if self.is_the_guards() { left.min(NAP_MAX) } else { left };
        Instant::now() + Duration::from_millis(left.as_millis())
    }
}
