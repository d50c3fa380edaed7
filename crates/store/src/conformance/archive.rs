//! Archived runs: they read as they were sealed, and queries find them.

use std::sync::Arc;
use std::thread;

use windlass_core::id::{RunId, WorkerId};
use windlass_core::outcome::RunStatus;
use windlass_core::time::Time;

use super::harness::FreshStorage;
use super::journal_fixtures::{block_on, filler};
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use super::sample_events::sample_events;
use crate::archive::{Archive, PAGE_MAX, RunQuery, RunRecord, SealedRun};
use crate::journal::{Position, RecordedEvent};

type FreshArchive<'a> = FreshStorage<'a, dyn Archive>;
type ArchivedEvents = Vec<Arc<RecordedEvent>>;

const START: u64 = 1_790_000_000_000;

/// Creates a run that was submitted this many seconds after the start. Its events have positions with gaps between
/// them.
pub(super) fn sealed(seconds: u64, events: u64) -> SealedRun {
    let submitted = START + seconds * 1000;
    let record = RunRecord {
        run: RunId::new(submitted, seconds),
        pipeline: ["ship", "test", "Ship"][usize::try_from(seconds % 3).expect("less than 3")]
            .into(),
        status: [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Cancelled]
            [usize::try_from(seconds / 2 % 3).expect("less than 3")],
        submitted_at: Time::from_millis(submitted),
        ended_at: Time::from_millis(submitted + 60_000),
        steps: u32::try_from(events).unwrap_or(u32::MAX),
        workers: vec![
            (WorkerId(seconds), "käse \"7\"".into()),
            (WorkerId(u64::MAX), String::new()),
        ],
    };
    let position = |event| seconds * 7 + event * 3 + 1;
    SealedRun { record, events: (0..events).map(|event| filler_at(position(event))).collect() }
}

fn filler_at(position: u64) -> Arc<RecordedEvent> {
    let (at, event) = filler(position);
    Arc::new(RecordedEvent { position: Position(position), at, event })
}

fn keep(archive: &Arc<dyn Archive>, run: &SealedRun) -> CheckResult {
    Ok(block_on(archive.keep(run.clone()))?)
}

fn events(
    archive: &Arc<dyn Archive>,
    run: RunId,
    after: u64,
    most: usize,
) -> Result<ArchivedEvents, CheckDifference> {
    Ok(block_on(archive.events(run, Position(after), most))?)
}

fn page(archive: &Arc<dyn Archive>, query: &RunQuery) -> Result<Vec<RunRecord>, CheckDifference> {
    Ok(block_on(archive.runs(query.clone()))?)
}

/// Checks that the archive has the complete run.
fn holds_run(archive: &Arc<dyn Archive>, run: &SealedRun) -> CheckResult {
    let SealedRun { record, events: promised } = run;
    let line = block_on(archive.run(record.run))?;
    expect_same("the line of the run", &line.as_ref(), &Some(record))?;
    expect_same_list(
        "its events",
        &events(archive, record.run, 0, usize::MAX)?,
        &promised.iter().collect::<ArchivedEvents>(),
    )
}

/// When `keep` returns, the run reads as it was given: its record and every event.
pub(super) fn a_kept_run_reads_as_before(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let runs = [sealed(1, 5), sealed(2, 1), sealed(3, 40), sealed(4, 0)];
    for run in &runs {
        keep(&archive, run)?;
        holds_run(&archive, run)?;
    }
    runs.iter().try_for_each(|run| holds_run(&archive, run))
}

/// A run that one handle archived is readable at once through another handle.
pub(super) fn another_handle_reads_it_too(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let (archive, other) = (harness.open(), harness.open());
    keep(&archive, &sealed(1, 5))?;
    holds_run(&other, &sealed(1, 5))?;
    keep(&other, &sealed(2, 5))?;
    holds_run(&archive, &sealed(2, 5))
}

/// A run that is archived again does not change unless its history is longer.
pub(super) fn the_same_run_again_changes_nothing(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let first = sealed(1, 5);
    keep(&archive, &first)?;
    keep(&archive, &first)?;
    holds_run(&archive, &first)?;
    keep(&archive, &sealed(1, 3))?;
    holds_run(&archive, &first)?;
    let mut other = sealed(1, 5);
    (other.record.pipeline, other.record.status) = ("other".to_owned(), RunStatus::Cancelled);
    keep(&archive, &other)?;
    holds_run(&archive, &first)?;
    expect_same_list("the runs", &page(&archive, &all())?, &[first.record])
}

/// A longer history replaces a shorter one with its record: an event was written while the run was archived.
pub(super) fn a_longer_history_takes_the_place_of_a_shorter_one(
    fresh: &FreshArchive<'_>,
) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    for (shorter, longer) in [(5, 6), (4_096, 4_097), (5_000, 10_000), (66_000, 66_001)] {
        // The run was interrupted and resumed in between.
        let mut interrupted = sealed(shorter, shorter);
        interrupted.record.status = RunStatus::Interrupted;
        keep(&archive, &interrupted)?;
        holds_run(&archive, &interrupted)?;
        keep(&archive, &sealed(shorter, longer))?;
        holds_run(&archive, &sealed(shorter, longer))?;
    }
    Ok(())
}

/// Of different histories of one run that are archived concurrently, the longest remains, complete.
pub(super) fn of_keeps_at_once_the_longest_stays(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let tries: Vec<SealedRun> = (1..=8).map(|events| sealed(1, events * 10)).collect();
    let handles: Vec<Arc<dyn Archive>> = tries.iter().map(|_| harness.open()).collect();
    let kept: Vec<CheckResult> = thread::scope(|scope| {
        let keep = |(archive, run)| scope.spawn(move || keep(archive, run));
        let threads: Vec<_> = handles.iter().zip(&tries).map(keep).collect();
        threads.into_iter().map(|thread| thread.join().expect("a keep does not panic")).collect()
    });
    kept.into_iter().collect::<CheckResult>()?;
    handles.iter().try_for_each(|archive| holds_run(archive, &sealed(1, 80)))
}

/// A run that is not archived has neither a record nor events; reading it is no error.
pub(super) fn a_run_that_is_not_here_is_none(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    expect_same("the runs", &page(&archive, &all())?, &Vec::new())?;
    keep(&archive, &sealed(1, 5))?;
    for run in [RunId(0), RunId(u64::MAX), sealed(2, 0).record.run] {
        expect_same("the line", &block_on(archive.run(run))?, &None)?;
        expect_same("the events", &events(&archive, run, 0, 10)?, &Vec::new())?;
    }
    Ok(())
}

/// Events are read after any position, whether the run has it or not, and no more than requested.
pub(super) fn events_are_paged_by_position(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let run = sealed(1, 20);
    keep(&archive, &sealed(0, 20))?;
    keep(&archive, &run)?;
    for after in (0..80).chain([u64::MAX, i64::MAX.unsigned_abs()]) {
        for most in [0, 1, 7, usize::MAX] {
            let behind = run.events.iter().filter(|recorded| recorded.position.0 > after);
            let promised: ArchivedEvents = behind.take(most).collect();
            let found = events(&archive, run.record.run, after, most)?;
            expect_same_list(&format!("{most} events after {after}"), &found, &promised)?;
        }
    }
    Ok(())
}

/// Events that come long after the rest of a run, with other runs' events between, are part of it too.
pub(super) fn late_positions_are_kept(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let mut run = sealed(1, 3);
    for position in [1 << 20, 1 << 40, i64::MAX.unsigned_abs()] {
        run.events.push(filler_at(position));
    }
    keep(&archive, &run)?;
    holds_run(&archive, &run)?;
    let late = events(&archive, run.record.run, (1 << 20) - 1, 2)?;
    expect_same_list(
        "the late events",
        &late,
        &run.events.iter().skip(3).take(2).collect::<ArchivedEvents>(),
    )
}

/// A run larger than any part in which it may be stored reads as before, in pages from any position.
pub(super) fn a_large_run_is_read_in_pages(fresh: &FreshArchive<'_>) -> CheckResult {
    const EVENTS: u64 = 40_000;
    let harness = fresh();
    let archive = harness.open();
    let run = sealed(1, EVENTS);
    keep(&archive, &run)?;
    let kept: ArchivedEvents = run.events.iter().collect();
    for most in [9_999, 20_000] {
        let mut read = ArchivedEvents::new();
        // One page more than needed: an archive that makes no progress must not hang the check.
        for _ in 0..=kept.len() / most + 1 {
            let after = read.last().map_or(0, |recorded| recorded.position.0);
            read.extend(events(&archive, run.record.run, after, most)?);
        }
        expect_same_list(&format!("pages of {most}"), &read, &kept)?;
    }
    for at in [0, 1, 16_383, 16_384, 16_385, 32_767, 39_998, 39_999] {
        let after = kept[at].position.0;
        let found = events(&archive, run.record.run, after, 3)?;
        let end = kept.len().min(at + 4);
        expect_same_list(&format!("the events after {at}"), &found, &kept[at + 1..end])?;
    }
    Ok(())
}

/// Every kind of event and any time reads as it was written.
pub(super) fn every_event_reads_as_it_was_written(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let recorded = |(position, (at, event))| {
        Arc::new(RecordedEvent { position: Position(position), at, event })
    };
    let events = (5..).step_by(2).zip(sample_events()).map(recorded).collect();
    let run = SealedRun { events, ..sealed(1, 0) };
    keep(&archive, &run)?;
    holds_run(&archive, &run)
}

/// Runs are listed newest first, regardless of the order in which they ended, even if their ids cross the middle of the
/// number range.
pub(super) fn runs_are_listed_newest_first(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let ids = [5, i64::MAX.unsigned_abs() + 1, u64::MAX, i64::MAX.unsigned_abs(), 7, 0];
    for id in ids {
        let mut run = sealed(1, 1);
        run.record.run = RunId(id);
        keep(&archive, &run)?;
    }
    let mut promised = ids.map(RunId);
    promised.sort_unstable_by(|a, b| b.cmp(a));
    let listed: Vec<RunId> = page(&archive, &all())?.into_iter().map(|it| it.run).collect();
    expect_same_list("the runs", &listed, &promised)?;
    let before = RunQuery { before: Some(promised[1]), most: 2, ..RunQuery::default() };
    let listed: Vec<RunId> = page(&archive, &before)?.into_iter().map(|it| it.run).collect();
    expect_same_list("the page before the second", &listed, &promised[2..4])
}

/// Each filter, alone and combined, returns exactly the matching runs.
pub(super) fn filters_let_through_what_they_say(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let mut runs: Vec<RunRecord> = Vec::new();
    for seconds in 0..40 {
        let mut run = sealed(seconds, 1);
        if seconds == 20 {
            // The clock of the client that submitted it is behind.
            run.record.submitted_at = Time::from_millis(START + 5_500);
        }
        keep(&archive, &run)?;
        runs.insert(0, run.record);
    }
    for query in filters() {
        let older = runs.iter().filter(|it| query.before.is_none_or(|before| it.run < before));
        let selected = older.filter(|record| query.selects(record)).take(query.most);
        let promised: Vec<RunRecord> = selected.cloned().collect();
        expect_same_list(&format!("{query:?}"), &page(&archive, &query)?, &promised)?;
    }
    Ok(())
}

/// Returns every combination of filters.
fn filters() -> Vec<RunQuery> {
    let mut queries = Vec::new();
    let statuses = [None, Some(RunStatus::Succeeded), Some(RunStatus::Failed)];
    let pipelines = [None, Some("ship".to_owned()), Some("none".to_owned())];
    let times = [None, Some(0), Some(5_500), Some(20_000), Some(39_000), Some(39_001)];
    for before in [None, Some(sealed(30, 0).record.run), Some(RunId(0))] {
        for pipeline in &pipelines {
            for status in statuses {
                queries.extend(times.map(|since| RunQuery {
                    before,
                    pipeline: pipeline.clone(),
                    status,
                    since: since.map(|since| Time::from_millis(START + since)),
                    most: 7,
                }));
            }
        }
    }
    queries
}

/// A page has no more runs than requested, and no more than the limit of a page.
pub(super) fn a_page_has_a_bound(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    for seconds in 0..=PAGE_MAX as u64 {
        keep(&archive, &sealed(seconds, 0))?;
    }
    for (most, promised) in [(0, 0), (1, 1), (usize::MAX, PAGE_MAX)] {
        let query = RunQuery { most, ..RunQuery::default() };
        expect_same(&format!("runs of {most}"), &page(&archive, &query)?.len(), &promised)?;
    }
    Ok(())
}

/// Page by page, each before the last run of the previous page, every run is listed once, even if runs are added and
/// pruned meanwhile.
pub(super) fn pages_make_up_the_whole_while_runs_come_and_go(
    fresh: &FreshArchive<'_>,
) -> CheckResult {
    const RUNS: u64 = 20;
    let harness = fresh();
    let archive = harness.open();
    let runs: Vec<SealedRun> = (10..10 + RUNS).map(|seconds| sealed(seconds, 1)).collect();
    keep(&archive, &sealed(0, 1))?;
    runs.iter().try_for_each(|run| keep(&archive, run))?;
    let mut listed: Vec<RunRecord> = Vec::new();
    for round in 0..=RUNS {
        let query = RunQuery { before: listed.last().map(|it| it.run), most: 3, ..all() };
        listed.extend(page(&archive, &query)?);
        keep(&archive, &sealed(100 + round, 1))?;
        if round == 1 {
            let end = sealed(0, 0).record.ended_at;
            block_on(archive.prune(Time::from_millis(end.as_millis() + 1), Time::ZERO))?;
        }
    }
    let promised: Vec<RunRecord> = runs.into_iter().rev().map(|run| run.record).collect();
    expect_same_list("all pages", &listed, &promised)
}

/// Runs that ended before the time are pruned, returned, and may be archived again. A run that ended at that time
/// remains.
pub(super) fn what_ended_before_is_pruned(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let runs = [sealed(1, 5), sealed(2, 5), sealed(3, 5)];
    runs.iter().try_for_each(|run| keep(&archive, run))?;
    let end = runs[1].record.ended_at;
    let pruned = block_on(archive.prune(end, Time::ZERO))?;
    expect_same_list("the pruned runs", &pruned, &[runs[0].record.run])?;
    expect_same("its line", &block_on(archive.run(runs[0].record.run))?, &None)?;
    expect_same_list("its events", &events(&archive, runs[0].record.run, 0, 10)?, &[])?;
    runs[1..].iter().try_for_each(|run| holds_run(&archive, run))?;
    expect_same_list("pruned again", &block_on(archive.prune(end, Time::ZERO))?, &[])?;
    let anew = sealed(1, 7);
    keep(&archive, &anew)?;
    holds_run(&archive, &anew)
}

/// One call prunes a bounded number of runs; a call that prunes none is the last.
pub(super) fn pruning_is_done_in_parts(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let runs = PAGE_MAX as u64 + 5;
    for seconds in 0..runs {
        keep(&archive, &sealed(seconds, 1))?;
    }
    let mut pruned: Vec<RunId> = Vec::new();
    // Any archive needs at most as many calls as there are runs.
    for _ in 0..runs {
        let part = block_on(archive.prune(Time::from_millis(u64::MAX), Time::ZERO))?;
        expect_true(&format!("{} runs were pruned at once", part.len()), part.len() <= PAGE_MAX)?;
        if part.is_empty() {
            break;
        }
        pruned.extend(part);
    }
    pruned.sort_unstable();
    let all_of_them: Vec<RunId> = (0..runs).map(|seconds| sealed(seconds, 0).record.run).collect();
    expect_same_list("all pruned runs", &pruned, &all_of_them)?;
    expect_same("the runs left", &page(&archive, &all())?, &Vec::new())
}

/// All archived runs are present after a restart, and more can be archived.
pub(super) fn reopened_it_has_everything(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    let mut kept: Vec<SealedRun> = Vec::new();
    for round in 1..4 {
        let archive = harness.open();
        kept.iter().try_for_each(|run| holds_run(&archive, run))?;
        expect_same("the number of runs", &page(&archive, &all())?.len(), &kept.len())?;
        for run in [sealed(round * 10, 5), sealed(round * 10 + 1, 50)] {
            keep(&archive, &run)?;
            kept.push(run);
        }
    }
    let archive = harness.open();
    kept.iter().try_for_each(|run| holds_run(&archive, run))
}

/// Pruned runs do not return after a restart.
pub(super) fn reopened_it_stays_pruned(fresh: &FreshArchive<'_>) -> CheckResult {
    let harness = fresh();
    {
        let archive = harness.open();
        keep(&archive, &sealed(1, 5))?;
        block_on(archive.prune(Time::from_millis(u64::MAX), Time::ZERO))?;
    }
    expect_same("the runs", &page(&harness.open(), &all())?, &Vec::new())
}

fn all() -> RunQuery {
    RunQuery { most: PAGE_MAX, ..RunQuery::default() }
}
