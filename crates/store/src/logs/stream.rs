//! The streams of a hand-out: what it printed, what it wrote for people, and a result that is too large for its outcome.

use super::interface::LogId;

/// The most bytes of a large result: what a worker can hold twice beside its steps, and a leader can read in a second.
pub const VALUE_MAX: u64 = 16 << 20;

/// Marks the notes of a hand-out in its number. No attempt is handed out so often.
const NOTES: u16 = 1 << 15;

/// Marks its result.
const VALUE: u16 = 1 << 14;

impl LogId {
    /// The notes of the hand-out that this is the output of.
    #[must_use]
    pub const fn notes(self) -> Self {
        Self { delivery: self.delivery | NOTES, ..self }
    }

    /// The large result of the hand-out that this is the output of.
    #[must_use]
    pub const fn value(self) -> Self {
        Self { delivery: self.delivery | VALUE, ..self }
    }

    /// The output of the hand-out that this is a stream of.
    #[must_use]
    pub const fn output(self) -> Self {
        Self { delivery: self.delivery & !(NOTES | VALUE), ..self }
    }

    /// Whether it is for people, and nothing that was printed.
    pub const fn is_notes(self) -> bool {
        self.delivery & NOTES != 0
    }

    /// Whether it is a result.
    pub const fn is_value(self) -> bool {
        self.delivery & VALUE != 0
    }

    /// Whether it is what was printed.
    pub const fn is_printed(self) -> bool {
        !self.is_notes() && !self.is_value()
    }
}
