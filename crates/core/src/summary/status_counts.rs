//! Counts steps by status.

use crate::outcome::StepStatus;

/// The number of steps by status, without joins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStatusCounts([u32; StepStatus::ALL.len()]);

impl StepStatusCounts {
    /// All steps waiting.
    pub(super) fn waiting(steps: u32) -> Self {
        let mut tally = Self::default();
        tally.0[StepStatus::Waiting as usize] = steps;
        tally
    }

    /// Moves one step to another status.
    pub(super) fn moved(&mut self, from: StepStatus, to: StepStatus) {
        let left = &mut self.0[from as usize];
        *left = left.saturating_sub(1);
        self.0[to as usize] += 1;
    }

    /// Returns the number of steps with a status.
    pub const fn of(&self, status: StepStatus) -> u32 {
        self.0[status as usize]
    }

    /// Returns all statuses with at least one step, and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (StepStatus, u32)> + use<'_> {
        let all = StepStatus::ALL.into_iter().map(|status| (status, self.of(status)));
        all.filter(|(_, count)| *count > 0)
    }

    /// Returns the number of ended steps.
    pub fn ended(&self) -> u32 {
        self.iter().filter(|(status, _)| status.is_terminal()).map(|(_, count)| count).sum()
    }

    /// Returns the number of steps.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }
}
