//! Journal time and spans, in whole milliseconds.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// A moment of *journal time*: milliseconds since the Unix epoch as the leader counts them.
///
/// It never runs backwards within a journal. Nothing in the core reads a clock; moments arrive as arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(u64);

impl Time {
    /// The epoch, which is earlier than every event.
    pub const ZERO: Self = Self(0);

    /// Creates the moment `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`; zero if `earlier` is in the future.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Time({self})")
    }
}

/// A length of time in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Span(u64);

impl Span {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Creates a span of `n` milliseconds.
    pub const fn millis(n: u64) -> Self {
        Self(n)
    }

    /// Creates a span of `n` seconds.
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1000))
    }

    /// Creates a span of `n` minutes.
    pub const fn mins(n: u64) -> Self {
        Self::secs(n.saturating_mul(60))
    }

    /// Creates a span of `n` hours.
    pub const fn hours(n: u64) -> Self {
        Self::mins(n.saturating_mul(60))
    }

    /// Returns the length in milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns `n` times this length.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }

    /// Returns an `n`-th of this length, rounded down.
    #[must_use]
    pub const fn divided_by(self, n: u64) -> Self {
        Self(self.0 / n)
    }

    /// Returns this length minus `other`; zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0s"),
            ms if ms % 3_600_000 == 0 => write!(f, "{}h", ms / 3_600_000),
            ms if ms % 60_000 == 0 => write!(f, "{}m", ms / 60_000),
            ms if ms % 1000 == 0 => write!(f, "{}s", ms / 1000),
            ms => write!(f, "{ms}ms"),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
