//! Logs of steps: arbitrary bytes at offsets, written once and in order.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use windlass_core::id::{RunId, StepIx};

use super::harness::FreshStorage;
use super::journal_fixtures::block_on;
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use crate::db::StoreError;
use crate::journal::Position;
use crate::logs::{LogId, LogPart, LogStore, READ_MAX};

type FreshLogStore<'a> = FreshStorage<'a, dyn LogStore>;

const LOG: LogId = log(1, 1);

const fn log(run: u64, step: u32) -> LogId {
    let run = RunId::new(1_790_000_000_000 + run, run);
    LogId::new(run, StepIx(step), 1, 1)
}

fn append(logs: &Arc<dyn LogStore>, log: LogId, at: u64, bytes: &[u8]) -> Result<u64, StoreError> {
    block_on(logs.append(log, at, bytes.to_vec()))
}

fn read(
    logs: &Arc<dyn LogStore>,
    log: LogId,
    range: Range<u64>,
) -> Result<LogPart, CheckDifference> {
    Ok(block_on(logs.read(log, range))?)
}

/// Checks that the log has exactly these bytes.
fn expect_log(logs: &Arc<dyn LogStore>, log: LogId, bytes: &[u8]) -> CheckResult {
    let promised = LogPart { from: 0, bytes: bytes.to_vec(), size: bytes.len() as u64 };
    expect_same(&format!("the log {log:?}"), &read(logs, log, 0..u64::MAX)?, &promised)
}

/// When an append returns, its bytes are readable, and the reply has the length of the log.
pub(super) fn what_was_appended_is_read(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    expect_same("the first append", &append(&logs, LOG, 0, b"one\n"), &Ok(4))?;
    expect_log(&logs, LOG, b"one\n")?;
    expect_same("the second append", &append(&logs, LOG, 4, b"two\n"), &Ok(8))?;
    expect_log(&logs, LOG, b"one\ntwo\n")
}

/// Bytes that one handle appended are readable through another, which can continue the log, and the reverse.
pub(super) fn another_handle_goes_on(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let (logs, other) = (place.open(), place.open());
    append(&logs, LOG, 0, b"a")?;
    expect_log(&other, LOG, b"a")?;
    expect_same("the other's append", &append(&other, LOG, 1, b"b"), &Ok(2))?;
    expect_same("a repeat of it", &append(&logs, LOG, 1, b"b"), &Ok(2))?;
    expect_same("the next append", &append(&logs, LOG, 2, b"c"), &Ok(3))?;
    expect_log(&other, LOG, b"abc")
}

/// A repeated append adds nothing, even if others followed, and replaces no bytes.
pub(super) fn a_repeat_is_not_written_twice(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    append(&logs, LOG, 0, b"one")?;
    expect_same("the repeat", &append(&logs, LOG, 0, b"one"), &Ok(3))?;
    append(&logs, LOG, 3, b"two")?;
    expect_same("a repeat of the first", &append(&logs, LOG, 0, b"one"), &Ok(6))?;
    expect_same("a repeat of the second", &append(&logs, LOG, 3, b"two"), &Ok(6))?;
    expect_same("other bytes at its offset", &append(&logs, LOG, 0, b"xyz"), &Ok(6))?;
    expect_log(&logs, LOG, b"onetwo")
}

/// An append that overlaps the end of the log adds only the new bytes.
pub(super) fn an_overlap_adds_what_is_new(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    append(&logs, LOG, 0, b"abc")?;
    expect_same("from inside", &append(&logs, LOG, 1, b"bcde"), &Ok(5))?;
    expect_same("from the beginning", &append(&logs, LOG, 0, b"abcdefg"), &Ok(7))?;
    expect_log(&logs, LOG, b"abcdefg")
}

/// An append that would leave a gap is refused with the length of the log, and has no effect.
pub(super) fn a_hole_is_refused(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    let gap = |at, size| Err(StoreError::Gap { after: Position(at), head: Position(size) });
    expect_same("into an empty log", &append(&logs, LOG, 1, b"b"), &gap(1, 0))?;
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[])?;
    append(&logs, LOG, 0, b"abc")?;
    for at in [4, 1000, u64::MAX] {
        expect_same("after a gap", &append(&logs, LOG, at, b"x"), &gap(at, 3))?;
    }
    expect_log(&logs, LOG, b"abc")
}

/// An append of no bytes creates no log.
pub(super) fn nothing_is_appended_without_effect(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    expect_same("nothing", &append(&logs, LOG, 0, b""), &Ok(0))?;
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[])?;
    append(&logs, LOG, 0, b"a")?;
    expect_same("nothing more", &append(&logs, LOG, 1, b""), &Ok(1))?;
    expect_log(&logs, LOG, b"a")
}

/// A range is cut at the end of the log. A range that begins there or later is empty, and so is an inverted one.
pub(super) fn ranges_end_where_the_log_ends(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    let all = b"0123456789";
    append(&logs, LOG, 0, all)?;
    for start in 0..12_u64 {
        for end in (0..12).chain([u64::MAX]) {
            let place = |at: u64| usize::try_from(at.min(10)).expect("at most 10");
            let bytes = all.get(place(start)..place(end)).unwrap_or_default().to_vec();
            let promised = LogPart { from: start.min(10), bytes, size: 10 };
            expect_same(
                &format!("bytes {start} to {end}"),
                &read(&logs, LOG, start..end)?,
                &promised,
            )?;
        }
    }
    let beyond = LogPart { from: 10, bytes: Vec::new(), size: 10 };
    expect_same("far beyond", &read(&logs, LOG, u64::MAX..u64::MAX)?, &beyond)
}

/// One read returns a bounded part, from the beginning of its range; successive reads return the whole log.
pub(super) fn a_read_has_a_bound(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    let all: Vec<u8> = (0..=250_u8).cycle().take(2 * READ_MAX + 5).collect();
    append(&logs, LOG, 0, &all)?;
    let mut whole: Vec<u8> = Vec::new();
    for _ in 0..3 {
        let part = read(&logs, LOG, whole.len() as u64..u64::MAX)?;
        let fits = part.bytes.len() <= READ_MAX;
        expect_true(&format!("{} bytes in one read", part.bytes.len()), fits)?;
        expect_same("the beginning of the part", &part.from, &(whole.len() as u64))?;
        expect_same("the size of the log", &part.size, &(all.len() as u64))?;
        whole.extend(part.bytes);
    }
    expect_true("three reads are not the whole log", whole == all)
}

/// A log without appends is empty, and a run without logs has none.
pub(super) fn a_log_that_is_not_there_is_empty(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    for round in 0..2 {
        for range in [0..0, 0..10, 5..10, u64::MAX..u64::MAX] {
            expect_same("the log", &read(&logs, LOG, range)?, &LogPart::default())?;
        }
        expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[])?;
        expect_same("the number of runs", &block_on(logs.runs())?.len(), &round)?;
        block_on(logs.remove(LOG.run))?;
        // In the second round, other runs have logs.
        append(&logs, log(2, 1), 0, b"a")?;
    }
    Ok(())
}

/// Any bytes are stored unchanged: binary data, partial characters, zeros.
pub(super) fn any_byte_survives(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    let every: Vec<u8> = (0..=u8::MAX).collect();
    let parts: [&[u8]; 6] = [b"\0\0", &every, b"\xff\xfe", b"\xc3", b"\xa4\r\n", b"\x1b[0m\0"];
    let mut all: Vec<u8> = Vec::new();
    for part in parts {
        append(&logs, LOG, all.len() as u64, part)?;
        all.extend_from_slice(part);
    }
    expect_log(&logs, LOG, &all)
}

/// The logs of a run are listed by step, attempt, delivery and stream, in numeric order.
pub(super) fn logs_are_listed_in_order(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let logs = place.open();
    let of = |step, attempt, delivery| LogId { step: StepIx(step), attempt, delivery, ..LOG };
    let promised = [
        (of(0, 1, 1), 1),
        (of(2, 1, 1), 2),
        (of(2, 1, 2), 3),
        (of(2, 1, 2).notes(), 9),
        (of(2, 1, 2).value(), 10),
        (of(2, 1, 10), 4),
        (of(2, 2, 1), 5),
        (of(2, 10, 1), 6),
        (of(10, 1, 1), 7),
        (of(u32::MAX, u16::MAX, u16::MAX), 8),
    ];
    for at in [3, 8, 0, 7, 5, 1, 9, 6, 2, 4] {
        let (log, size): (LogId, u64) = promised[at];
        append(&logs, log, 0, &vec![b'x'; usize::try_from(size).expect("a few bytes")])?;
    }
    append(&logs, log(2, 5), 0, b"another run's")?;
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &promised)
}

/// A removed log is gone, can be removed again, and can begin again at offset zero.
pub(super) fn a_removed_log_is_gone_and_can_begin_again(fresh: &FreshLogStore<'_>) -> CheckResult {
    let place = fresh();
    let (logs, other) = (place.open(), place.open());
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
    let place = fresh();
    let logs = place.open();
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
    let place = fresh();
    let logs = place.open();
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
    let place = fresh();
    let logs = place.open();
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
    let place = fresh();
    append(&place.open(), LOG, 0, b"abc")?;
    let logs = place.open();
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[(LOG, 3)])?;
    expect_same("a repeat", &append(&logs, LOG, 1, b"bc"), &Ok(3))?;
    expect_same("the next append", &append(&logs, LOG, 3, b"d"), &Ok(4))?;
    drop(logs);
    expect_log(&place.open(), LOG, b"abcd")
}
