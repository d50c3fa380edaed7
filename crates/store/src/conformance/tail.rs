//! Reading in pages; batches read as they were written.

use std::sync::Arc;

use super::harness::{FreshStorage, JournalHandle};
use super::journal_fixtures::{JournalTestLeader, expect_batches, tail};
use super::report::{CheckDifference, CheckResult, expect_same, expect_same_list, expect_true};
use super::sample_events::sample_events;
use crate::journal::{EventBatch, RecordedEvent};

/// Sizes of batches that no page size divides.
const SIZES: [usize; 9] = [1, 4, 2, 1, 1, 8, 3, 1, 5];

fn filled(journal: &JournalHandle) -> Result<Vec<Arc<EventBatch>>, CheckDifference> {
    let mut leader = JournalTestLeader::win(journal, "alpha")?;
    SIZES.iter().map(|events| leader.write(*events)).collect()
}

/// A page has about as many events as requested: without its last batch it would have fewer.
pub(super) fn a_page_holds_about_as_much_as_was_asked(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled(&journal)?;
    for (after, most) in [(0, 1), (0, 5), (0, 6), (0, 10), (7, 4), (9, 12), (17, 1)] {
        let page = tail(&journal, after, most)?;
        let events =
            |page: &[Arc<EventBatch>]| page.iter().map(|batch| batch.events.len()).sum::<usize>();
        let before_last = events(&page[..page.len().saturating_sub(1)]);
        let what = format!("{} events after {after}, requested {most}", events(&page));
        expect_true(&what, page.len() == 1 || before_last < most)?;
        let behind: Vec<Arc<EventBatch>> =
            written.iter().filter(|batch| batch.position().0 > after).cloned().collect();
        expect_same_list("the page", &page, &behind[..page.len().min(behind.len())])?;
    }
    let all = tail(&journal, 0, usize::MAX)?;
    expect_same_list("a page without a bound", &all, &written)
}

/// A batch larger than the request is returned whole, because otherwise a reader could never pass it.
pub(super) fn a_page_has_at_least_one_batch(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled(&journal)?;
    for (at, batch) in written.iter().enumerate() {
        let page = tail(&journal, batch.after.0, 1)?;
        expect_same("the first batch of a page of one event", &page.first(), &written.get(at))?;
    }
    Ok(())
}

/// Page by page, each after the last, every batch is read once and in order, for any page size.
pub(super) fn pages_make_up_the_whole(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled(&journal)?;
    for most in [1, 2, 3, 7, 26, 1000] {
        let mut read: Vec<Arc<EventBatch>> = Vec::new();
        // One page more than there are batches: a journal that makes no progress must not hang the check.
        for _ in 0..=written.len() {
            let after = read.last().map_or(0, |batch| batch.position().0);
            read.extend(tail(&journal, after, most)?);
        }
        expect_same_list(&format!("pages of {most}"), &read, &written)?;
    }
    Ok(())
}

/// A read from a position inside a batch returns the whole batch: a batch is never split.
pub(super) fn from_inside_a_batch_it_is_read_whole(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let written = filled(&journal)?;
    for after in 0..26 {
        let found = tail(&journal, after, 1000)?;
        let promised: Vec<Arc<EventBatch>> =
            written.iter().filter(|batch| batch.position().0 > after).cloned().collect();
        expect_same_list(&format!("what ends behind {after}"), &found, &promised)?;
    }
    Ok(())
}

/// A read at the head, or after it, returns no batches and no error.
pub(super) fn from_the_head_there_is_nothing(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    filled(&journal)?;
    for after in [26, 27, 1_000_000, i64::MAX.unsigned_abs()] {
        expect_same(&format!("the tail after {after}"), &tail(&journal, after, 10)?, &Vec::new())?;
    }
    Ok(())
}

/// Every kind of event and any time reads as it was written.
pub(super) fn every_event_reads_as_it_was_written(fresh: &FreshStorage<'_>) -> CheckResult {
    let harness = fresh();
    let journal = harness.open();
    let mut leader = JournalTestLeader::win(&journal, "alpha")?;
    let mut written = Vec::new();
    for event in sample_events() {
        let alone = RecordedEvent::sequence(leader.head, [event]).collect();
        let alone = leader.batch_of(alone);
        written.push(leader.append_accepted(alone)?);
    }
    let together = RecordedEvent::sequence(leader.head, sample_events()).collect();
    let together = leader.batch_of(together);
    written.push(leader.append_accepted(together)?);
    expect_batches(&journal, &written)
}
