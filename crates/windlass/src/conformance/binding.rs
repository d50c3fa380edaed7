//! A place is bound to one leader at a time, under an epoch that never repeats.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::harness::Fresh;
use super::links::story;
use super::report::{Checked, Difference, holds, same};
use crate::link::post::{Epoch, MailError, Mailboxes, Standing};

/// Longer than any check here takes.
const LONG: Duration = Duration::from_mins(1);

/// Runs out while a check waits for it.
const SHORT: Duration = Duration::from_millis(300);

/// How long after its term a binding may still count: clocks and timers are coarse.
const SLACK: Duration = Duration::from_secs(5);

type Place<'a> = Fresh<'a, dyn Mailboxes>;

async fn bind(mailboxes: &dyn Mailboxes, by: &str, term: Duration) -> Result<Epoch, MailError> {
    mailboxes.bind(by.to_owned(), term).await
}

/// Tries until it is bound.
async fn bind_in_time(mailboxes: &dyn Mailboxes, by: &str) -> Result<Epoch, Difference> {
    let began = Instant::now();
    loop {
        match bind(mailboxes, by, LONG).await {
            Ok(epoch) => return Ok(epoch),
            Err(error @ MailError::AlreadyLed { .. }) if began.elapsed() > SLACK => {
                let what = format!("a binding that nobody keeps holds {SLACK:?} longer: {error}");
                return Err(Difference::new(what));
            }
            Err(MailError::AlreadyLed { .. }) => sleep(Duration::from_millis(20)).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Demands that somebody else is told to have passed.
fn is_deposed(what: &str, answer: &Result<(), MailError>) -> Checked {
    let deposed = matches!(answer, Err(MailError::Deposed { .. }));
    holds(&format!("{what}: found {answer:?}, promised Deposed"), deposed)
}

pub(super) fn at_first_nobody_is_bound(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        same("how an empty place stands", &place.open().look().await?, &Standing::default())
    })
}

pub(super) fn the_first_is_bound_and_everybody_sees_it(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let epoch = bind(&*place.open(), "ann, pid 7 “x”\n", LONG).await?;
        holds("the first epoch is zero, which is nobody's", epoch > Epoch(0))?;
        let by = Some("ann, pid 7 “x”\n".to_owned());
        let seen = place.open().look().await?;
        same("what another handle sees", &seen, &Standing { epoch, by, epitaph: None })
    })
}

pub(super) fn a_second_is_refused_and_told_by_whom(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        bind(&*place.open(), "ann", LONG).await?;
        let second = bind(&*place.open(), "ben", LONG).await;
        let led = Err(MailError::AlreadyLed { by: "ann".to_owned() });
        same("a second binding", &second, &led)
    })
}

pub(super) fn of_many_at_once_one_is_bound(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mut candidates = JoinSet::new();
        for number in 0..16 {
            let mailboxes = place.open();
            candidates.spawn(async move { bind(&*mailboxes, &format!("c{number}"), LONG).await });
        }
        let bound = candidates.join_all().await;
        same("how many of 16 were bound", &bound.iter().filter(|it| it.is_ok()).count(), &1)
    })
}

pub(super) fn a_binding_given_up_is_free_at_once(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let epoch = bind(&*ann, "ann", LONG).await?;
        ann.unbind(epoch, None).await?;
        let seen = ben.look().await?;
        same("a place that was given up", &seen, &Standing { epoch, by: None, epitaph: None })?;
        bind(&*ben, "ben", LONG).await?;
        Ok(())
    })
}

pub(super) fn an_epoch_never_repeats(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mut last = Epoch(0);
        for _ in 0..5 {
            let mailboxes = place.open();
            let epoch = bind(&*mailboxes, "ann", LONG).await?;
            holds(&format!("{epoch} comes behind {last}"), epoch > last)?;
            mailboxes.unbind(epoch, None).await?;
            last = epoch;
        }
        Ok(())
    })
}

pub(super) fn a_binding_lapses_with_its_term(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let began = Instant::now();
        let first = bind(&*ann, "ann", SHORT).await?;
        let next = bind_in_time(&*ben, "ben").await?;
        holds("a binding lapsed before its term was over", began.elapsed() >= SHORT)?;
        holds(&format!("{next} comes behind {first}, which lapsed"), next > first)
    })
}

pub(super) fn a_binding_that_is_kept_lasts(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let term = Duration::from_secs(2);
        let epoch = bind(&*ann, "ann", term).await?;
        let began = Instant::now();
        while began.elapsed() < term + term / 2 {
            sleep(term / 10).await;
            ann.keep(epoch, term).await?;
            let other = bind(&*ben, "ben", LONG).await;
            holds(&format!("a binding that is kept was taken: {other:?}"), other.is_err())?;
        }
        Ok(())
    })
}

pub(super) fn a_passed_binding_is_not_kept(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let passed = bind(&*ann, "ann", SHORT).await?;
        let epoch = bind_in_time(&*ben, "ben").await?;
        is_deposed("keeping a binding that has passed", &ann.keep(passed, LONG).await)?;
        ben.keep(epoch, LONG).await?;
        same("who is bound", &place.open().look().await?.by, &Some("ben".to_owned()))
    })
}

pub(super) fn a_passed_binding_gives_up_nothing(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let passed = bind(&*ann, "ann", SHORT).await?;
        bind_in_time(&*ben, "ben").await?;
        // Whether that is an error is not promised.
        drop(ann.unbind(passed, None).await);
        same("who is bound", &place.open().look().await?.by, &Some("ben".to_owned()))
    })
}

pub(super) fn an_epoch_that_never_was_is_gone(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let kept = place.open().keep(Epoch(7), LONG).await;
        let gone = matches!(kept, Err(MailError::Gone { .. }));
        let what = "keeping an epoch that the place has forgotten";
        holds(&format!("{what}: found {kept:?}, promised Gone"), gone)
    })
}

pub(super) fn an_epitaph_is_read_by_everybody(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let ann = place.open();
        let epoch = bind(&*ann, "ann", LONG).await?;
        ann.unbind(epoch, Some("succeeded".to_owned())).await?;
        let epitaph = Some("succeeded".to_owned());
        let seen = place.open().look().await?;
        same("a place where all is over", &seen, &Standing { epoch, by: None, epitaph })
    })
}

pub(super) fn nobody_is_bound_behind_an_epitaph(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let ann = place.open();
        let epoch = bind(&*ann, "ann", LONG).await?;
        ann.unbind(epoch, Some("failed".to_owned())).await?;
        let next = bind(&*place.open(), "ben", LONG).await;
        let over = Err(MailError::Over { epitaph: "failed".to_owned() });
        same("a binding where all is over", &next, &over)
    })
}

pub(super) fn a_passed_binding_leaves_no_epitaph(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let passed = bind(&*ann, "ann", SHORT).await?;
        bind_in_time(&*ben, "ben").await?;
        drop(ann.unbind(passed, Some("succeeded".to_owned())).await);
        same("the epitaph of who leads no more", &ben.look().await?.epitaph, &None)
    })
}
