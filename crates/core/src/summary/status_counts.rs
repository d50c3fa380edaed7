//! How many steps stand where.

use crate::outcome::StepStatus;

/// Steps by status; joins do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStatusCounts([u32; StepStatus::ALL.len()]);

impl StepStatusCounts {
    /// So many steps, all waiting.
    pub(super) fn waiting(steps: u32) -> Self {
        let mut tally = Self::default();
        tally.0[StepStatus::Waiting as usize] = steps;
        tally
    }

    /// One step went from one status to another.
    pub(super) fn moved(&mut self, from: StepStatus, to: StepStatus) {
        let left = &mut self.0[from as usize];
        *left = left.saturating_sub(1);
        self.0[to as usize] += 1;
    }

    /// How many stand there.
    pub const fn of(&self, status: StepStatus) -> u32 {
        self.0[status as usize]
    }

    /// Every status that a step has, with how many.
    pub fn iter(&self) -> impl Iterator<Item = (StepStatus, u32)> + use<'_> {
        let all = StepStatus::ALL.into_iter().map(|status| (status, self.of(status)));
        all.filter(|(_, count)| *count > 0)
    }

    /// How many have ended.
    pub fn ended(&self) -> u32 {
        self.iter().filter(|(status, _)| status.is_terminal()).map(|(_, count)| count).sum()
    }

    /// How many there are.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }
}
