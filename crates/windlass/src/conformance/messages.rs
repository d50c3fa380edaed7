//! Messages arrive complete and in the right mailbox.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use windlass_link::mailbox::{
    MAILBOX_MESSAGE_MAX, MailboxError, MailboxId, MailboxMessage, Mailboxes, RECEIVED_MAX,
};
use windlass_store::conformance::{
    CheckDifference, CheckResult, FreshStorage, expect_same, expect_true,
};

use super::link_checks::with_new_mailboxes;

pub(super) type FreshMessageMailboxes<'a> = FreshStorage<'a, dyn Mailboxes>;

/// How long to wait for a message that was already sent; after that it is lost.
pub(super) const LONG: Duration = Duration::from_secs(5);

/// How long to wait for a message that must not arrive.
const SHORT: Duration = Duration::from_millis(200);

/// The mailboxes of these checks.
pub(super) const FIRST_MAILBOX: MailboxId = MailboxId(u64::MAX);
pub(super) const SECOND_MAILBOX: MailboxId = MailboxId(77);

fn message(to: MailboxId, bytes: impl Into<Vec<u8>>) -> MailboxMessage {
    MailboxMessage { to, bytes: bytes.into() }
}

/// Messages that are all different.
pub(super) fn distinct_messages(to: MailboxId, many: usize) -> Vec<MailboxMessage> {
    (0..many).map(|number| message(to, format!("message {number}"))).collect()
}

/// Receives until there are `many` messages, or no more arrive.
async fn collect(
    mailboxes: &dyn Mailboxes,
    mailbox: MailboxId,
    many: usize,
) -> Result<BTreeSet<Vec<u8>>, CheckDifference> {
    let mut all = BTreeSet::new();
    while all.len() < many {
        let some = mailboxes.receive(mailbox, LONG).await?;
        if some.is_empty() {
            break;
        }
        all.extend(some);
    }
    Ok(all)
}

/// Expects exactly these messages in a mailbox.
pub(super) async fn expect_messages(
    mailboxes: &dyn Mailboxes,
    mailbox: MailboxId,
    sent: &[MailboxMessage],
) -> CheckResult {
    let sent: BTreeSet<Vec<u8>> =
        sent.iter().map(|sent_message| sent_message.bytes.clone()).collect();
    let found = collect(mailboxes, mailbox, sent.len()).await?;
    let lost = sent.difference(&found).count();
    expect_same("messages that did not arrive", &lost, &0)?;
    expect_same("messages that were not sent", &found.difference(&sent).count(), &0)
}

pub(super) fn what_is_sent_arrives_as_it_was(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let sent = distinct_messages(MailboxId::LEADER, 3);
        harness.open().send(sent.clone()).await?;
        expect_messages(&*harness.open(), MailboxId::LEADER, &sent).await
    })
}

pub(super) fn every_byte_and_size_arrives(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        let all_bytes: Vec<u8> = (0..=255).collect();
        let sizes = [0, 1, 4_095, 4_096, 65_537, MAILBOX_MESSAGE_MAX];
        let of_each = sizes.map(|size| all_bytes.iter().copied().cycle().take(size).collect());
        for bytes in of_each.into_iter().chain([b"\r\n\0$-1\r\n".to_vec()]) {
            let (sent, many): (Vec<u8>, usize) = (bytes.clone(), bytes.len());
            mailboxes.send(vec![message(FIRST_MAILBOX, bytes)]).await?;
            let found = mailboxes.receive(FIRST_MAILBOX, LONG).await?;
            expect_true(&format!("a message of {many} bytes was changed"), found == [sent])?;
        }
        Ok(())
    })
}

pub(super) fn a_message_that_is_too_large_is_refused(
    fresh: &FreshMessageMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let bytes = MAILBOX_MESSAGE_MAX + 1;
        let sent = harness.open().send(vec![message(FIRST_MAILBOX, vec![b'x'; bytes])]).await;
        expect_same(
            "result of a message that is too large",
            &sent,
            &Err(MailboxError::TooLarge { bytes }),
        )
    })
}

pub(super) fn mailboxes_are_apart(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        let (to_first, to_second) =
            (message(FIRST_MAILBOX, "for the first"), message(SECOND_MAILBOX, "for the second"));
        mailboxes.send(vec![to_first.clone(), to_second.clone()]).await?;
        expect_messages(&*mailboxes, SECOND_MAILBOX, &[to_second]).await?;
        expect_messages(&*mailboxes, FIRST_MAILBOX, &[to_first]).await
    })
}

pub(super) fn a_message_without_a_reader_waits(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let sent = distinct_messages(SECOND_MAILBOX, 1);
        harness.open().send(sent.clone()).await?;
        sleep(SHORT * 5).await;
        expect_messages(&*harness.open(), SECOND_MAILBOX, &sent).await
    })
}

pub(super) fn what_was_taken_is_gone(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        mailboxes.send(distinct_messages(FIRST_MAILBOX, 20)).await?;
        collect(&*mailboxes, FIRST_MAILBOX, 20).await?;
        let again = mailboxes.receive(FIRST_MAILBOX, SHORT).await?;
        expect_same("messages that were received twice", &again.len(), &0)?;
        let other = harness.open().receive(FIRST_MAILBOX, SHORT).await?;
        expect_same("messages that were received by two handles", &other.len(), &0)
    })
}

pub(super) fn messages_to_several_mailboxes_all_arrive(
    fresh: &FreshMessageMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        let sent: Vec<MailboxMessage> =
            (1..=40).flat_map(|to| distinct_messages(MailboxId(to), 2)).collect();
        mailboxes.send(sent).await?;
        for to in 1..=40 {
            expect_messages(&*mailboxes, MailboxId(to), &distinct_messages(MailboxId(to), 2))
                .await?;
        }
        Ok(())
    })
}

pub(super) fn of_many_messages_a_bounded_part_is_taken(
    fresh: &FreshMessageMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        let sent = distinct_messages(FIRST_MAILBOX, 2 * RECEIVED_MAX + 10);
        mailboxes.send(sent.clone()).await?;
        let first = mailboxes.receive(FIRST_MAILBOX, LONG).await?;
        let many = first.len();
        let what = format!("received {many} messages at once, and {RECEIVED_MAX} is the maximum");
        expect_true(&what, (1..=RECEIVED_MAX).contains(&many))?;
        let rest: Vec<MailboxMessage> =
            sent.into_iter().filter(|sent_message| !first.contains(&sent_message.bytes)).collect();
        expect_messages(&*mailboxes, FIRST_MAILBOX, &rest).await
    })
}

pub(super) fn messages_of_many_senders_all_arrive(
    fresh: &FreshMessageMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mut senders = JoinSet::new();
        let of = |sender: usize| -> Vec<MailboxMessage> {
            let text = |number| format!("message {number} of {sender}");
            (0..50).map(|number| message(MailboxId::LEADER, text(number))).collect()
        };
        for sender in 0..8 {
            let (mailboxes, messages) = (harness.open(), of(sender));
            senders.spawn(async move {
                for sent_message in messages {
                    mailboxes.send(vec![sent_message]).await?;
                }
                Ok::<(), MailboxError>(())
            });
        }
        let sent: Vec<MailboxMessage> = (0..8).flat_map(of).collect();
        let arrived = expect_messages(&*harness.open(), MailboxId::LEADER, &sent).await;
        senders.join_all().await.into_iter().collect::<Result<(), MailboxError>>()?;
        arrived
    })
}

pub(super) fn a_waiting_reader_is_woken(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (reader, sender) = (harness.open(), harness.open());
        for number in 0..3 {
            let waiting = reader.receive(FIRST_MAILBOX, LONG);
            let sending = async {
                sleep(SHORT).await;
                let sent = Instant::now();
                sender
                    .send(vec![message(FIRST_MAILBOX, format!("message {number}"))])
                    .await
                    .map(|()| sent)
            };
            let (received, sent) = tokio::join!(waiting, sending);
            let took = sent?.elapsed();
            expect_same("messages for the waiting reader", &received?.len(), &1)?;
            let what = format!("the reader was woken {took:?} after the message was sent");
            expect_true(&what, took < Duration::from_secs(2))?;
        }
        Ok(())
    })
}

pub(super) fn waiting_ends_at_its_deadline(fresh: &FreshMessageMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mailboxes = harness.open();
        for within in [SHORT, Duration::from_millis(1_200)] {
            let began = Instant::now();
            let received = mailboxes.receive(FIRST_MAILBOX, within).await?;
            expect_same("messages in an empty mailbox", &received.len(), &0)?;
            let took = began.elapsed();
            let what = format!("a wait of {within:?} took {took:?}");
            expect_true(&what, took >= within / 2 && took < within + Duration::from_secs(2))?;
        }
        Ok(())
    })
}
