//! All checks, and how they are run.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::harness::{Fresh, Harness};
use super::report::{Checked, Difference, Failure, Report};
use super::{append, crash, model, positions, reopen, tail, terms};

/// One promise.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its theme and what it says, as a path.
    pub name: &'static str,
    run: fn(&Fresh<'_>) -> Checked,
}

impl Check {
    /// Whether it is about what is there after the last handle has gone.
    fn reopens(&self) -> bool {
        self.name.starts_with("reopen::")
    }

    /// A backend that panics fails this check and not the others.
    fn run(&self, fresh: &Fresh<'_>) -> Checked {
        let run = AssertUnwindSafe(|| (self.run)(fresh));
        catch_unwind(run).unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Difference(format!("it panicked: {}", said.unwrap_or("without a word"))))
        })
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! checks {
    ($($theme:ident::$check:ident,)*) => {
        &[$(Check {
            name: concat!(stringify!($theme), "::", stringify!($check)),
            run: $theme::$check,
        },)*]
    };
}

/// Every check, in the order in which they are run: what the others rest on comes first.
pub const CHECKS: &[Check] = checks! {
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
    terms::the_loser_is_told_who_leads,
    terms::a_term_given_up_is_won_at_once,
    terms::a_leader_keeps_its_term,
    terms::a_passed_term_is_not_renewed,
    terms::a_passed_term_writes_nothing,
    terms::a_passed_term_is_given_up_without_effect,
    terms::an_append_held_up_until_its_term_has_passed_is_refused,
    terms::a_campaign_reads_the_exact_head,
    terms::an_append_on_its_way_is_before_the_next_head_or_nowhere,
    terms::appends_that_race_a_campaign_stay_before_its_head,
    tail::a_page_holds_about_as_much_as_was_asked,
    tail::a_page_has_at_least_one_batch,
    tail::pages_make_up_the_whole,
    tail::from_inside_a_batch_it_is_read_whole,
    tail::from_the_head_there_is_nothing,
    tail::every_event_reads_as_it_was_written,
    crash::an_append_without_answer_is_settled_by_repeating_it,
    crash::an_append_that_never_arrived_is_written_once,
    crash::an_append_without_room_is_written_once_there_is,
    crash::the_next_leader_sees_an_append_without_answer,
    reopen::what_was_acknowledged_is_there,
    reopen::the_same_state_follows_from_it,
    reopen::a_term_is_never_used_again,
    reopen::a_repeat_after_a_restart_is_refused_without_effect,
    model::random_operations_answer_alike,
};

/// Runs every check against the backend and panics with all that failed.
pub fn journal<H: Harness + 'static>(backend: &str, fresh: impl Fn() -> H) {
    let report = examine(backend, fresh);
    assert!(report.failures.is_empty(), "{report}");
}

/// Runs every check against the backend.
pub fn examine<H: Harness + 'static>(backend: &str, fresh: impl Fn() -> H) -> Report {
    let fresh = || Box::new(fresh()) as Box<dyn Harness>;
    let reopens = fresh().outlives_its_handles();
    let mut report = Report {
        backend: backend.to_owned(),
        passed: Vec::new(),
        skipped: Vec::new(),
        failures: Vec::new(),
    };
    for check in CHECKS {
        if check.reopens() && !reopens {
            report.skipped.push(check.name);
            continue;
        }
        match check.run(&fresh) {
            Ok(()) => report.passed.push(check.name),
            Err(difference) => report.failures.push(Failure { check: check.name, difference }),
        }
    }
    report
}
