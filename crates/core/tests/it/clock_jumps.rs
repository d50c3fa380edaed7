//! Journal time jumps at a takeover: whatever ends by real time does not end early.

use windlass_core::engine::{LEASE_TTL_MAX, ProvenTime, StoreHistory};
use windlass_core::outcome::StepStatus;
use windlass_core::plan::StepSpec;
use windlass_core::report::WhyReport;
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

const DAYS: Span = Span::hours(72);

/// A cluster in which `alpha` runs `deploy` with a lock and has fallen silent.
fn silent_holder() -> TestCluster {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    crew.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    crew.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    assert_eq!(crew.running("alpha"), ["deploy"]);
    crew.cut("alpha");
    crew.join("beta", 1, []);
    crew.proven = ProvenTime::NONE;
    crew
}

/// The clock of the store is set forward while no leader leads.
fn leap(crew: &mut TestCluster) {
    crew.now = crew.now + DAYS;
}

/// The leader decides something.
fn happens(crew: &mut TestCluster, turn: u32) {
    crew.submit(&format!("mark{turn}"), |plan| plan.plain("mark", []));
}

#[test]
fn clock_jump_before_the_second_takeover_does_not_end_an_unconfirmed_lease() {
    let mut crew = silent_holder();
    leap(&mut crew);
    crew.take_over();
    leap(&mut crew);
    crew.take_over();
    crew.exchange("beta");
    crew.pass(TTL.saturating_sub(Span::millis(1)));
    assert_eq!(crew.status("deploy"), StepStatus::Running);
    assert!(crew.holder("next").is_none(), "the first holder may still run");
    crew.pass(Span::millis(1));
    assert_eq!(crew.running("beta").len(), 1, "a TTL after the newest takeover");
}

#[test]
fn time_under_leaders_counts_over_all_terms() {
    let mut crew = silent_holder();
    crew.take_over();
    for turn in 0..4 {
        crew.pass(TTL.divided_by(5));
        happens(&mut crew, turn);
        leap(&mut crew);
        crew.take_over();
    }
    assert_eq!(crew.status("deploy"), StepStatus::Running);
    crew.pass(TTL.divided_by(5));
    assert_ne!(crew.status("deploy"), StepStatus::Running, "leaders that change still end it");
}

#[test]
fn unproven_time_counts_as_a_clock_jump() {
    let mut crew = silent_holder();
    crew.take_over();
    crew.proven = ProvenTime { passed: TTL.divided_by(3), led: Span::ZERO };
    leap(&mut crew);
    crew.take_over();
    crew.pass((TTL.saturating_sub(TTL.divided_by(3))).saturating_sub(Span::millis(1)));
    assert_eq!(crew.status("deploy"), StepStatus::Running);
    crew.pass(Span::millis(1));
    assert_ne!(crew.status("deploy"), StepStatus::Running);
}

#[test]
fn clock_jump_does_not_end_an_embargo() {
    let mut crew = TestCluster::new().worker("alpha", 4, []);
    crew.proven = ProvenTime::NONE;
    crew.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    crew.take_over_after(StoreHistory::Lost);
    crew.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    let left = crew.engine.embargo_until().expect("it has begun").since(crew.now);
    assert_eq!(left, LEASE_TTL_MAX);
    leap(&mut crew);
    crew.take_over();
    let until = crew.now + LEASE_TTL_MAX;
    crew.pump();
    assert_eq!(crew.why("next"), WhyReport::Embargo { until });
    crew.pass(LEASE_TTL_MAX.saturating_sub(Span::millis(1)));
    assert!(crew.holder("next").is_none());
    crew.pass(Span::secs(1));
    assert!(crew.holder("next").is_some() || crew.holder("deploy").is_some());
}

#[test]
fn embargo_that_was_over_does_not_return() {
    let mut crew = TestCluster::new().worker("alpha", 4, []);
    crew.proven = ProvenTime::NONE;
    crew.take_over_after(StoreHistory::Lost);
    crew.pass(LEASE_TTL_MAX);
    happens(&mut crew, 0);
    leap(&mut crew);
    crew.take_over();
    assert_eq!(crew.engine.embargo_until(), None);
}

#[test]
fn clock_jump_does_not_make_a_step_overdue() {
    let mut crew = TestCluster::new().worker("alpha", 1, []);
    let timeout = Some(Span::hours(1));
    crew.submit("ship", |plan| {
        plan.step("build", StepSpec { timeout, ..StepSpec::default() }, []);
    });
    crew.exchange("alpha");
    crew.proven = ProvenTime::NONE;
    leap(&mut crew);
    crew.take_over();
    crew.exchange("alpha");
    crew.pass(Span::mins(1));
    assert_eq!(crew.running("alpha"), ["build"]);
    assert!(!crew.text().contains("stop"), "{}", crew.text());
}
