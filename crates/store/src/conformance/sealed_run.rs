//! A run that has ended, for checks of archives.

use std::sync::Arc;

use windlass_core::engine::{Event, event};
use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use crate::archive::{RunRecord, SealedRun};
use crate::journal::{Position, RecordedEvent};

/// Creates an ended run with this number, and with this many events at every other position.
pub fn sealed_run(run: u64, events: u64) -> SealedRun {
    let at = Time::from_millis(1_790_000_000_000 + run);
    let record = RunRecord {
        run: RunId(run),
        pipeline: "ship".to_owned(),
        status: RunStatus::Succeeded,
        submitted_at: at,
        ended_at: at,
        steps: 1,
        workers: Vec::new(),
    };
    let event = |number| {
        let event = Event::WorkerLost(event::WorkerLost { worker: WorkerId(number) });
        Arc::new(RecordedEvent { position: Position(number * 2), at, event })
    };
    let events = (1..=events).map(event);
    SealedRun { record, events: events.collect() }
}
