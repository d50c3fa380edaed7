//! The events of one run, packed: a large run is unpacked a part at a time, never all at once.
//!
//! The submission is not packed: it contains the plan, which can be large, is in memory anyway, and would be decoded for
//! each reader of the first events.

use std::sync::Arc;

use windlass_core::engine::Event;

use crate::journal::{Position, RecordedEvent, decode_events, encode_events};

/// Events that are packed together. Unpacked, they take five times the memory, and a run can have millions.
const PACKED_EVENTS: usize = 1_024;

/// All events of a run so far, in order. Copies share the events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunHistory {
    submission: Option<Arc<RecordedEvent>>,
    packed: Vec<Arc<PackedEvents>>,
    loose: Vec<Arc<RecordedEvent>>,
}

#[derive(Debug, PartialEq)]
struct PackedEvents {
    positions: Vec<Position>,
    bytes: Vec<u8>,
}

impl RunHistory {
    /// Adds the next event.
    pub fn push(&mut self, recorded: Arc<RecordedEvent>) {
        let has_plan = matches!(recorded.event, Event::RunSubmitted(_) | Event::RunResumed(_));
        if self.is_empty() && has_plan {
            self.submission = Some(recorded);
            return;
        }
        self.loose.push(recorded);
        if self.loose.len() >= PACKED_EVENTS {
            self.packed.push(Arc::new(PackedEvents::pack(&self.loose)));
            self.loose.clear();
        }
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        usize::from(self.submission.is_some())
            + self.packed.len() * PACKED_EVENTS
            + self.loose.len()
    }

    /// Whether it has no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the position of the last event.
    pub fn last(&self) -> Option<Position> {
        let packed = || self.packed.last().and_then(|pack| pack.positions.last().copied());
        let loose =
            self.loose.last().or(self.submission.as_ref().filter(|_| self.packed.is_empty()));
        loose.map(|recorded| recorded.position).or_else(packed)
    }

    /// Returns all events.
    pub fn iter(&self) -> impl Iterator<Item = Arc<RecordedEvent>> + '_ {
        self.events_after(Position(0))
    }

    /// Returns the events after a position.
    pub fn events_after(&self, after: Position) -> impl Iterator<Item = Arc<RecordedEvent>> + '_ {
        let known = move |pack: &&Arc<PackedEvents>| {
            pack.positions.last().is_none_or(|last| *last <= after)
        };
        let packed = self.packed.iter().skip_while(known).flat_map(|pack| pack.unpack());
        let submission = self.submission.iter().map(Arc::clone);
        let loose = self.loose.iter().map(Arc::clone);
        submission.chain(packed).chain(loose).filter(move |recorded| recorded.position > after)
    }
}

impl PackedEvents {
    fn pack(events: &[Arc<RecordedEvent>]) -> Self {
        let positions = events.iter().map(|recorded| recorded.position).collect();
        Self { positions, bytes: encode_events(events) }
    }

    fn unpack(&self) -> Vec<Arc<RecordedEvent>> {
        let events = decode_events(&self.bytes, self.positions.iter().copied());
        events.expect("the bytes were encoded by this process")
    }
}

impl FromIterator<Arc<RecordedEvent>> for RunHistory {
    fn from_iter<I: IntoIterator<Item = Arc<RecordedEvent>>>(events: I) -> Self {
        let mut history = Self::default();
        events.into_iter().for_each(|recorded| history.push(recorded));
        history
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::engine::{RunOptions, event};
    use windlass_core::id::{Fence, RunId, StepIx};
    use windlass_core::plan::{Plan, PlanBuilder, StepSpec};
    use windlass_core::time::Time;

    use super::*;

    fn plan() -> Arc<Plan> {
        let mut plan = PlanBuilder::new("ship");
        plan.step("build", StepSpec::default());
        Arc::new(plan.build().expect("a valid plan"))
    }

    #[test]
    fn plan_of_a_long_run_is_shared_with_its_readers_and_not_decoded() {
        let (run, plan) = (RunId(7), plan());
        let submitted = Event::RunSubmitted(event::RunSubmitted {
            run,
            plan: Arc::clone(&plan),
            options: RunOptions::default(),
            reused: Vec::new(),
        });
        let started = Event::Started(event::Started { run, step: StepIx(0), fence: Fence(1) });
        let events =
            std::iter::once(submitted).chain(std::iter::repeat_n(started, 3 * PACKED_EVENTS));
        let events = events.map(|event| (Time::ZERO, event));
        let history: RunHistory = RecordedEvent::sequence(Position(0), events).collect();
        assert_eq!((history.len(), history.loose.len()), (3 * PACKED_EVENTS + 1, 0));
        assert_eq!(history.last(), Some(Position(3 * PACKED_EVENTS as u64 + 1)));
        let first = history.iter().next().expect("it has events");
        let Event::RunSubmitted(event::RunSubmitted { plan: read, .. }) = &first.event else {
            panic!("{first:?}")
        };
        assert!(Arc::ptr_eq(read, &plan), "it was decoded");
        let positions: Vec<u64> =
            history.events_after(Position(1)).map(|it| it.position.0).collect();
        assert_eq!(positions, (2..=3 * PACKED_EVENTS as u64 + 1).collect::<Vec<_>>());
    }

    #[test]
    fn a_run_that_was_only_submitted_has_a_last_position() {
        let (options, reused) = (RunOptions::default(), Vec::new());
        let event = Event::RunSubmitted(event::RunSubmitted {
            run: RunId(7),
            plan: plan(),
            options,
            reused,
        });
        let events = RecordedEvent::sequence(Position(4), [(Time::ZERO, event)]);
        let history: RunHistory = events.collect();
        assert_eq!((history.last(), history.len()), (Some(Position(5)), 1));
        assert_eq!(history.events_after(Position(5)).count(), 0);
    }
}
