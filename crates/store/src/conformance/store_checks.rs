//! All checks of archives, logs and objects, and the functions that run them.

// The braces import only the modules: the functions below have the same names.
use super::archive::{self};
use super::check::{ConformanceCheck, run_all};
use super::harness::StorageHarness;
use super::objects::{self};
use super::report::ConformanceReport;
use super::{log_lists, logs, object_removal, object_uploads, submission_keys};
use crate::archive::Archive;
use crate::conformance_checks;
use crate::logs::LogStore;
use crate::objects::ObjectInventory;

/// Every check of archives, in the order in which they run.
pub const ARCHIVE_CHECKS: &[ConformanceCheck<dyn Archive>] = conformance_checks! {
    archive::a_kept_run_reads_as_before,
    archive::another_handle_reads_it_too,
    archive::the_same_run_again_changes_nothing,
    archive::a_longer_history_takes_the_place_of_a_shorter_one,
    archive::of_keeps_at_once_the_longest_stays,
    archive::a_run_that_is_not_here_is_none,
    archive::events_are_paged_by_position,
    archive::late_positions_are_kept,
    archive::a_large_run_is_read_in_pages,
    archive::every_event_reads_as_it_was_written,
    archive::runs_are_listed_newest_first,
    archive::filters_let_through_what_they_say,
    archive::a_page_has_a_bound,
    archive::pages_make_up_the_whole_while_runs_come_and_go,
    archive::what_ended_before_is_pruned,
    archive::pruning_is_done_in_parts,
    archive::reopened_it_has_everything,
    archive::reopened_it_stays_pruned,
    submission_keys::a_key_is_new_and_then_known,
    submission_keys::another_body_is_a_conflict,
    submission_keys::keys_are_told_apart_byte_by_byte,
    submission_keys::a_key_that_is_too_long_is_refused,
    submission_keys::of_claims_at_once_one_is_new,
    submission_keys::a_key_outlives_its_run,
    submission_keys::a_pruned_key_is_new_again,
    submission_keys::reopened_they_are_known,
    submission_keys::they_are_listed_in_pages,
};

/// Every check of log stores, in the order in which they run.
pub const LOG_CHECKS: &[ConformanceCheck<dyn LogStore>] = conformance_checks! {
    logs::what_was_appended_is_read,
    logs::another_handle_goes_on,
    logs::a_repeat_is_not_written_twice,
    logs::an_overlap_adds_what_is_new,
    logs::a_hole_is_refused,
    logs::nothing_is_appended_without_effect,
    logs::ranges_end_where_the_log_ends,
    logs::a_read_has_a_bound,
    logs::a_log_that_is_not_there_is_empty,
    logs::any_byte_survives,
    log_lists::logs_are_listed_in_order,
    log_lists::a_removed_log_is_gone_and_can_begin_again,
    log_lists::removing_touches_no_other_run,
    log_lists::runs_are_told_with_their_bytes,
    log_lists::many_logs_at_once_stay_apart,
    log_lists::reopened_they_go_on,
};

/// Every check of object stores, in the order in which they run.
pub const OBJECT_CHECKS: &[ConformanceCheck<dyn ObjectInventory>] = conformance_checks! {
    objects::what_was_put_is_read,
    objects::another_handle_reads_them,
    objects::equal_objects_are_one,
    objects::other_bytes_are_refused,
    objects::missing_objects_are_told,
    objects::ranges_end_with_their_block,
    objects::batches_have_limits,
    objects::list_is_paged_in_order,
    objects::writers_at_once_agree,
    object_uploads::an_upload_is_hidden_until_it_is_whole,
    object_uploads::an_upload_may_have_any_size,
    object_uploads::an_upload_continues,
    object_uploads::blocks_follow_each_other,
    object_uploads::an_upload_of_other_bytes_is_forgotten,
    object_uploads::senders_at_once_share_an_upload,
    object_removal::untouched_objects_are_removed,
    object_removal::removal_touches_no_other_object,
    object_removal::old_uploads_are_removed,
    object_removal::a_sweep_spares_what_is_new,
    object_removal::a_check_finds_missing_objects,
    object_removal::reopened_it_has_everything,
};

/// Runs every check against the backend, and panics with a list of all failures.
pub fn check_archive<H: StorageHarness<dyn Archive> + 'static>(
    backend: &str,
    fresh: impl Fn() -> H,
) {
    let report = examine_archive(backend, fresh);
    assert!(report.failures.is_empty(), "{report}");
}

/// Runs every check against the backend.
pub fn examine_archive<H>(backend: &str, fresh: impl Fn() -> H) -> ConformanceReport
where
    H: StorageHarness<dyn Archive> + 'static,
{
    run_all("archive", backend, ARCHIVE_CHECKS, fresh)
}

/// Runs every check against the backend, and panics with a list of all failures.
pub fn check_logs<H: StorageHarness<dyn LogStore> + 'static>(backend: &str, fresh: impl Fn() -> H) {
    let report = examine_logs(backend, fresh);
    assert!(report.failures.is_empty(), "{report}");
}

/// Runs every check against the backend.
pub fn examine_logs<H>(backend: &str, fresh: impl Fn() -> H) -> ConformanceReport
where
    H: StorageHarness<dyn LogStore> + 'static,
{
    run_all("logs", backend, LOG_CHECKS, fresh)
}

/// Runs every check against the backend, and panics with a list of all failures.
pub fn check_object_store<H: StorageHarness<dyn ObjectInventory> + 'static>(
    backend: &str,
    fresh: impl Fn() -> H,
) {
    let report = run_all("objects", backend, OBJECT_CHECKS, fresh);
    assert!(report.failures.is_empty(), "{report}");
}
