//! The summaries that steps write in Markdown: `$WINDLASS_SUMMARY`.

use std::collections::BTreeMap;

use windlass_core::id::{Fence, RunId};
use windlass_core::summary::{RunSummary, StepSummary};
use windlass_store::logs::LogId;

/// The limit for all steps together: GitHub allows a megabyte for the whole page.
const ALL_MAX: usize = 512 << 10;

/// The summaries of a run's steps, by the log of the delivery that wrote them.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepSummaries(BTreeMap<LogId, String>);

impl StepSummaries {
    /// The summary that a step wrote in its last try.
    pub(crate) fn of(&self, run: RunId, step: StepSummary<'_>) -> Option<&String> {
        let last = step.last_delivery()?;
        let (attempt, delivery) = (last.attempt, last.delivery);
        self.0.get(&LogId::new(run, step.ix(), attempt, delivery))
    }

    /// The name and summary of each step that wrote one in its last try.
    pub(crate) fn by_step_name(&self, summary: &RunSummary) -> Vec<(String, String)> {
        gathered(summary, |step| self.of(summary.run(), step).cloned())
    }
}

impl FromIterator<(LogId, String)> for StepSummaries {
    fn from_iter<I: IntoIterator<Item = (LogId, String)>>(notes: I) -> Self {
        Self(notes.into_iter().collect())
    }
}

/// The same, where `of` returns the summary written under a lease.
pub(crate) fn summaries_by_step(
    of: impl Fn(Fence) -> Option<String>,
    summary: &RunSummary,
) -> Vec<(String, String)> {
    gathered(summary, |step| of(step.last_delivery()?.fence))
}

fn gathered(
    summary: &RunSummary,
    of: impl Fn(StepSummary<'_>) -> Option<String>,
) -> Vec<(String, String)> {
    let mut room = ALL_MAX;
    let texts = summary.steps().filter_map(|step| Some((step.name().to_owned(), of(step)?)));
    let fits = |(_, text): &(String, String)| {
        let fits = text.len() <= room;
        room = room.saturating_sub(text.len());
        fits
    };
    texts.take_while(fits).collect()
}
