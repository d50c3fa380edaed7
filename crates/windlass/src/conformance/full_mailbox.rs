//! A mailbox without a reader fills up, and blocks no other one.

use windlass_link::mailbox::{MAILBOX_MESSAGES_MAX, MailboxError, Mailboxes};
use windlass_store::conformance::{CheckDifference, CheckResult, expect_true};

use super::link_checks::with_new_mailboxes;
use super::messages::{
    FIRST_MAILBOX, FreshMessageMailboxes, LONG, SECOND_MAILBOX, distinct_messages, expect_messages,
};

pub(super) fn an_unread_mailbox_fills_up(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let sent = fill(&*harness.open()).await?;
        expect_true(
            &format!("a mailbox was full with {sent} messages"),
            sent >= MAILBOX_MESSAGES_MAX / 2,
        )
    })
}

pub(super) fn a_full_mailbox_blocks_no_other_mailbox(
    fresh: &FreshMessageMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        fill(&*mailboxes).await?;
        let sent = distinct_messages(FIRST_MAILBOX, 3);
        mailboxes.send(sent.clone()).await?;
        expect_messages(&*mailboxes, FIRST_MAILBOX, &sent).await?;
        // There is room after a read.
        mailboxes.receive(SECOND_MAILBOX, LONG).await?;
        Ok(mailboxes.send(distinct_messages(SECOND_MAILBOX, 1)).await?)
    })
}

/// Sends until the mailbox is full; returns the number of accepted messages.
async fn fill(mailboxes: &dyn Mailboxes) -> Result<usize, CheckDifference> {
    const BATCH: usize = 128;
    let mut sent = 0;
    while sent <= MAILBOX_MESSAGES_MAX + BATCH {
        match mailboxes.send(distinct_messages(SECOND_MAILBOX, BATCH)).await {
            Ok(()) => sent += BATCH,
            Err(MailboxError::Full { .. }) => return Ok(sent),
            Err(error) => return Err(error.into()),
        }
    }
    let what = format!("a mailbox without a reader accepted {sent} messages: it has no limit");
    Err(CheckDifference::new(what))
}
