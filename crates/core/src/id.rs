//! Ids as small numbers, one type each, so that they cannot be confused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::time::Time;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($int:ty), $prefix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
        )]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{self}")
            }
        }
    };
}

number! {
    /// Index of a node in its plan: a step, or the join of a matrix.
    StepIx(u32), "#"
}
number! {
    /// The index of a step specification in its plan; steps with equal rules share one.
    SpecIx(u32), "spec "
}
number! {
    /// The id of a worker, kept in its state directory across restarts.
    WorkerId(u64), "w"
}
number! {
    /// The incarnation of a worker: one start of its process. Each start has a greater number than the one before.
    Incarnation(u64), "i"
}
number! {
    /// The number of a leader's term. Each campaign that wins gets a greater one.
    Term(u64), "t"
}
number! {
    /// The number of an exchange within an incarnation; it grows by one with each exchange that the worker sends.
    Seq(u64), "s"
}
number! {
    /// The id of a token: the number of tokens created before it, plus one.
    TokenId(u64), "k"
}

impl Incarnation {
    /// Number of random bits in an incarnation.
    const RANDOM_BITS: u32 = 10;

    /// Returns the next incarnation, which begins at `now` by the system clock.
    ///
    /// It is greater than this one whatever the clock says, because a clock that was set back must not lock a worker out. The
    /// random bits distinguish two hosts with copies of one state directory, even if neither clock has reached the copied
    /// number.
    #[must_use]
    pub const fn next(self, now: Time, noise: u64) -> Self {
        let noise = noise & ((1 << Self::RANDOM_BITS) - 1);
        let by_clock = (now.as_millis() << Self::RANDOM_BITS) | noise;
        let above = self.0.saturating_add(1).saturating_add(noise);
        Self(if by_clock > self.0 { by_clock } else { above })
    }
}

impl TokenId {
    /// Parses the output of `Display`.
    pub fn parse(text: &str) -> Option<Self> {
        text.strip_prefix('k')?.parse().ok().map(Self)
    }
}

impl FromStr for TokenId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("`{text}` is no id of a token"))
    }
}

/// One execution of a plan.
///
/// The submitter creates it, so that a repeated submission is recognised: milliseconds since the epoch in the upper 42 bits,
/// random bits below. It is printed in base 32, so that ids sort by age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct RunId(pub u64);

impl RunId {
    const DIGITS: &'static [u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

    /// Creates the id of a run that is submitted at `millis` since the epoch; `chance` distinguishes runs of the same millisecond.
    pub const fn new(millis: u64, chance: u64) -> Self {
        Self((millis << 22) | (chance & 0x3f_ffff))
    }

    /// Parses the output of `Display`, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        if text.is_empty() || text.len() > 13 {
            return None;
        }
        text.bytes().try_fold(0_u64, Self::push_digit).map(Self)
    }

    fn push_digit(value: u64, digit: u8) -> Option<u64> {
        let digit = Self::DIGITS.iter().position(|d| *d == digit.to_ascii_lowercase())? as u64;
        value.checked_mul(32)?.checked_add(digit)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0_u8; 13];
        for (place, slot) in digits.iter_mut().rev().enumerate() {
            *slot = Self::DIGITS[(self.0 >> (place * 5) & 31) as usize];
        }
        let text = std::str::from_utf8(&digits).map_err(|_| fmt::Error)?;
        let text = text.trim_start_matches('0');
        f.write_str(if text.is_empty() { "0" } else { text })
    }
}

impl FromStr for RunId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| format!("`{text}` is no id of a run"))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {self}")
    }
}

/// The number of a lease: one counter for the whole cluster, which only grows.
///
/// The upper 16 bits are the store's generation, which changes when the store may have lost commits, so that a number granted
/// before the loss is never granted again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Fence(pub u64);

impl Fence {
    const COUNT_BITS: u32 = 48;

    /// Creates the fence with number `count` of a store's `generation`.
    pub const fn new(generation: u16, count: u64) -> Self {
        Self(((generation as u64) << Self::COUNT_BITS) | count)
    }

    /// Returns the generation of the store that granted it.
    pub const fn generation(self) -> u16 {
        (self.0 >> Self::COUNT_BITS) as u16
    }

    /// Returns the number within the generation.
    pub const fn count(self) -> u64 {
        self.0 & ((1 << Self::COUNT_BITS) - 1)
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.generation() {
            0 => write!(f, "f{}", self.count()),
            generation => write!(f, "f{generation}.{}", self.count()),
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_reads_back_what_it_prints_and_sorts_by_age() {
        let older = RunId::new(1_790_000_000_000, 77);
        let newer = RunId::new(1_790_000_000_001, 3);
        assert_eq!(RunId::parse(&older.to_string()), Some(older));
        assert_eq!(older.to_string().len(), 13);
        assert!(older.to_string() < newer.to_string());
        assert_eq!(RunId::parse("ilou"), None, "letters that look like digits are not used");
        assert_eq!(RunId::parse("zzzzzzzzzzzzz"), None, "more than 64 bits");
    }

    #[test]
    fn incarnation_is_above_the_last_one_even_if_the_clock_was_set_back() {
        let at = Time::from_millis;
        let first = Incarnation::default().next(at(5_000), 7);
        let after_a_jump_back = first.next(at(4_000), 7);
        let after_a_restart_at_once = after_a_jump_back.next(at(4_000), 0);
        assert!(first < after_a_jump_back && after_a_jump_back < after_a_restart_at_once);
        assert!(after_a_restart_at_once < Incarnation::default().next(at(5_001), 0));
        assert_ne!(first.next(at(4_000), 1), first.next(at(4_000), 2), "two hosts, one number");
        assert_ne!(first.next(at(6_000), 1), first.next(at(6_000), 2), "two hosts, one moment");
    }

    #[test]
    fn a_fence_of_a_later_generation_is_greater() {
        assert!(Fence::new(1, 1) > Fence::new(0, 1 << 40));
        assert_eq!(Fence::new(3, 9).to_string(), "f3.9");
    }
}
