//! The id under which a plain worker reports on a step.

use std::fmt;

use windlass_core::id::{Fence, RunId, StepIx};
use windlass_core::session::LeaseRef;

/// The id of one delivery of a step: `RUN.INDEX.FENCE`. The fence ties a report to its delivery: a delayed report never
/// counts for a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlainStepId {
    pub(super) run: RunId,
    pub(super) step: StepIx,
    pub(super) fence: Fence,
}

impl PlainStepId {
    /// The id of a lease.
    pub(super) const fn of(lease: LeaseRef) -> Self {
        Self { run: lease.run, step: lease.step, fence: lease.fence }
    }

    /// Parses the text that `Display` writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (run, rest) = text.split_once('.')?;
        let (step, fence) = rest.split_once('.')?;
        let (step, fence) = (StepIx(step.parse().ok()?), Fence(fence.parse().ok()?));
        Some(Self { run: RunId::parse(run)?, step, fence })
    }

    /// The lease of this attempt.
    pub(super) const fn lease(self, attempt: u16) -> LeaseRef {
        LeaseRef { fence: self.fence, run: self.run, step: self.step, attempt }
    }
}

impl fmt::Display for PlainStepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run, self.step.0, self.fence.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_id_is_parsed_as_it_was_printed() {
        let id = PlainStepId { run: RunId(77), step: StepIx(3), fence: Fence::new(2, 9) };
        assert_eq!(PlainStepId::parse(&id.to_string()), Some(id));
        for bad in ["", "2d", "2d.3", "2d.3.", "2d.3.9.1", "2d.x.9", ".3.9", "2d.-3.9"] {
            assert_eq!(PlainStepId::parse(bad), None, "{bad}");
        }
    }
}
