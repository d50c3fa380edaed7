//! The list of checks of mailbox links, and functions that run them.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use windlass_link::mailbox::Mailboxes;
use windlass_store::conformance::{
    CheckDifference, CheckResult, ConformanceCheck, ConformanceReport, FreshStorage, SharedStorage,
    StorageHarness, run_all,
};
use windlass_store::conformance_checks;

use super::{faulty_link, full_mailbox, mailbox_binding, messages};

/// How long a check may take. A call that never returns fails it.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// All checks, in order. Each relies only on what earlier checks have checked.
pub const LINK_CHECKS: &[ConformanceCheck<dyn Mailboxes>] = conformance_checks! {
    mailbox_binding::initially_no_leader_is_bound,
    mailbox_binding::first_bind_succeeds_and_is_visible,
    mailbox_binding::second_bind_is_refused_with_the_holder,
    mailbox_binding::of_many_at_once_one_is_bound,
    mailbox_binding::a_binding_given_up_is_free_at_once,
    mailbox_binding::an_epoch_never_repeats,
    mailbox_binding::a_binding_lapses_with_its_term,
    mailbox_binding::a_binding_that_is_kept_lasts,
    mailbox_binding::a_passed_binding_is_not_kept,
    mailbox_binding::a_passed_binding_gives_up_nothing,
    mailbox_binding::an_epoch_that_never_was_is_gone,
    mailbox_binding::a_final_status_is_read_by_every_handle,
    mailbox_binding::no_leader_is_bound_after_a_final_status,
    mailbox_binding::a_passed_binding_leaves_no_final_status,
    messages::what_is_sent_arrives_as_it_was,
    messages::every_byte_and_size_arrives,
    messages::a_message_that_is_too_large_is_refused,
    messages::mailboxes_are_apart,
    messages::a_message_without_a_reader_waits,
    messages::what_was_taken_is_gone,
    messages::messages_to_several_mailboxes_all_arrive,
    messages::of_many_messages_a_bounded_part_is_taken,
    messages::messages_of_many_senders_all_arrive,
    messages::a_waiting_reader_is_woken,
    messages::waiting_ends_at_its_deadline,
    full_mailbox::an_unread_mailbox_fills_up,
    full_mailbox::a_full_mailbox_blocks_no_other_mailbox,
    faulty_link::a_run_succeeds_over_a_reliable_link,
    faulty_link::a_run_succeeds_though_messages_get_lost,
    faulty_link::a_run_succeeds_though_messages_are_duplicated,
    faulty_link::a_run_succeeds_though_messages_are_late_and_out_of_order,
    faulty_link::a_run_succeeds_though_every_node_was_disconnected,
    faulty_link::the_next_leader_goes_on_with_a_run,
    faulty_link::a_final_status_ends_every_worker,
};

/// Runs all checks against the link and panics with those that failed.
pub fn check_link<H: StorageHarness<dyn Mailboxes> + 'static>(
    backend: &str,
    fresh: impl Fn() -> H,
) {
    let report = examine_link(backend, fresh);
    assert!(report.failures.is_empty(), "{report}");
}

/// Runs all checks against the link. `fresh` creates new, empty mailboxes for each check; each handle that is opened on them
/// represents a process. Handles are opened and used inside a tokio runtime.
pub fn examine_link<H: StorageHarness<dyn Mailboxes> + 'static>(
    backend: &str,
    fresh: impl Fn() -> H,
) -> ConformanceReport {
    run_all("link", backend, LINK_CHECKS, fresh)
}

/// Runs the checks with these names against the link.
pub fn examine_link_checks<H: StorageHarness<dyn Mailboxes> + 'static>(
    backend: &str,
    names: &[&str],
    fresh: impl Fn() -> H,
) -> ConformanceReport {
    let wanted = LINK_CHECKS.iter().filter(|check| names.contains(&check.name));
    run_all("link", backend, wanted, fresh)
}

/// Mailboxes in memory, shared by all handles.
pub fn shared_mailboxes(mailboxes: impl Mailboxes + 'static) -> SharedStorage<dyn Mailboxes> {
    SharedStorage::of(Arc::new(mailboxes))
}

/// Runs a check on new mailboxes, in its own runtime.
pub(super) fn with_new_mailboxes(
    fresh: &FreshStorage<'_, dyn Mailboxes>,
    tell: impl AsyncFnOnce(&dyn StorageHarness<dyn Mailboxes>) -> CheckResult,
) -> CheckResult {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| CheckDifference::new(error.to_string()))?;
    let harness = fresh();
    let result = runtime.block_on(async { timeout(CHECK_TIMEOUT, tell(&*harness)).await });
    let late = || Err(CheckDifference::new("a call has not returned within a minute"));
    runtime.shutdown_background();
    result.unwrap_or_else(|_| late())
}
