//! A place is bound to one leader at a time, under an epoch that never repeats.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use windlass_link::mailbox::{BindingEpoch, MailboxBinding, MailboxError, Mailboxes};
use windlass_store::conformance::{
    CheckDifference, CheckResult, FreshStorage, expect_same, expect_true,
};

use super::link_checks::with_new_mailboxes;

/// Longer than any check here takes.
const LONG: Duration = Duration::from_mins(1);

/// Runs out while a check waits for it.
const SHORT: Duration = Duration::from_millis(300);

/// How long after its term a binding may still count: clocks and timers are coarse.
const SLACK: Duration = Duration::from_secs(5);

type FreshBindingMailboxes<'a> = FreshStorage<'a, dyn Mailboxes>;

async fn bind(
    mailboxes: &dyn Mailboxes,
    by: &str,
    term: Duration,
) -> Result<BindingEpoch, MailboxError> {
    mailboxes.bind(by.to_owned(), term).await
}

/// Tries until it is bound.
async fn bind_in_time(
    mailboxes: &dyn Mailboxes,
    by: &str,
) -> Result<BindingEpoch, CheckDifference> {
    let began = Instant::now();
    loop {
        match bind(mailboxes, by, LONG).await {
            Ok(epoch) => return Ok(epoch),
            Err(error @ MailboxError::AlreadyLed { .. }) if began.elapsed() > SLACK => {
                let what = format!("a binding that nobody keeps holds {SLACK:?} longer: {error}");
                return Err(CheckDifference::new(what));
            }
            Err(MailboxError::AlreadyLed { .. }) => sleep(Duration::from_millis(20)).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Demands that somebody else is told to have passed.
fn expect_deposed(what: &str, answer: &Result<(), MailboxError>) -> CheckResult {
    let deposed = matches!(answer, Err(MailboxError::Deposed { .. }));
    expect_true(&format!("{what}: found {answer:?}, promised Deposed"), deposed)
}

pub(super) fn initially_no_leader_is_bound(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        expect_same(
            "how an empty place stands",
            &place.open().binding().await?,
            &MailboxBinding::default(),
        )
    })
}

pub(super) fn first_bind_succeeds_and_is_visible(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let epoch = bind(&*place.open(), "ann, pid 7 “x”\n", LONG).await?;
        expect_true("the first epoch is zero, which is nobody's", epoch > BindingEpoch(0))?;
        let by = Some("ann, pid 7 “x”\n".to_owned());
        let seen = place.open().binding().await?;
        expect_same(
            "what another handle sees",
            &seen,
            &MailboxBinding { epoch, by, final_status: None },
        )
    })
}

pub(super) fn second_bind_is_refused_with_the_holder(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        bind(&*place.open(), "ann", LONG).await?;
        let second = bind(&*place.open(), "ben", LONG).await;
        let led = Err(MailboxError::AlreadyLed { by: "ann".to_owned() });
        expect_same("a second binding", &second, &led)
    })
}

pub(super) fn of_many_at_once_one_is_bound(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let mut candidates = JoinSet::new();
        for number in 0..16 {
            let mailboxes = place.open();
            candidates.spawn(async move { bind(&*mailboxes, &format!("c{number}"), LONG).await });
        }
        let bound = candidates.join_all().await;
        expect_same("how many of 16 were bound", &bound.iter().filter(|it| it.is_ok()).count(), &1)
    })
}

pub(super) fn a_binding_given_up_is_free_at_once(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let epoch = bind(&*ann, "ann", LONG).await?;
        ann.unbind(epoch, None).await?;
        let seen = ben.binding().await?;
        expect_same(
            "a place that was given up",
            &seen,
            &MailboxBinding { epoch, by: None, final_status: None },
        )?;
        bind(&*ben, "ben", LONG).await?;
        Ok(())
    })
}

pub(super) fn an_epoch_never_repeats(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let mut last = BindingEpoch(0);
        for _ in 0..5 {
            let mailboxes = place.open();
            let epoch = bind(&*mailboxes, "ann", LONG).await?;
            expect_true(&format!("{epoch} comes behind {last}"), epoch > last)?;
            mailboxes.unbind(epoch, None).await?;
            last = epoch;
        }
        Ok(())
    })
}

pub(super) fn a_binding_lapses_with_its_term(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let began = Instant::now();
        let first = bind(&*ann, "ann", SHORT).await?;
        let next = bind_in_time(&*ben, "ben").await?;
        expect_true("a binding lapsed before its term was over", began.elapsed() >= SHORT)?;
        expect_true(&format!("{next} comes behind {first}, which lapsed"), next > first)
    })
}

pub(super) fn a_binding_that_is_kept_lasts(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let term = Duration::from_secs(2);
        let epoch = bind(&*ann, "ann", term).await?;
        let began = Instant::now();
        while began.elapsed() < term + term / 2 {
            sleep(term / 10).await;
            ann.renew(epoch, term).await?;
            let other = bind(&*ben, "ben", LONG).await;
            expect_true(&format!("a binding that is kept was taken: {other:?}"), other.is_err())?;
        }
        Ok(())
    })
}

pub(super) fn a_passed_binding_is_not_kept(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let passed = bind(&*ann, "ann", SHORT).await?;
        let epoch = bind_in_time(&*ben, "ben").await?;
        expect_deposed("keeping a binding that has passed", &ann.renew(passed, LONG).await)?;
        ben.renew(epoch, LONG).await?;
        expect_same("who is bound", &place.open().binding().await?.by, &Some("ben".to_owned()))
    })
}

pub(super) fn a_passed_binding_gives_up_nothing(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let passed = bind(&*ann, "ann", SHORT).await?;
        bind_in_time(&*ben, "ben").await?;
        // Whether that is an error is not promised.
        drop(ann.unbind(passed, None).await);
        expect_same("who is bound", &place.open().binding().await?.by, &Some("ben".to_owned()))
    })
}

pub(super) fn an_epoch_that_never_was_is_gone(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let kept = place.open().renew(BindingEpoch(7), LONG).await;
        let gone = matches!(kept, Err(MailboxError::StateLost { .. }));
        let what = "keeping an epoch that the place has forgotten";
        expect_true(&format!("{what}: found {kept:?}, promised Gone"), gone)
    })
}

pub(super) fn a_final_status_is_read_by_every_handle(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let ann = place.open();
        let epoch = bind(&*ann, "ann", LONG).await?;
        ann.unbind(epoch, Some("succeeded".to_owned())).await?;
        let epitaph = Some("succeeded".to_owned());
        let seen = place.open().binding().await?;
        expect_same(
            "a place where all is over",
            &seen,
            &MailboxBinding { epoch, by: None, final_status: epitaph },
        )
    })
}

pub(super) fn no_leader_is_bound_after_a_final_status(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let ann = place.open();
        let epoch = bind(&*ann, "ann", LONG).await?;
        ann.unbind(epoch, Some("failed".to_owned())).await?;
        let next = bind(&*place.open(), "ben", LONG).await;
        let over = Err(MailboxError::Finished { final_status: "failed".to_owned() });
        expect_same("a binding where all is over", &next, &over)
    })
}

pub(super) fn a_passed_binding_leaves_no_final_status(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |place| {
        let (ann, ben) = (place.open(), place.open());
        let passed = bind(&*ann, "ann", SHORT).await?;
        bind_in_time(&*ben, "ben").await?;
        drop(ann.unbind(passed, Some("succeeded".to_owned())).await);
        expect_same("the epitaph of who leads no more", &ben.binding().await?.final_status, &None)
    })
}
