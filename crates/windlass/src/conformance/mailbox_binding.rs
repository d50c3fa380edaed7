//! Mailboxes are bound to one leader at a time, under an epoch that never repeats.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use windlass_link::mailbox::{BindingEpoch, MailboxBinding, MailboxError, Mailboxes};
use windlass_store::conformance::{
    CheckDifference, CheckResult, FreshStorage, expect_same, expect_true,
};

use super::link_checks::with_new_mailboxes;

/// A term that is longer than any check here.
const LONG: Duration = Duration::from_mins(1);

/// A term that ends while a check waits for it.
const SHORT: Duration = Duration::from_millis(300);

/// How long a binding may last beyond its term, since clocks and timers are coarse.
const SLACK: Duration = Duration::from_secs(5);

type FreshBindingMailboxes<'a> = FreshStorage<'a, dyn Mailboxes>;

async fn bind(
    mailboxes: &dyn Mailboxes,
    by: &str,
    term: Duration,
) -> Result<BindingEpoch, MailboxError> {
    mailboxes.bind(by.to_owned(), term).await
}

/// Tries until the binding succeeds.
async fn bind_in_time(
    mailboxes: &dyn Mailboxes,
    by: &str,
) -> Result<BindingEpoch, CheckDifference> {
    let began = Instant::now();
    loop {
        match bind(mailboxes, by, LONG).await {
            Ok(epoch) => return Ok(epoch),
            Err(error @ MailboxError::AlreadyLed { .. }) if began.elapsed() > SLACK => {
                let what =
                    format!("a binding without renewal lasted {SLACK:?} beyond its term: {error}");
                return Err(CheckDifference::new(what));
            }
            Err(MailboxError::AlreadyLed { .. }) => sleep(Duration::from_millis(20)).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Expects the error for a leader whose binding has passed to another one.
fn expect_deposed(what: &str, answer: &Result<(), MailboxError>) -> CheckResult {
    let deposed = matches!(answer, Err(MailboxError::Deposed { .. }));
    expect_true(&format!("{what}: found {answer:?}, expected Deposed"), deposed)
}

pub(super) fn initially_no_leader_is_bound(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        expect_same(
            "binding of new mailboxes",
            &harness.open().binding().await?,
            &MailboxBinding::default(),
        )
    })
}

pub(super) fn first_bind_succeeds_and_is_visible(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let epoch = bind(&*harness.open(), "holder, pid 7 “x”\n", LONG).await?;
        expect_true("the first epoch is zero, which means no leader", epoch > BindingEpoch(0))?;
        let by = Some("holder, pid 7 “x”\n".to_owned());
        let seen = harness.open().binding().await?;
        expect_same(
            "binding seen by another handle",
            &seen,
            &MailboxBinding { epoch, by, final_status: None },
        )
    })
}

pub(super) fn second_bind_is_refused_with_the_holder(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        bind(&*harness.open(), "holder", LONG).await?;
        let second = bind(&*harness.open(), "challenger", LONG).await;
        let led = Err(MailboxError::AlreadyLed { by: "holder".to_owned() });
        expect_same("result of a second binding", &second, &led)
    })
}

pub(super) fn of_many_at_once_one_is_bound(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mut candidates = JoinSet::new();
        for number in 0..16 {
            let mailboxes = harness.open();
            candidates.spawn(async move { bind(&*mailboxes, &format!("c{number}"), LONG).await });
        }
        let bound = candidates.join_all().await;
        expect_same("successful bindings of 16", &bound.iter().filter(|it| it.is_ok()).count(), &1)
    })
}

pub(super) fn a_binding_given_up_is_free_at_once(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (holder, challenger) = (harness.open(), harness.open());
        let epoch = bind(&*holder, "holder", LONG).await?;
        holder.unbind(epoch, None).await?;
        let seen = challenger.binding().await?;
        expect_same(
            "binding after it was given up",
            &seen,
            &MailboxBinding { epoch, by: None, final_status: None },
        )?;
        bind(&*challenger, "challenger", LONG).await?;
        Ok(())
    })
}

pub(super) fn an_epoch_never_repeats(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let mut last = BindingEpoch(0);
        for _ in 0..5 {
            let mailboxes = harness.open();
            let epoch = bind(&*mailboxes, "holder", LONG).await?;
            expect_true(&format!("epoch {epoch} is not above {last}"), epoch > last)?;
            mailboxes.unbind(epoch, None).await?;
            last = epoch;
        }
        Ok(())
    })
}

pub(super) fn a_binding_lapses_with_its_term(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (holder, challenger) = (harness.open(), harness.open());
        let began = Instant::now();
        let first = bind(&*holder, "holder", SHORT).await?;
        let next = bind_in_time(&*challenger, "challenger").await?;
        expect_true("a binding expired before its term ended", began.elapsed() >= SHORT)?;
        expect_true(&format!("epoch {next} is not above {first}, which expired"), next > first)
    })
}

pub(super) fn a_binding_that_is_kept_lasts(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (holder, challenger) = (harness.open(), harness.open());
        let term = Duration::from_secs(2);
        let epoch = bind(&*holder, "holder", term).await?;
        let began = Instant::now();
        while began.elapsed() < term + term / 2 {
            sleep(term / 10).await;
            holder.renew(epoch, term).await?;
            let other = bind(&*challenger, "challenger", LONG).await;
            expect_true(&format!("a renewed binding was taken over: {other:?}"), other.is_err())?;
        }
        Ok(())
    })
}

pub(super) fn a_passed_binding_is_not_kept(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (holder, challenger) = (harness.open(), harness.open());
        let passed = bind(&*holder, "holder", SHORT).await?;
        let epoch = bind_in_time(&*challenger, "challenger").await?;
        expect_deposed("renewal of a binding that has passed", &holder.renew(passed, LONG).await)?;
        challenger.renew(epoch, LONG).await?;
        expect_same(
            "bound leader",
            &harness.open().binding().await?.by,
            &Some("challenger".to_owned()),
        )
    })
}

pub(super) fn a_passed_binding_gives_up_nothing(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (holder, challenger) = (harness.open(), harness.open());
        let passed = bind(&*holder, "holder", SHORT).await?;
        bind_in_time(&*challenger, "challenger").await?;
        // The interface does not specify whether that is an error.
        drop(holder.unbind(passed, None).await);
        expect_same(
            "bound leader",
            &harness.open().binding().await?.by,
            &Some("challenger".to_owned()),
        )
    })
}

pub(super) fn an_epoch_that_never_was_is_gone(fresh: &FreshBindingMailboxes<'_>) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let kept = harness.open().renew(BindingEpoch(7), LONG).await;
        let gone = matches!(kept, Err(MailboxError::StateLost { .. }));
        let what = "renewal of an unknown epoch";
        expect_true(&format!("{what}: found {kept:?}, expected StateLost"), gone)
    })
}

pub(super) fn a_final_status_is_read_by_every_handle(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let holder = harness.open();
        let epoch = bind(&*holder, "holder", LONG).await?;
        holder.unbind(epoch, Some("succeeded".to_owned())).await?;
        let final_status = Some("succeeded".to_owned());
        let seen = harness.open().binding().await?;
        expect_same(
            "binding after the end",
            &seen,
            &MailboxBinding { epoch, by: None, final_status },
        )
    })
}

pub(super) fn no_leader_is_bound_after_a_final_status(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let holder = harness.open();
        let epoch = bind(&*holder, "holder", LONG).await?;
        holder.unbind(epoch, Some("failed".to_owned())).await?;
        let next = bind(&*harness.open(), "challenger", LONG).await;
        let over = Err(MailboxError::Finished { final_status: "failed".to_owned() });
        expect_same("result of a binding after the end", &next, &over)
    })
}

pub(super) fn a_passed_binding_leaves_no_final_status(
    fresh: &FreshBindingMailboxes<'_>,
) -> CheckResult {
    with_new_mailboxes(fresh, async |harness| {
        let (holder, challenger) = (harness.open(), harness.open());
        let passed = bind(&*holder, "holder", SHORT).await?;
        bind_in_time(&*challenger, "challenger").await?;
        drop(holder.unbind(passed, Some("succeeded".to_owned())).await);
        expect_same(
            "final status from a former leader",
            &challenger.binding().await?.final_status,
            &None,
        )
    })
}
