//! Logs of steps: arbitrary bytes at offsets, written once and in order.

use std::ops::Range;
use std::sync::Arc;

use windlass_core::id::{RunId, StepIx};

use super::harness::FreshStorage;
use super::journal_fixtures::block_on;
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use crate::db::StoreError;
use crate::journal::Position;
use crate::logs::{LogId, LogPart, LogStore, READ_MAX};

pub(super) type FreshLogStore<'a> = FreshStorage<'a, dyn LogStore>;

pub(super) const LOG: LogId = log(1, 1);

pub(super) const fn log(run: u64, step: u32) -> LogId {
    let run = RunId::new(1_790_000_000_000 + run, run);
    LogId::new(run, StepIx(step), 1, 1)
}

pub(super) fn append(
    logs: &Arc<dyn LogStore>,
    log: LogId,
    at: u64,
    bytes: &[u8],
) -> Result<u64, StoreError> {
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
pub(super) fn expect_log(logs: &Arc<dyn LogStore>, log: LogId, bytes: &[u8]) -> CheckResult {
    let promised = LogPart { from: 0, bytes: bytes.to_vec(), size: bytes.len() as u64 };
    expect_same(&format!("the log {log:?}"), &read(logs, log, 0..u64::MAX)?, &promised)
}

/// When an append returns, its bytes are readable, and the reply has the length of the log.
pub(super) fn what_was_appended_is_read(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
    expect_same("the first append", &append(&logs, LOG, 0, b"one\n"), &Ok(4))?;
    expect_log(&logs, LOG, b"one\n")?;
    expect_same("the second append", &append(&logs, LOG, 4, b"two\n"), &Ok(8))?;
    expect_log(&logs, LOG, b"one\ntwo\n")
}

/// Bytes that one handle appended are readable through another, which can continue the log, and the reverse.
pub(super) fn another_handle_goes_on(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let (logs, other) = (harness.open(), harness.open());
    append(&logs, LOG, 0, b"a")?;
    expect_log(&other, LOG, b"a")?;
    expect_same("the other's append", &append(&other, LOG, 1, b"b"), &Ok(2))?;
    expect_same("a repeat of it", &append(&logs, LOG, 1, b"b"), &Ok(2))?;
    expect_same("the next append", &append(&logs, LOG, 2, b"c"), &Ok(3))?;
    expect_log(&other, LOG, b"abc")
}

/// A repeated append adds nothing, even if others followed, and replaces no bytes.
pub(super) fn a_repeat_is_not_written_twice(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
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
    let harness = fresh();
    let logs = harness.open();
    append(&logs, LOG, 0, b"abc")?;
    expect_same("from inside", &append(&logs, LOG, 1, b"bcde"), &Ok(5))?;
    expect_same("from the beginning", &append(&logs, LOG, 0, b"abcdefg"), &Ok(7))?;
    expect_log(&logs, LOG, b"abcdefg")
}

/// An append that would leave a gap is refused with the length of the log, and has no effect.
pub(super) fn a_hole_is_refused(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
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
    let harness = fresh();
    let logs = harness.open();
    expect_same("nothing", &append(&logs, LOG, 0, b""), &Ok(0))?;
    expect_same_list("the logs", &block_on(logs.list(LOG.run))?, &[])?;
    append(&logs, LOG, 0, b"a")?;
    expect_same("nothing more", &append(&logs, LOG, 1, b""), &Ok(1))?;
    expect_log(&logs, LOG, b"a")
}

/// A range is cut at the end of the log. A range that begins there or later is empty, and so is an inverted one.
pub(super) fn ranges_end_where_the_log_ends(fresh: &FreshLogStore<'_>) -> CheckResult {
    let harness = fresh();
    let logs = harness.open();
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
    let harness = fresh();
    let logs = harness.open();
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
    let harness = fresh();
    let logs = harness.open();
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
    let harness = fresh();
    let logs = harness.open();
    let every: Vec<u8> = (0..=u8::MAX).collect();
    let parts: [&[u8]; 6] = [b"\0\0", &every, b"\xff\xfe", b"\xc3", b"\xa4\r\n", b"\x1b[0m\0"];
    let mut all: Vec<u8> = Vec::new();
    for part in parts {
        append(&logs, LOG, all.len() as u64, part)?;
        all.extend_from_slice(part);
    }
    expect_log(&logs, LOG, &all)
}
