//! Decides which objects a sweep may remove.
//!
//! A sweep begins at a moment of the store's clock. Then it collects the live objects: those that a retained run, a cache
//! entry or an open lease names. An object that a client stored or asked for in the meantime is not among them, although
//! the client is about to name it. So an object has a second protection: the time at which it was last *touched*, which is
//! when it was stored, stored again, or reported as present.
//!
//! A client that was told that an object is present must name it within the grace period, or ask again.

use crate::time::{Span, Time};

/// Minimum grace period. A store records touches to the minute only, and a client that has asked for 10,000 objects needs
/// some minutes for the upload of the missing ones.
pub const GRACE_MIN: Span = Span::mins(10);

/// The rule of one sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SweepRule {
    began: Time,
    grace: Span,
}

impl SweepRule {
    /// Creates the rule of a sweep that began at `began`, before its live objects were collected. A grace period below
    /// [`GRACE_MIN`] is raised to it.
    pub fn new(began: Time, grace: Span) -> Self {
        Self { began, grace: grace.max(GRACE_MIN) }
    }

    /// Returns the moment since which an object must not have been touched to be removed.
    pub fn untouched_since(&self) -> Time {
        self.began - self.grace
    }

    /// Returns whether the sweep removes the object. The store compares the time of the last touch again when it removes
    /// the object, at once with the removal: the object may have been touched since it was listed.
    pub fn removes(&self, is_live: bool, touched: Time) -> bool {
        !is_live && touched < self.untouched_since()
    }
}

/// The treatment of a pack, some of whose objects are to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackVerdict {
    /// Too few of its bytes are to be removed: the pack stays as it is.
    Keep,
    /// The other objects are written to a new pack.
    Rewrite,
    /// No object remains.
    Remove,
}

impl PackVerdict {
    /// Judges a pack by its bytes and by those to be removed. A pack is rewritten when half of it is unused: so a store is
    /// at most twice as large as its content, and a byte is rewritten once per halving at most.
    pub fn of(bytes: u64, unused: u64) -> Self {
        if unused >= bytes {
            Self::Remove
        } else if unused >= bytes.div_ceil(2) {
            Self::Rewrite
        } else {
            Self::Keep
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unused_and_untouched_objects_are_removed() {
        let rule = SweepRule::new(Time::ZERO + Span::hours(48), Span::hours(24));
        let limit = Time::ZERO + Span::hours(24);
        assert_eq!(rule.untouched_since(), limit);
        let before = limit - Span::millis(1);
        let decided = [(false, before), (false, limit), (true, before), (true, limit)];
        assert_eq!(
            decided.map(|(live, touched)| rule.removes(live, touched)),
            [true, false, false, false]
        );
    }

    #[test]
    fn grace_period_has_a_minimum() {
        let rule = SweepRule::new(Time::ZERO + Span::hours(1), Span::ZERO);
        assert_eq!(rule.untouched_since(), Time::ZERO + Span::mins(50));
    }

    #[test]
    fn pack_is_rewritten_when_half_of_it_is_unused() {
        use PackVerdict::{Keep, Remove, Rewrite};
        let verdicts = [(10, 0), (10, 4), (10, 5), (9, 4), (9, 5), (10, 9), (10, 10), (0, 0)];
        let verdicts = verdicts.map(|(bytes, unused)| PackVerdict::of(bytes, unused));
        assert_eq!(verdicts, [Keep, Keep, Rewrite, Keep, Rewrite, Rewrite, Remove, Remove]);
    }
}
