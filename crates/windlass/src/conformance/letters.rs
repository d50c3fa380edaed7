//! Letters arrive, whole, where they were sent, and a mailbox has a bound.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::harness::Fresh;
use super::links::story;
use super::report::{Checked, Difference, holds, same};
use crate::link::post::{
    LETTER_MAX, Letter, MailError, Mailbox, Mailboxes, RECEIVED_MAX, WAITING_MAX,
};

type Place<'a> = Fresh<'a, dyn Mailboxes>;

/// A call that waits this long for a letter that was sent before has lost it.
const LONG: Duration = Duration::from_secs(5);

/// A wait that is meant to be in vain.
const SHORT: Duration = Duration::from_millis(200);

/// Mailboxes of this story.
const ANNS: Mailbox = Mailbox(u64::MAX);
const BENS: Mailbox = Mailbox(77);

fn letter(to: Mailbox, bytes: impl Into<Vec<u8>>) -> Letter {
    Letter { to, bytes: bytes.into() }
}

/// So many letters that are all different.
fn letters(to: Mailbox, many: usize) -> Vec<Letter> {
    (0..many).map(|number| letter(to, format!("letter {number}"))).collect()
}

/// Receives until there are so many, or nothing comes any more.
async fn collect(
    mailboxes: &dyn Mailboxes,
    mailbox: Mailbox,
    many: usize,
) -> Result<BTreeSet<Vec<u8>>, Difference> {
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

/// Demands that these letters are in a mailbox.
async fn has(mailboxes: &dyn Mailboxes, mailbox: Mailbox, sent: &[Letter]) -> Checked {
    let sent: BTreeSet<Vec<u8>> = sent.iter().map(|letter| letter.bytes.clone()).collect();
    let found = collect(mailboxes, mailbox, sent.len()).await?;
    let lost = sent.difference(&found).count();
    same("letters that did not arrive", &lost, &0)?;
    same("letters that nobody sent", &found.difference(&sent).count(), &0)
}

pub(super) fn what_is_sent_arrives_as_it_was(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let sent = letters(Mailbox::LEADER, 3);
        place.open().send(sent.clone()).await?;
        has(&*place.open(), Mailbox::LEADER, &sent).await
    })
}

pub(super) fn every_byte_and_size_arrives(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        let all_bytes: Vec<u8> = (0..=255).collect();
        let sizes = [0, 1, 4_095, 4_096, 65_537, LETTER_MAX];
        let of_each = sizes.map(|size| all_bytes.iter().copied().cycle().take(size).collect());
        for bytes in of_each.into_iter().chain([b"\r\n\0$-1\r\n".to_vec()]) {
            let (sent, many): (Vec<u8>, usize) = (bytes.clone(), bytes.len());
            mailboxes.send(vec![letter(ANNS, bytes)]).await?;
            let found = mailboxes.receive(ANNS, LONG).await?;
            holds(&format!("a letter of {many} bytes is not what was sent"), found == [sent])?;
        }
        Ok(())
    })
}

pub(super) fn a_letter_that_is_too_large_is_refused(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let bytes = LETTER_MAX + 1;
        let sent = place.open().send(vec![letter(ANNS, vec![b'x'; bytes])]).await;
        same("a letter that is too large", &sent, &Err(MailError::TooLarge { bytes }))
    })
}

pub(super) fn mailboxes_are_apart(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        let (to_ann, to_ben) = (letter(ANNS, "for ann"), letter(BENS, "for ben"));
        mailboxes.send(vec![to_ann.clone(), to_ben.clone()]).await?;
        has(&*mailboxes, BENS, &[to_ben]).await?;
        has(&*mailboxes, ANNS, &[to_ann]).await
    })
}

pub(super) fn a_letter_to_nobody_waits(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let sent = letters(BENS, 1);
        place.open().send(sent.clone()).await?;
        sleep(SHORT * 5).await;
        has(&*place.open(), BENS, &sent).await
    })
}

pub(super) fn what_was_taken_is_gone(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        mailboxes.send(letters(ANNS, 20)).await?;
        collect(&*mailboxes, ANNS, 20).await?;
        let again = mailboxes.receive(ANNS, SHORT).await?;
        same("letters that were handed over twice", &again.len(), &0)?;
        let other = place.open().receive(ANNS, SHORT).await?;
        same("letters that were handed over to two", &other.len(), &0)
    })
}

pub(super) fn letters_to_several_all_arrive(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        let sent: Vec<Letter> = (1..=40).flat_map(|to| letters(Mailbox(to), 2)).collect();
        mailboxes.send(sent).await?;
        for to in 1..=40 {
            has(&*mailboxes, Mailbox(to), &letters(Mailbox(to), 2)).await?;
        }
        Ok(())
    })
}

pub(super) fn of_many_letters_a_bounded_part_is_taken(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        let sent = letters(ANNS, 2 * RECEIVED_MAX + 10);
        mailboxes.send(sent.clone()).await?;
        let first = mailboxes.receive(ANNS, LONG).await?;
        let many = first.len();
        let what = format!("{many} letters at once, where {RECEIVED_MAX} are the most");
        holds(&what, (1..=RECEIVED_MAX).contains(&many))?;
        let rest: Vec<Letter> =
            sent.into_iter().filter(|letter| !first.contains(&letter.bytes)).collect();
        has(&*mailboxes, ANNS, &rest).await
    })
}

pub(super) fn letters_of_many_senders_all_arrive(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mut senders = JoinSet::new();
        let of = |sender: usize| -> Vec<Letter> {
            let text = |number| format!("letter {number} of {sender}");
            (0..50).map(|number| letter(Mailbox::LEADER, text(number))).collect()
        };
        for sender in 0..8 {
            let (mailboxes, letters) = (place.open(), of(sender));
            senders.spawn(async move {
                for letter in letters {
                    mailboxes.send(vec![letter]).await?;
                }
                Ok::<(), MailError>(())
            });
        }
        let sent: Vec<Letter> = (0..8).flat_map(of).collect();
        let arrived = has(&*place.open(), Mailbox::LEADER, &sent).await;
        senders.join_all().await.into_iter().collect::<Result<(), MailError>>()?;
        arrived
    })
}

pub(super) fn who_waits_is_woken(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        for number in 0..3 {
            let waiting = ann.receive(ANNS, LONG);
            let sending = async {
                sleep(SHORT).await;
                let sent = Instant::now();
                ben.send(vec![letter(ANNS, format!("letter {number}"))]).await.map(|()| sent)
            };
            let (received, sent) = tokio::join!(waiting, sending);
            let took = sent?.elapsed();
            same("letters for who waits", &received?.len(), &1)?;
            let what = format!("who waited was woken {took:?} after the letter had come");
            holds(&what, took < Duration::from_secs(2))?;
        }
        Ok(())
    })
}

pub(super) fn waiting_ends_at_its_deadline(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        for within in [SHORT, Duration::from_millis(1_200)] {
            let began = Instant::now();
            let received = mailboxes.receive(ANNS, within).await?;
            same("letters in an empty mailbox", &received.len(), &0)?;
            let took = began.elapsed();
            let what = format!("a wait of {within:?} took {took:?}");
            holds(&what, took >= within / 2 && took < within + Duration::from_secs(2))?;
        }
        Ok(())
    })
}

pub(super) fn a_mailbox_that_nobody_reads_fills_up(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let sent = fill(&*place.open()).await?;
        holds(&format!("a mailbox was full with {sent} letters"), sent >= WAITING_MAX / 2)
    })
}

pub(super) fn a_full_mailbox_keeps_nobody_elses_letters(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mailboxes = place.open();
        fill(&*mailboxes).await?;
        let sent = letters(ANNS, 3);
        mailboxes.send(sent.clone()).await?;
        has(&*mailboxes, ANNS, &sent).await?;
        // There is room once it was read.
        mailboxes.receive(BENS, LONG).await?;
        Ok(mailboxes.send(letters(BENS, 1)).await?)
    })
}

/// Sends until nothing more is taken, and says how many letters were.
async fn fill(mailboxes: &dyn Mailboxes) -> Result<usize, Difference> {
    const BATCH: usize = 128;
    let mut sent = 0;
    while sent <= WAITING_MAX + BATCH {
        match mailboxes.send(letters(BENS, BATCH)).await {
            Ok(()) => sent += BATCH,
            Err(MailError::Full { .. }) => return Ok(sent),
            Err(error) => return Err(error.into()),
        }
    }
    let what = format!("a mailbox that nobody reads took {sent} letters: it has no bound");
    Err(Difference::new(what))
}
