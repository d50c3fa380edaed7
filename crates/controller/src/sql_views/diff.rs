//! A compact copy of what the tables hold, and its difference from the state.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;
use windlass_core::engine::Engine;
use windlass_core::id::{Fence, RunId, StepIx, WorkerId};
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::Plan;
use windlass_core::report::{
    IdempotencyKeyReport, LeaderReport, LeaseReport, RunReport, StatusCounts, StepReport,
    StopReport, WorkerReport,
};
use windlass_core::time::Time;
use windlass_store::sql_views::{
    IdempotencyRow, LeaseRow, RunRow, SqlViewsDiff, StepRow, StepRows, WorkerRow,
};

use super::contacts::ContactTimes;

/// Steps between two reads of the clock: some ten microseconds.
const STRIDE: usize = 4_096;

/// What the tables hold.
#[derive(Debug, Default)]
pub(super) struct WrittenViewRows {
    leader: Option<LeaderReport>,
    pub(super) heard: ContactTimes,
    workers: HashMap<WorkerId, StampedRow<WorkerRow>>,
    leases: HashMap<Fence, StampedRow<WrittenLease>>,
    runs: BTreeMap<RunId, WrittenRun>,
    keys: BTreeMap<Box<str>, StampedRow<IdempotencyRow>>,
    /// The number of the current scan.
    scan: u64,
}

/// A value with the number of the scan that last saw it.
#[derive(Debug)]
struct StampedRow<T> {
    it: T,
    scan: u64,
}

/// The properties of a lease that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WrittenLease {
    granted_at: Time,
    started_at: Option<Time>,
    stop: Option<StopReport>,
    locks: usize,
}

#[derive(Debug)]
struct WrittenRun {
    plan: Arc<Plan>,
    /// The steps that have been looked at.
    steps: Vec<WrittenStep>,
    counts: StatusCounts,
    /// The row of the run as it was written.
    row: Option<(RunStatus, StatusCounts)>,
}

/// The properties of a step that decide its row: if these are equal, the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WrittenStep {
    fence: Option<Fence>,
    status: StepStatus,
    /// A late outcome begins another attempt under the same fence.
    attempt: u16,
}

/// The progress of a scan.
#[derive(Clone, Debug, Default)]
pub(super) struct DiffCursor {
    stage: DiffStage,
    /// The last idempotency key that was looked at.
    key: Option<Box<str>>,
    run: RunId,
    step: u32,
}

/// The part of the state that is looked at next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum DiffStage {
    /// The leader, workers and leases, which are looked at together.
    #[default]
    Small,
    Keys,
    Runs,
}

/// Whether a scan is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffProgress {
    /// Everything was looked at.
    Through,
    /// A part is left.
    Paused,
}

impl WrittenViewRows {
    /// Continues a scan from the cursor until everything is seen, the time is up, or the difference is large enough.
    /// Each call looks at something. It takes what it adds to the difference for written.
    pub(super) fn scan(
        &mut self,
        engine: &Engine,
        diff: &mut SqlViewsDiff,
        cursor: &mut DiffCursor,
        until: Instant,
    ) -> DiffProgress {
        diff.term = engine.term();
        if cursor.stage == DiffStage::Small {
            cursor.stage = DiffStage::Keys;
            self.scan += 1;
            self.scan_leader(engine, diff);
            self.scan_workers(engine, diff);
            self.scan_leases(engine, diff);
            self.heard.scan(engine, diff);
            self.scan_sealed(engine, diff);
        }
        while cursor.stage == DiffStage::Keys {
            self.scan_keys(engine, diff, cursor);
            if diff.is_large() || Instant::now() >= until {
                return DiffProgress::Paused;
            }
        }
        while let Some(run) = engine.runs_from(cursor.run).next() {
            if run.id != cursor.run {
                (cursor.run, cursor.step) = (run.id, 0);
            }
            let seen = self.runs.entry(run.id).or_insert_with(|| WrittenRun::new(&run));
            while cursor.step < run.plan.node_count() {
                seen.scan(&run, diff, &mut cursor.step);
                if diff.is_large() || Instant::now() >= until {
                    return DiffProgress::Paused;
                }
            }
            seen.close(&run, diff);
            (cursor.run, cursor.step) = (RunId(run.id.0.saturating_add(1)), 0);
            if run.id == RunId(u64::MAX) {
                break;
            }
        }
        DiffProgress::Through
    }

    fn scan_leader(&mut self, engine: &Engine, diff: &mut SqlViewsDiff) {
        let leader = engine.leader();
        if self.leader != leader {
            self.leader = leader;
            diff.leader = leader;
        }
    }

    fn scan_workers(&mut self, engine: &Engine, diff: &mut SqlViewsDiff) {
        let scan = self.scan;
        for report in engine.workers() {
            match self.workers.get_mut(&report.id) {
                Some(seen) if same(&seen.it, &report) => seen.scan = scan,
                _ => {
                    let it = worker_row(&report);
                    diff.workers.upserted.push(it.clone());
                    self.workers.insert(report.id, StampedRow { it, scan });
                }
            }
        }
        diff.workers.deleted.extend(unseen(&mut self.workers, scan));
    }

    fn scan_leases(&mut self, engine: &Engine, diff: &mut SqlViewsDiff) {
        let scan = self.scan;
        for report in engine.leases() {
            let it = WrittenLease {
                granted_at: report.granted_at,
                started_at: report.started_at,
                stop: report.stop,
                locks: report.locks.len(),
            };
            let before = self.leases.insert(report.fence, StampedRow { it, scan });
            if before.is_none_or(|before| before.it != it) {
                let expires = engine.expires(&report, self.heard.contacts());
                diff.leases.upserted.push(lease_row(&report, expires));
            }
        }
        diff.leases.deleted.extend(unseen(&mut self.leases, scan));
    }

    /// Looks at the next idempotency keys.
    fn scan_keys(&mut self, engine: &Engine, diff: &mut SqlViewsDiff, cursor: &mut DiffCursor) {
        let mut scanned = 0;
        let behind = cursor.key.take();
        for report in engine.key_reports(behind.as_deref()).take(STRIDE) {
            scanned += 1;
            let row = key_row(&report);
            cursor.key = Some(row.key.clone());
            let (key, seen) = (row.key.clone(), StampedRow { it: row.clone(), scan: self.scan });
            let before = self.keys.insert(key, seen);
            if before.is_none_or(|before| before.it != row) {
                diff.keys.upserted.push(row);
            }
        }
        if scanned < STRIDE {
            cursor.stage = DiffStage::Runs;
            let gone = self.keys.extract_if(.., |_, seen| seen.scan != self.scan);
            diff.keys.deleted.extend(gone.map(|(key, _)| key));
        }
    }

    /// Sealed runs leave the tables with their steps.
    fn scan_sealed(&mut self, engine: &Engine, diff: &mut SqlViewsDiff) {
        let here = |run: &RunId| engine.run_status(*run).is_some();
        diff.runs.deleted.extend(self.runs.extract_if(.., |run, _| !here(run)).map(|(run, _)| run));
    }
}

impl WrittenRun {
    fn new(run: &RunReport<'_>) -> Self {
        let plan = Arc::clone(run.plan);
        // This reserves memory that is touched as the steps are looked at.
        let steps = Vec::with_capacity(plan.node_count() as usize);
        Self { plan, steps, counts: StatusCounts::default(), row: None }
    }

    /// Looks at the next steps.
    fn scan(&mut self, run: &RunReport<'_>, diff: &mut SqlViewsDiff, next: &mut u32) {
        let mut rows = Vec::new();
        for step in run.steps(StepIx(*next)).take(STRIDE) {
            *next = step.step.0 + 1;
            let now = WrittenStep { fence: step.fence, status: step.status, attempt: step.attempt };
            let before = self.steps.get_mut(step.step.0 as usize);
            let before = before.map(|seen| std::mem::replace(seen, now));
            if before == Some(now) {
                continue;
            }
            if before.is_none() {
                self.steps.push(now);
            }
            if !step.is_join {
                self.count(before, now);
                rows.push(step_row(&step));
            }
        }
        self.put(run.id, rows, diff);
    }

    fn count(&mut self, before: Option<WrittenStep>, now: WrittenStep) {
        if let Some(before) = before {
            self.counts.take(before.status);
        }
        self.counts.add(now.status);
    }

    fn put(&self, run: RunId, mut rows: Vec<StepRow>, diff: &mut SqlViewsDiff) {
        match diff.steps.last_mut() {
            _ if rows.is_empty() => {}
            Some(last) if last.run == run => last.rows.append(&mut rows),
            _ => diff.steps.push(StepRows { run, plan: Arc::clone(&self.plan), rows }),
        }
    }

    /// Counts the steps once all of them have been looked at.
    fn close(&mut self, run: &RunReport<'_>, diff: &mut SqlViewsDiff) {
        let row = Some((run.status, self.counts));
        if self.row == row {
            return;
        }
        self.row = row;
        diff.runs.upserted.push(RunRow {
            id: run.id,
            plan: Arc::clone(&self.plan),
            status: run.status,
            submitted_at: run.submitted_at,
            counts: self.counts,
        });
    }
}

/// Removes the entries that this scan has not seen, and returns them.
fn unseen<K: Copy + Ord + std::hash::Hash, T>(
    seen: &mut HashMap<K, StampedRow<T>>,
    scan: u64,
) -> Vec<K> {
    let mut gone: Vec<K> = seen.extract_if(|_, it| it.scan != scan).map(|(key, _)| key).collect();
    gone.sort_unstable();
    gone
}

fn same(row: &WorkerRow, report: &WorkerReport<'_>) -> bool {
    let WorkerRow { id, name, incarnation, status, labels, slots, leases, since } = row;
    *id == report.id
        && **name == *report.name
        && *incarnation == report.incarnation
        && *status == report.status
        && *labels == *report.labels
        && (*slots, *leases, *since) == (report.slots, report.leases, report.since)
}

fn worker_row(report: &WorkerReport<'_>) -> WorkerRow {
    let WorkerReport { id, incarnation, status, slots, leases, since, .. } = *report;
    let (name, labels) = ((*report.name).into(), (*report.labels).clone());
    WorkerRow { id, name, incarnation, status, labels, slots, leases, since }
}

fn key_row(report: &IdempotencyKeyReport<'_>) -> IdempotencyRow {
    let IdempotencyKeyReport { status, run, step, at, .. } = *report;
    let waiting = u32::try_from(report.waiting).unwrap_or(u32::MAX);
    let (key, name) = ((*report.key).into(), (*report.name).into());
    IdempotencyRow { key, status, run, step, name, at, waiting }
}

fn lease_row(report: &LeaseReport<'_>, expires: Option<Time>) -> LeaseRow {
    LeaseRow {
        fence: report.fence,
        run: report.run,
        step: report.step,
        attempt: report.attempt,
        delivery: report.delivery,
        worker: report.worker,
        granted_at: report.granted_at,
        expires,
        started_at: report.started_at,
        stop: report.stop,
        locks: report.locks.iter().map(|lock| (**lock).into()).collect(),
    }
}

fn step_row(report: &StepReport<'_>) -> StepRow {
    let StepReport { step, status, attempt, delivery, fence, cause, .. } = *report;
    StepRow { step, status, attempt, delivery, fence, cause }
}
