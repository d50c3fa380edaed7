//! All checks of links through mailboxes, and how they are run.

use std::time::Duration;

use tokio::time::timeout;

use super::check::{Check, checks, run_all};
use super::harness::{Fresh, Harness};
use super::report::{Checked, Difference, Report};
use super::{binding, letters, storm};
use crate::link::post::{MailError, Mailboxes};

/// How long a check may take: a call that never ends fails it.
const PATIENCE: Duration = Duration::from_mins(1);

/// Every check, in the order in which they are run: what the others rest on comes first.
pub const LINK_CHECKS: &[Check<dyn Mailboxes>] = checks! {
    binding::at_first_nobody_is_bound,
    binding::the_first_is_bound_and_everybody_sees_it,
    binding::a_second_is_refused_and_told_by_whom,
    binding::of_many_at_once_one_is_bound,
    binding::a_binding_given_up_is_free_at_once,
    binding::an_epoch_never_repeats,
    binding::a_binding_lapses_with_its_term,
    binding::a_binding_that_is_kept_lasts,
    binding::a_passed_binding_is_not_kept,
    binding::a_passed_binding_gives_up_nothing,
    binding::an_epoch_that_never_was_is_gone,
    binding::an_epitaph_is_read_by_everybody,
    binding::nobody_is_bound_behind_an_epitaph,
    binding::a_passed_binding_leaves_no_epitaph,
    letters::what_is_sent_arrives_as_it_was,
    letters::every_byte_and_size_arrives,
    letters::a_letter_that_is_too_large_is_refused,
    letters::mailboxes_are_apart,
    letters::a_letter_to_nobody_waits,
    letters::what_was_taken_is_gone,
    letters::letters_to_several_all_arrive,
    letters::of_many_letters_a_bounded_part_is_taken,
    letters::letters_of_many_senders_all_arrive,
    letters::who_waits_is_woken,
    letters::waiting_ends_at_its_deadline,
    letters::a_mailbox_that_nobody_reads_fills_up,
    letters::a_full_mailbox_keeps_nobody_elses_letters,
    storm::a_run_ends_well_in_good_weather,
    storm::a_run_ends_well_though_letters_get_lost,
    storm::a_run_ends_well_though_letters_come_twice,
    storm::a_run_ends_well_though_letters_come_late_and_out_of_order,
    storm::a_run_ends_well_though_everybody_was_cut_off,
    storm::the_next_leader_goes_on_with_a_run,
    storm::an_epitaph_ends_every_worker,
};

/// Runs every check against the link and panics with all that failed.
pub fn link<H: Harness<dyn Mailboxes> + 'static>(backend: &str, fresh: impl Fn() -> H) {
    let report = examine_link(backend, fresh);
    assert!(report.failures.is_empty(), "{report}");
}

/// Runs every check against the link. The argument makes a new, empty place each time; every handle that it opens on it
/// stands for a process. Handles are opened and used inside a runtime of tokio.
pub fn examine_link<H: Harness<dyn Mailboxes> + 'static>(
    backend: &str,
    fresh: impl Fn() -> H,
) -> Report {
    run_all("link", backend, LINK_CHECKS, fresh)
}

/// Runs the checks of these names against the link.
pub fn examine_link_by<H: Harness<dyn Mailboxes> + 'static>(
    backend: &str,
    names: &[&str],
    fresh: impl Fn() -> H,
) -> Report {
    let wanted = LINK_CHECKS.iter().filter(|check| names.contains(&check.name));
    run_all("link", backend, wanted, fresh)
}

impl From<MailError> for Difference {
    fn from(error: MailError) -> Self {
        Self(format!("a call that has to succeed was refused: {error}"))
    }
}

/// A new place, and what is told of it, in a runtime of its own.
pub(super) fn story(
    fresh: &Fresh<'_, dyn Mailboxes>,
    tell: impl AsyncFnOnce(&dyn Harness<dyn Mailboxes>) -> Checked,
) -> Checked {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Difference::new(error.to_string()))?;
    let harness = fresh();
    let told = runtime.block_on(async { timeout(PATIENCE, tell(&*harness)).await });
    let late = || Err(Difference::new("a call does not end: nothing came of it in a minute"));
    runtime.shutdown_background();
    told.unwrap_or_else(|_| late())
}
