//! Logs are listed and removed, and many are written at once.

use std::thread;

use windlass_core::id::{RunId, StepIx};

use super::journal_fixtures::block_on;
use super::logs::{FreshLogStore, LOG, append, expect_log, log};
use super::report::{CheckResult, expect_same, expect_same_list};
use crate::db::StoreError;
use crate::journal::Position;
use crate::logs::LogId;

/// The logs of a run are listed by step, attempt, delivery and stream, in numeric order.
pub(super) fn logs_are_listed_in_order(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
    let of = |step, attempt, delivery| LogId { step: StepIx(step), attempt, delivery, ..LOG };
    let promised = [
        (of(0, 1, 1), 1),
        (of(2, 1, 1), 2),
        (of(2, 1, 2), 3),
        (of(2, 1, 2).notes(), 9),
        (of(2, 1, 2).value(), 10),
        (of(2, 1, 2).tests(), 11),
        (of(2, 1, 10), 4),
        (of(2, 2, 1), 5),
        (of(2, 10, 1), 6),
        (of(10, 1, 1), 7),
        (of(u32::MAX, u16::MAX, u16::MAX), 8),
    ];
    for at in [3, 8, 0, 7, 10, 5, 1, 9, 6, 2, 4] {
        let (log, size): (LogId, u64) = promised[at];
        append(&logs, log, 0, &vec![b'x'; usize::try_from(size).expect("a few bytes")])?;
    }
    append(&logs, log(2, 5), 0, b"another run's")?;
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &promised)
}

/// A removed log is gone, can be removed again, and can begin again at offset zero.
pub(super) fn a_removed_log_is_gone_and_can_begin_again(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let (logs, other) = (harness.open(), harness.open());
    append(&logs, LOG, 0, b"abc")?;
    for remover in [&logs, &other] {
        block_on(remover.remove(LOG.run))?;
        block_on(remover.remove(LOG.run))?;
        expect_log(&logs, LOG, b"")?;
        expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[])?;
        let gap = Err(StoreError::Gap { after: Position(3), head: Position(0) });
        expect_same("an append where it ended", &append(&logs, LOG, 3, b"d"), &gap)?;
        expect_same("an append from nothing", &append(&logs, LOG, 0, b"xyz"), &Ok(3))?;
        expect_log(&other, LOG, b"xyz")?;
    }
    Ok(())
}

/// Removing the logs of one run keeps those of all others.
pub(super) fn removing_touches_no_other_run(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
    for run in [1, 2, 3] {
        append(&logs, log(run, 1), 0, b"a")?;
        append(&logs, log(run, 2), 0, b"b")?;
    }
    block_on(logs.remove(log(2, 1).run))?;
    for run in [1, 3] {
        expect_same("the number of logs left", &block_on(logs.list(log(run, 1).run))?.len(), &2)?;
        expect_same("the next append", &append(&logs, log(run, 1), 1, b"c"), &Ok(2))?;
        expect_log(&logs, log(run, 1), b"ac")?;
    }
    expect_same(
        "the number of logs of the removed run",
        &block_on(logs.list(log(2, 1).run))?.len(),
        &0,
    )
}

/// Runs with logs are listed with the total size of their logs, oldest first.
pub(super) fn runs_are_told_with_their_bytes(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
    expect_same_list("no runs", &block_on(logs.runs())?, &[])?;
    let last = LogId { run: RunId(u64::MAX), ..LOG };
    let first = LogId { run: RunId(1), ..LOG };
    for (log, bytes) in [(last, "abc"), (log(1, 7), "d"), (first, "ef"), (log(1, 1), "ghi")] {
        append(&logs, log, 0, bytes.as_bytes())?;
    }
    let promised = [(first.run, 2), (log(1, 1).run, 4), (last.run, 3)];
    expect_same_list("the runs", &block_on(logs.runs())?, &promised)?;
    block_on(logs.remove(first.run))?;
    expect_same_list("the runs left", &block_on(logs.runs())?, &promised[1..])
}

/// Logs that are written concurrently, more of them than files may be open, stay separate and complete.
pub(super) fn many_logs_at_once_stay_apart(fresh: &FreshLogStore<'_>) -> CheckResult {
    const THREADS: u32 = 4;
    const LOGS: u32 = 100;
    let harness = fresh();
    let logs = harness.open();
    let line = |log: LogId, round: u32| format!("{log:?} {round}\n").into_bytes();
    let write = |thread: u32| -> CheckResult {
        for round in 0..5 {
            for step in 0..LOGS {
                let log = log(u64::from(thread % 2), thread * LOGS + step);
                let bytes = line(log, round);
                let at = u64::from(round) * bytes.len() as u64;
                expect_same(
                    "the size",
                    &append(&logs, log, at, &bytes),
                    &Ok(at + bytes.len() as u64),
                )?;
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|at| scope.spawn(move || write(at))).collect();
        threads.into_iter().try_for_each(|it| it.join().expect("an append does not panic"))
    })?;
    for at in 0..THREADS * LOGS {
        let log = log(u64::from(at / LOGS % 2), at);
        let all: Vec<u8> = (0..5).flat_map(|round| line(log, round)).collect();
        expect_log(&logs, log, &all)?;
    }
    Ok(())
}

/// After a restart a log has the same length, repeats are recognised, and appends continue.
pub(super) fn reopened_they_go_on(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    append(&harness.open(), LOG, 0, b"abc")?;
    let logs = harness.open();
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[(LOG, 3)])?;
    expect_same("a repeat", &append(&logs, LOG, 1, b"bc"), &Ok(3))?;
    expect_same("the next append", &append(&logs, LOG, 3, b"d"), &Ok(4))?;
    drop(logs);
    expect_log(&harness.open(), LOG, b"abcd")
}
