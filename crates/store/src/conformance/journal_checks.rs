//! All checks of journals, and the functions that run them.

use super::check::{ConformanceCheck, run_all};
use super::harness::StorageHarness;
use super::report::ConformanceReport;
use super::{
    append, campaign_races, condemned, crash, journal_model, positions, reopen, snapshot, tail,
    terms,
};
use crate::conformance_checks;

/// Every check, in the order in which they run: later checks depend on earlier ones.
pub const JOURNAL_CHECKS: &[ConformanceCheck] = conformance_checks! {
    append::an_empty_journal_has_nothing,
    append::an_append_is_readable_at_once,
    append::another_handle_reads_it_too,
    append::a_batch_is_written_whole,
    append::a_refused_batch_leaves_nothing,
    append::the_same_batch_again_writes_nothing,
    append::the_same_name_elsewhere_is_no_repeat,
    append::the_same_name_in_a_later_term_is_no_repeat,
    positions::they_are_contiguous,
    positions::a_hole_ahead_is_refused,
    positions::a_batch_behind_the_head_is_refused,
    positions::of_appends_at_once_one_wins,
    terms::of_two_candidates_one_wins,
    terms::of_candidates_at_once_one_wins,
    terms::refused_candidate_learns_the_leader,
    terms::a_term_given_up_is_won_at_once,
    terms::a_leader_keeps_its_term,
    terms::a_passed_term_is_not_renewed,
    terms::a_passed_term_writes_nothing,
    terms::a_passed_term_is_given_up_without_effect,
    campaign_races::an_append_held_up_until_its_term_has_passed_is_refused,
    campaign_races::a_campaign_reads_the_exact_head,
    campaign_races::an_append_on_its_way_is_before_the_next_head_or_nowhere,
    campaign_races::appends_that_race_a_campaign_stay_before_its_head,
    tail::a_page_holds_about_as_much_as_was_asked,
    tail::a_page_has_at_least_one_batch,
    tail::pages_make_up_the_whole,
    tail::from_inside_a_batch_it_is_read_whole,
    tail::from_the_head_there_is_nothing,
    tail::every_event_reads_as_it_was_written,
    snapshot::at_first_there_is_none,
    snapshot::a_saved_one_reads_back,
    snapshot::the_newest_counts,
    snapshot::saved_twice_it_is_one,
    snapshot::one_ahead_of_the_head_is_not_used,
    snapshot::one_of_another_history_is_not_used,
    snapshot::with_its_tail_it_gives_the_same_state,
    snapshot::without_two_nothing_leaves,
    snapshot::nothing_leaves_that_the_older_one_lacks,
    snapshot::nothing_leaves_beyond_what_was_asked,
    snapshot::only_whole_batches_leave,
    snapshot::the_last_batch_stays,
    snapshot::what_has_left_is_not_skipped,
    snapshot::a_pruned_journal_goes_on,
    snapshot::pruning_again_changes_nothing,
    snapshot::a_page_read_while_batches_leave_is_whole,
    condemned::a_condemned_run_is_listed,
    condemned::a_passed_term_condemns_nothing,
    condemned::a_start_leaves_a_mark_until_it_is_done,
    crash::an_append_without_answer_is_settled_by_repeating_it,
    crash::an_append_that_never_arrived_is_written_once,
    crash::an_append_without_room_is_written_once_there_is,
    crash::the_next_leader_sees_an_append_without_answer,
    reopen::what_was_acknowledged_is_there,
    reopen::the_same_state_follows_from_it,
    reopen::a_term_is_never_used_again,
    reopen::a_repeat_after_a_restart_is_refused_without_effect,
    reopen::snapshots_are_there,
    reopen::what_has_left_stays_away,
    journal_model::random_operations_answer_alike,
};

/// Runs every check against the backend, and panics with a list of all failures.
pub fn check_journal<H: StorageHarness + 'static>(backend: &str, fresh: impl Fn() -> H) {
    let report = examine_journal(backend, fresh);
    assert!(report.failures.is_empty(), "{report}");
}

/// Runs every check against the backend.
pub fn examine_journal<H: StorageHarness + 'static>(
    backend: &str,
    fresh: impl Fn() -> H,
) -> ConformanceReport {
    run_all("journal", backend, JOURNAL_CHECKS, fresh)
}
