//! The keys of submissions: a repeated submission becomes one run.

use std::sync::Arc;
use std::thread;

use windlass_core::id::RunId;
use windlass_core::time::Time;

use super::archive::sealed;
use super::harness::FreshStorage;
use super::journal_fixtures::block_on;
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use crate::archive::{Archive, KEY_MAX, SubmissionKeyClaim, SubmissionKeyOutcome};
use crate::db::StoreError;

/// Creates a claim of a key for a run, at a time; a letter identifies the body.
fn claim(key: &str, body: u8, run: u64, at: u64) -> SubmissionKeyClaim {
    SubmissionKeyClaim {
        key: key.to_owned(),
        body: [body; 32],
        run: RunId(run),
        at: Time::from_millis(at),
    }
}

fn ask(
    archive: &Arc<dyn Archive>,
    claim: SubmissionKeyClaim,
) -> Result<SubmissionKeyOutcome, CheckDifference> {
    Ok(block_on(archive.claim(claim))?)
}

/// An unused key is assigned to the run that claims it first, and stays with it if another run claims it.
pub(super) fn a_key_is_new_and_then_known(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    let harness = fresh();
    let (archive, other) = (harness.open(), harness.open());
    expect_same(
        "the first claim",
        &ask(&archive, claim("deploy", b'a', 1, 10))?,
        &SubmissionKeyOutcome::New,
    )?;
    let known = SubmissionKeyOutcome::Known(RunId(1));
    expect_same("the repeat", &ask(&archive, claim("deploy", b'a', 1, 10))?, &known)?;
    expect_same("for another run", &ask(&archive, claim("deploy", b'a', 2, 20))?, &known)?;
    expect_same("by another handle", &ask(&other, claim("deploy", b'a', 3, 30))?, &known)
}

/// A claim with another body is a conflict, and changes nothing.
pub(super) fn another_body_is_a_conflict(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let first = RunId(u64::MAX);
    ask(&archive, claim("deploy", b'a', first.0, 10))?;
    let conflict = SubmissionKeyOutcome::Conflict(first);
    expect_same("another body", &ask(&archive, claim("deploy", b'b', 2, 20))?, &conflict)?;
    let known = SubmissionKeyOutcome::Known(first);
    expect_same("the first body", &ask(&archive, claim("deploy", b'a', 3, 30))?, &known)?;
    expect_same("the other again", &ask(&archive, claim("deploy", b'b', 2, 40))?, &conflict)
}

/// Keys that differ in any byte are different keys.
pub(super) fn keys_are_told_apart_byte_by_byte(
    fresh: &FreshStorage<'_, dyn Archive>,
) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let long = "k".repeat(KEY_MAX);
    let odd = ["", " ", "a", "A", "a ", "a\0", "a\0b", "1", "01", "1.0", "ä", "a\u{308}", "%", "_"];
    let keys: Vec<&str> = odd.into_iter().chain([&long[..], &long[1..]]).collect();
    for (run, key) in (1..).zip(&keys) {
        expect_same(
            &format!("the key {key:?}"),
            &ask(&archive, claim(key, b'a', run, 5))?,
            &SubmissionKeyOutcome::New,
        )?;
    }
    for (run, key) in (1..).zip(&keys) {
        let known = SubmissionKeyOutcome::Known(RunId(run));
        expect_same(&format!("the key {key:?}"), &ask(&archive, claim(key, b'a', 99, 5))?, &known)?;
    }
    Ok(())
}

/// A key that is too long is refused with a permanent error.
pub(super) fn a_key_that_is_too_long_is_refused(
    fresh: &FreshStorage<'_, dyn Archive>,
) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let answer = block_on(archive.claim(claim(&"k".repeat(KEY_MAX + 1), b'a', 1, 5)));
    let refused = matches!(answer, Err(StoreError::Unusable { .. }));
    expect_true(&format!("a key that is too long was answered with {answer:?}"), refused)
}

/// Of concurrent claims one is new, and the others return its run.
pub(super) fn of_claims_at_once_one_is_new(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    const CLAIMS: u64 = 16;
    let harness = fresh();
    let handles: Vec<Arc<dyn Archive>> = (0..CLAIMS).map(|_| harness.open()).collect();
    let claims = thread::scope(|scope| {
        let ask = |(run, archive)| scope.spawn(move || ask(archive, claim("k", b'a', run, run)));
        let threads: Vec<_> = (0..CLAIMS).zip(&handles).map(ask).collect();
        threads.into_iter().map(|thread| thread.join().expect("a claim does not panic")).collect()
    });
    let claims: Result<Vec<SubmissionKeyOutcome>, CheckDifference> = claims;
    let claims = claims?;
    let new: Vec<u64> = (0..CLAIMS)
        .zip(&claims)
        .filter(|(_, it)| **it == SubmissionKeyOutcome::New)
        .map(|(run, _)| run)
        .collect();
    expect_same("the number of new claims", &new.len(), &1)?;
    let known = SubmissionKeyOutcome::Known(RunId(new[0]));
    let others: Vec<SubmissionKeyOutcome> =
        claims.into_iter().filter(|it| *it != SubmissionKeyOutcome::New).collect();
    expect_same_list("the replies to the others", &others, &vec![known; others.len()])
}

/// A key stays assigned after its run is pruned: a second submission must not create another run.
pub(super) fn a_key_outlives_its_run(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let run = sealed(1, 3);
    let end = run.record.ended_at.as_millis();
    ask(&archive, claim("deploy", b'a', run.record.run.0, end))?;
    let id = run.record.run;
    block_on(archive.keep(run))?;
    let pruned = block_on(archive.prune(Time::from_millis(end + 1), Time::from_millis(end)))?;
    expect_same("the pruned runs", &pruned, &vec![id])?;
    expect_same(
        "the key",
        &ask(&archive, claim("deploy", b'a', 2, end))?,
        &SubmissionKeyOutcome::Known(id),
    )
}

/// A key that was claimed before the time is pruned; a key that was claimed at that time is not.
pub(super) fn a_pruned_key_is_new_again(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    for (key, at) in [("old", 99), ("at", 100), ("young", 101)] {
        ask(&archive, claim(key, b'a', at, at))?;
        // A repeat does not change the age of a key.
        ask(&archive, claim(key, b'a', at, 500))?;
    }
    block_on(archive.prune(Time::ZERO, Time::from_millis(100)))?;
    let known = |run| SubmissionKeyOutcome::Known(RunId(run));
    expect_same("the key claimed at it", &ask(&archive, claim("at", b'a', 1, 200))?, &known(100))?;
    expect_same(
        "the key claimed after it",
        &ask(&archive, claim("young", b'a', 1, 200))?,
        &known(101),
    )?;
    expect_same(
        "the key claimed before it",
        &ask(&archive, claim("old", b'b', 1, 200))?,
        &SubmissionKeyOutcome::New,
    )
}

/// Keys survive a restart.
pub(super) fn reopened_they_are_known(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    let harness = fresh();
    expect_same(
        "the claim",
        &ask(&harness.open(), claim("deploy", b'a', 1, 10))?,
        &SubmissionKeyOutcome::New,
    )?;
    let archive = harness.open();
    let known = SubmissionKeyOutcome::Known(RunId(1));
    expect_same("the repeat", &ask(&archive, claim("deploy", b'a', 2, 10))?, &known)?;
    let conflict = SubmissionKeyOutcome::Conflict(RunId(1));
    expect_same("another body", &ask(&archive, claim("deploy", b'b', 2, 10))?, &conflict)
}

/// Every key is listed once, in byte order, with its run, in pages of any size.
pub(super) fn they_are_listed_in_pages(fresh: &FreshStorage<'_, dyn Archive>) -> CheckResult {
    let harness = fresh();
    let archive = harness.open();
    let mut claims: Vec<SubmissionKeyClaim> = (1..)
        .zip(["b", "a", "", "a\0", "B", "ä", "aa", "z\0z"])
        .map(|(run, key)| claim(key, b'a', run, run * 10))
        .collect();
    claims[0].run = RunId(u64::MAX);
    for claim in &claims {
        ask(&archive, claim.clone())?;
    }
    claims.sort_by(|one, other| one.key.as_bytes().cmp(other.key.as_bytes()));
    for most in [1, 3, 100] {
        let mut listed: Vec<SubmissionKeyClaim> = Vec::new();
        for _ in 0..=claims.len() {
            let after = listed.last().map(|claim| claim.key.clone());
            let page = block_on(archive.keys(after, most))?;
            expect_true("a page is larger than it should be", page.len() <= most)?;
            listed.extend(page);
        }
        expect_same_list(&format!("the keys, {most} at a time"), &listed, &claims)?;
    }
    Ok(())
}
