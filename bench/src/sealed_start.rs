//! Starting on a journal whose runs have ended long ago: sealed, archived, in a snapshot, and pruned.
//!
//! This does the work of the leader's maintenance without its delays: each run is archived and sealed when it has ended; after
//! the number of events that maintenance waits for, a snapshot is saved and superseded events are pruned.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;
use windlass_controller::{ControllerNode, RetentionSettings};
use windlass_core::engine::{EngineRequest, Event};
use windlass_core::id::RunId;
use windlass_core::outcome::RunStatus;
use windlass_core::plan::Plan;
use windlass_store::archive::{Archive, RunRecord, SealedRun, SqliteArchive};
use windlass_store::conformance::block_on;
use windlass_store::journal::{
    Journal, JournalSnapshot, Position, RecordedEvent, SqliteJournal, encode_state,
};

use crate::bench_leader::{BenchLeader, PAGE};
use crate::disk::{REPEATS, ScratchFolder};
use crate::engine_fleet::BEGINNING;
use crate::journal::{bytes_in, open};
use crate::measure::{RepeatTimes, repeat};
use crate::table::{RowTarget, TableRow, number};
use crate::{embedded_node, plans};

/// Steps of a sealed run, and of the run that is open at the end.
pub(crate) const STEPS: u32 = 10_000;

/// The number of sealed events: a long history, and a hundredth of it.
const LITTLE: u64 = 50_000;
const MUCH: u64 = 5_000_000;

/// The number of starts, each of which takes milliseconds.
const STARTS: usize = 5 * REPEATS;

/// The start with a short and with a long history, and their ratio.
pub(crate) fn rows(scratch: &ScratchFolder) -> Vec<TableRow> {
    let runtime = embedded_node::runtime();
    let (little, mut rows) = cold_start(scratch, &runtime, LITTLE);
    let (much, row) = cold_start(scratch, &runtime, MUCH);
    rows.extend(row);
    let ratio = |much: f64, little: f64| much / little;
    rows.push(TableRow {
        name: "cold start: 5,000,000 / 50,000".to_owned(),
        best: ratio(much.best.as_secs_f64(), little.best.as_secs_f64()),
        median: ratio(much.median.as_secs_f64(), little.median.as_secs_f64()),
        unit: "times",
        detail: "cost of sealed history".to_owned(),
        target: RowTarget::AtMost(1.5),
    });
    rows
}

fn cold_start(
    scratch: &ScratchFolder,
    runtime: &Runtime,
    sealed: u64,
) -> (RepeatTimes, Vec<TableRow>) {
    let (folder, attic) = (scratch.empty("sealed"), scratch.empty("attic"));
    let head = live(&folder, &attic, sealed);
    let times = repeat(STARTS, || (), |()| start(runtime, &folder, Some(&attic), head));
    #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
    let (bytes, events) = (number(bytes_in(&folder) as f64), number(sealed as f64));
    let row = TableRow {
        name: format!("cold start: {events} sealed events"),
        best: times.best.as_secs_f64() * 1e3,
        median: times.median.as_secs_f64() * 1e3,
        unit: "ms",
        detail: format!("{bytes} bytes of journal; {} steps are open", number(STEPS.into())),
        target: RowTarget::AtMost(5_000.0),
    };
    (times, vec![row])
}

/// Opens a node like a process that starts, up to its first campaign.
pub(crate) fn start(
    runtime: &Runtime,
    folder: &Path,
    attic: Option<&Path>,
    head: Position,
) -> impl Sized + use<> {
    let archive = attic.map(|attic| SqliteArchive::open(attic).expect("the archive is whole"));
    let journal: Arc<dyn Journal> = Arc::new(open(folder));
    let opened = runtime.block_on(ControllerNode::open(journal, embedded_node::config()));
    let (node, handle) = opened.expect("the journal is whole");
    assert_eq!(handle.views().with(|view| view.position), head, "all of it was read");
    assert!(handle.views().with(|view| view.engine.counts().ready) > 0, "a step can begin");
    (archive, node, handle)
}

/// Leads until this many events are sealed, and submits one more run. Returns the last position.
fn live(folder: &Path, attic: &Path, sealed: u64) -> Position {
    let journal = open(folder);
    let archive = SqliteArchive::open(attic).expect("a new folder takes an archive");
    let plan = plans::fan_out(STEPS);
    let mut led = BenchLeader::new(&journal, 1);
    let mut saved = Position(0);
    for at in 0.. {
        let before = head(&journal);
        if before.0 >= sealed {
            break;
        }
        let run = run_id(at);
        led.submit(run, &plan);
        led.work(run);
        let kept = archive.keep(sealed_run(&journal, before, run, &plan));
        block_on(kept).expect("the archive has room");
        led.request(EngineRequest::Seal { run });
        led.settle();
        if head(&journal).0 >= saved.0 + RetentionSettings::default().snapshot_after {
            saved = save(&journal, &led);
        }
    }
    save(&journal, &led);
    led.submit(run_id(sealed), &plan);
    led.settle();
    head(&journal)
}

/// Saves a snapshot of the durable state, and prunes superseded events.
pub(crate) fn save(journal: &SqliteJournal, led: &BenchLeader<'_>) -> Position {
    let position = head(journal);
    block_on(journal.save(snapshot(journal, led))).expect("the disk has room");
    let mut upto = Position(0);
    loop {
        let pruned = block_on(journal.prune(position)).expect("the journal can be pruned");
        if pruned <= upto {
            return position;
        }
        upto = pruned;
    }
}

/// The durable state, which is complete once the leader is idle.
pub(crate) fn snapshot(journal: &SqliteJournal, led: &BenchLeader<'_>) -> JournalSnapshot {
    let position = head(journal);
    let last = block_on(journal.tail(Position(position.0 - 1), 1)).expect("the journal is read");
    let batch = last.last().expect("a takeover is an event").id;
    JournalSnapshot { position, batch, state: encode_state(led.engine()) }
}

pub(crate) fn head(journal: &SqliteJournal) -> Position {
    block_on(journal.head()).expect("the journal can be read")
}

/// The time between submissions: one millisecond.
pub(crate) fn run_id(at: u64) -> RunId {
    RunId::new(BEGINNING.as_millis() + at, 5)
}

/// A run as the archive stores it, from the journal after a position.
pub(crate) fn sealed_run(
    journal: &SqliteJournal,
    before: Position,
    run: RunId,
    plan: &Plan,
) -> SealedRun {
    let mut events: Vec<Arc<RecordedEvent>> = Vec::new();
    let mut at = before;
    loop {
        let page = block_on(journal.tail(at, PAGE)).expect("the journal is whole");
        let Some(last) = page.last() else { break };
        at = last.position();
        let read = page.iter().flat_map(|batch| &batch.events);
        let own = read.filter(|recorded| recorded.event.run() == Some(run));
        events.extend(own.map(Arc::clone));
    }
    let is_end = |recorded: &RecordedEvent| matches!(recorded.event, Event::RunEnded(_));
    let (Some(first), Some(end)) =
        (events.first(), events.iter().find(|recorded| is_end(recorded)))
    else {
        panic!("a run that has ended has a beginning and an end");
    };
    let record = RunRecord {
        run,
        pipeline: plan.pipeline().to_owned(),
        status: RunStatus::Succeeded,
        submitted_at: first.at,
        ended_at: end.at,
        steps: plan.step_count(),
        workers: Vec::new(),
    };
    SealedRun { record, events: events.into_iter().collect() }
}
