//! The time between the last event of a term and the next takeover, and how much of it counts.
//!
//! Within a term the leader counts time on its monotonic clock. At a takeover, journal time continues with the clock of
//! the store, which may have been set meanwhile. A *jump* of journal time is the part of the gap that is not proven to
//! have passed. A worker counts real time. A jump must therefore end neither the lease of a worker without contact, nor
//! an embargo. The rules:
//!
//! - `Led` carries the proof of its leader ([`ProvenTime`]): the time that it observed on its own monotonic clock since
//!   it saw the newest event, or the time that the store recorded on a clock that no process can set. A process that
//!   has just started and can prove nothing proves zero.
//! - The rest of the gap between the last event and `Led` is the jump. It moves the end of every lease that has waited
//!   for a confirmation since an earlier takeover, the end of an embargo, and the time at which a step is overdue.
//! - Time between two events of one term always counts.
//!
//! An unconfirmed lease therefore ends one TTL after the first `Led` since its grant, not counting the jumps. Leaders
//! that change faster than leases last still end it, with the time in their terms and the time that standbys observe.
//! It stays open only while every leader starts anew, decides nothing and ends within a TTL.
//!
//! The proof also says how long the last leader led after its last event: that time is no
//! [absence](super::leader_absence).

use serde::{Deserialize, Serialize};

use crate::engine::state::engine::Engine;
use crate::planted_bugs::PlantedBug;
use crate::time::Span;

/// The proof of a new leader about the time since the newest event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvenTime {
    /// The time that has passed at least.
    pub passed: Span,
    /// The part of it, from its beginning, in which a node led.
    pub led: Span,
}

impl ProvenTime {
    /// Nothing is proven.
    pub const NONE: Self = Self { passed: Span::ZERO, led: Span::ZERO };

    /// All of the time is proven to have passed, and none of it under a leader.
    pub const ALL: Self = Self { passed: Span::millis(u64::MAX), led: Span::ZERO };

    /// Returns the part of the proof that lies in a gap of that length.
    pub(in crate::engine) fn clamp_to(self, gap: Span) -> Self {
        let passed = self.passed.min(gap);
        Self { passed, led: self.led.min(passed) }
    }
}

impl Engine {
    /// Returns the proof that a takeover now would record.
    pub(in crate::engine) fn proven_now(&self, proven: ProvenTime) -> ProvenTime {
        proven.clamp_to(self.absences.gap(self.now))
    }

    /// Applies a takeover to everything that waits for real time: the unproven part of the gap lengthens the wait.
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
