//! Time between the last event of a term and the next takeover: how much of it counts.
//!
//! Within a term the leader counts time on its monotonic clock. At a takeover journal time begins anew with the clock of the
//! store, which may have been set meanwhile: a *leap* of journal time is a part of the gap that nothing proves to have
//! passed. A worker counts real time, so a leap must end neither the lease of a worker that the leader has not heard, nor an
//! embargo. The rule:
//!
//! - `Led` carries what its leader can prove ([`ProvenTime`]): what it has observed on its own monotonic clock since it saw the
//!   newest event, or what the store has recorded on a clock that no process can set. A process that has just started and
//!   can prove nothing proves zero.
//! - The rest of the gap between the last event and `Led` is the leap. It moves the end of every lease that waits for a
//!   confirmation since an earlier takeover, the end of an embargo, and the moment at which a step counts as overdue.
//! - Time between two events of one term always counts.
//!
//! So an unconfirmed lease ends one TTL after the first `Led` that it has seen, less the leaps. Leaders that change faster
//! than leases last still end it, by what they decide in their terms and by what standbys observe. Only leaders that start
//! anew each time, decide nothing and end within a TTL keep it open, for as long as that goes on.
//!
//! The same proof tells how long the last leader led on after its last event: that is no [absence](super::leader_absence).

use serde::{Deserialize, Serialize};

use crate::engine::state::engine::Engine;
use crate::planted_bugs::PlantedBug;
use crate::time::Span;

/// What a new leader can prove of the time since the newest event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenTime {
    /// So much has passed, or more.
    pub passed: Span,
    /// In so much of it, from its beginning on, a leader led.
    pub led: Span,
}

impl ProvenTime {
    /// Nothing is proven.
    pub const NONE: Self = Self { passed: Span::ZERO, led: Span::ZERO };

    /// All of the time is proven to have passed, and none of it under a leader.
    pub const ALL: Self = Self { passed: Span::millis(u64::MAX), led: Span::ZERO };

    /// What of it lies in a gap of that length.
    pub(in crate::engine) fn clamp_to(self, gap: Span) -> Self {
        let passed = self.passed.min(gap);
        Self { passed, led: self.led.min(passed) }
    }
}

impl Engine {
    /// What a takeover now would record of the proof.
    pub(in crate::engine) fn proven_now(&self, proven: ProvenTime) -> ProvenTime {
        proven.clamp_to(self.absences.gap(self.now))
    }

    /// A takeover now: what waits for real time waits longer by what is not proven to have passed.
    pub(in crate::engine) fn extend_by_gap(&mut self, proven: ProvenTime) {
        let gap = self.absences.gap(self.now);
        let leap = gap.saturating_sub(proven.clamp_to(gap).passed);
        if leap == Span::ZERO {
            return;
        }
        let bugs = self.config.bugs;
        if self.embargo.until > self.absences.last() && !bugs.on(PlantedBug::LeapEndsEmbargo) {
            self.embargo.until = self.embargo.until + leap;
        }
        for lease_ix in self.leases.indices() {
            let lease = &mut self.leases[lease_ix];
            if !bugs.on(PlantedBug::LeapEndsLease) {
                lease.led_since = lease.led_since.map(|since| since + leap);
            }
            if lease.started_at.is_some() {
                lease.leapt = lease.leapt + leap;
                self.watch_overdue(lease_ix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_never_longer_than_the_gap() {
        let proven = ProvenTime { passed: Span::secs(9), led: Span::secs(7) };
        assert_eq!(proven.clamp_to(Span::secs(20)), proven);
        let within = ProvenTime { passed: Span::secs(5), led: Span::secs(5) };
        assert_eq!(proven.clamp_to(Span::secs(5)), within);
        assert_eq!(ProvenTime::ALL.clamp_to(Span::ZERO), ProvenTime::NONE);
    }
}
