//! The history of a run up to a position, for a copy of an archive that is ahead of the copied journal.

use std::sync::Arc;

use windlass_core::engine::{Event, event};
use windlass_core::outcome::RunStatus;

use super::interface::SealedRun;
use crate::journal::{Position, RecordedEvent};

impl SealedRun {
    /// Returns the run as it could be archived when the journal ended at `end`; `None` if the run had neither ended nor been
    /// interrupted by then. A later archive may have more workers, which stay.
    #[must_use]
    pub fn cut_at(self, end: Position) -> Option<Self> {
        let last = self.events.last()?;
        if last <= end {
            return Some(self);
        }
        let mut kept: Vec<Arc<RecordedEvent>> = Vec::new();
        // The last end or interruption. A run that was resumed after it is in the archive up to the resumption.
        let (mut rest, mut is_open, mut complete) = (None, true, 0);
        for recorded in self.events.iter().take_while(|it| it.position <= end) {
            if matches!(recorded.event, Event::RunResumed(_)) {
                is_open = true;
            } else if let Some(status) = rest_status(&recorded.event) {
                (rest, is_open) = (Some((status, recorded.at)), false);
            }
            kept.push(recorded);
            complete = if is_open { complete } else { kept.len() };
        }
        kept.truncate(complete);
        let (status, ended_at) = rest?;
        let mut record = self.record;
        (record.status, record.ended_at) = (status, ended_at);
        Some(Self { record, events: kept.into_iter().collect() })
    }
}

/// Returns the status of a run that this event ends or interrupts.
fn rest_status(event: &Event) -> Option<RunStatus> {
    if let Event::RunEnded(event::RunEnded { status, .. }) = event {
        return Some(*status);
    }
    matches!(event, Event::RunInterrupted(_)).then_some(RunStatus::Interrupted)
}

#[cfg(test)]
mod tests {
    use windlass_core::id::{Fence, RunId, StepIx};
    use windlass_core::time::Time;

    use super::*;
    use crate::archive::RunRecord;

    const RUN: RunId = RunId(7);

    fn sealed(events: Vec<Event>, status: RunStatus) -> SealedRun {
        let events = events.into_iter().zip(1..).map(|(event, at)| (Time::from_millis(at), event));
        let events = RecordedEvent::sequence(Position(10), events);
        let record = RunRecord {
            run: RUN,
            pipeline: "ship".to_owned(),
            status,
            submitted_at: Time::from_millis(1),
            ended_at: Time::from_millis(99),
            steps: 1,
            workers: Vec::new(),
        };
        SealedRun { record, events: events.collect() }
    }

    /// Positions 11 to 16: interrupted at 12, resumed at 13, interrupted at 15, resumed at 16, and ended at 18.
    fn resumed_twice() -> SealedRun {
        let started =
            || Event::Started(event::Started { run: RUN, step: StepIx(0), fence: Fence(1) });
        let interrupted = || Event::RunInterrupted(event::RunInterrupted { run: RUN });
        let resumed = crate::conformance::sample_events().into_iter().map(|(_, event)| event);
        let resumed: Vec<Event> = resumed.filter(|it| matches!(it, Event::RunResumed(_))).collect();
        let ended = Event::RunEnded(event::RunEnded { run: RUN, status: RunStatus::Failed });
        let resumed = || resumed[0].clone();
        let events = vec![
            started(),
            interrupted(),
            resumed(),
            started(),
            interrupted(),
            resumed(),
            started(),
            ended,
        ];
        sealed(events, RunStatus::Failed)
    }

    fn cut(end: u64) -> Option<(u64, RunStatus, u64)> {
        let cut = resumed_twice().cut_at(Position(end))?;
        let last = cut.events.last().expect("a run that was cut has events");
        Some((last.0, cut.record.status, cut.record.ended_at.as_millis()))
    }

    #[test]
    fn history_is_cut_where_the_run_was_at_rest() {
        assert_eq!([cut(9), cut(11)], [None, None], "it was not archived yet");
        let first = Some((12, RunStatus::Interrupted, 2));
        assert_eq!([cut(12), cut(13), cut(14)], [first; 3]);
        let second = Some((15, RunStatus::Interrupted, 5));
        assert_eq!([cut(15), cut(16), cut(17)], [second; 3]);
        assert_eq!(cut(18), Some((18, RunStatus::Failed, 99)), "it is unchanged");
        assert_eq!(resumed_twice().cut_at(Position(15)).map(|it| it.events.len()), Some(5));
    }
}
