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
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    cluster.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    cluster.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    assert_eq!(cluster.running("alpha"), ["deploy"]);
    cluster.cut("alpha");
    cluster.join("beta", 1, []);
    cluster.proven = ProvenTime::NONE;
    cluster
}

/// The clock of the store is set forward while no leader leads.
fn leap(cluster: &mut TestCluster) {
    cluster.now = cluster.now + DAYS;
}

/// The leader decides something.
fn happens(cluster: &mut TestCluster, turn: u32) {
    cluster.submit(&format!("mark{turn}"), |plan| plan.plain("mark", []));
}

#[test]
fn clock_jump_before_the_second_takeover_does_not_end_an_unconfirmed_lease() {
    let mut cluster = silent_holder();
    leap(&mut cluster);
    cluster.take_over();
    leap(&mut cluster);
    cluster.take_over();
    cluster.exchange("beta");
    cluster.pass(TTL.saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("deploy"), StepStatus::Running);
    assert!(cluster.holder("next").is_none(), "the first holder may still run");
    cluster.pass(Span::millis(1));
    assert_eq!(cluster.running("beta").len(), 1, "a TTL after the newest takeover");
}

#[test]
fn time_under_leaders_counts_over_all_terms() {
    let mut cluster = silent_holder();
    cluster.take_over();
    for turn in 0..4 {
        cluster.pass(TTL.divided_by(5));
        happens(&mut cluster, turn);
        leap(&mut cluster);
        cluster.take_over();
    }
    assert_eq!(cluster.status("deploy"), StepStatus::Running);
    cluster.pass(TTL.divided_by(5));
    assert_ne!(cluster.status("deploy"), StepStatus::Running, "leaders that change still end it");
}

#[test]
fn unproven_time_counts_as_a_clock_jump() {
    let mut cluster = silent_holder();
    cluster.take_over();
    cluster.proven = ProvenTime { passed: TTL.divided_by(3), led: Span::ZERO };
    leap(&mut cluster);
    cluster.take_over();
    cluster.pass((TTL.saturating_sub(TTL.divided_by(3))).saturating_sub(Span::millis(1)));
    assert_eq!(cluster.status("deploy"), StepStatus::Running);
    cluster.pass(Span::millis(1));
    assert_ne!(cluster.status("deploy"), StepStatus::Running);
}

#[test]
fn clock_jump_does_not_end_an_embargo() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.proven = ProvenTime::NONE;
    cluster.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    cluster.take_over_after(StoreHistory::Lost);
    cluster.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    let left = cluster.engine.embargo_until().expect("it has begun").since(cluster.now);
    assert_eq!(left, LEASE_TTL_MAX);
    leap(&mut cluster);
    cluster.take_over();
    let until = cluster.now + LEASE_TTL_MAX;
    cluster.pump();
    assert_eq!(cluster.why("next"), WhyReport::Embargo { until });
    cluster.pass(LEASE_TTL_MAX.saturating_sub(Span::millis(1)));
    assert!(cluster.holder("next").is_none());
    cluster.pass(Span::secs(1));
    assert!(cluster.holder("next").is_some() || cluster.holder("deploy").is_some());
}

#[test]
fn embargo_that_was_over_does_not_return() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.proven = ProvenTime::NONE;
    cluster.take_over_after(StoreHistory::Lost);
    cluster.pass(LEASE_TTL_MAX);
    happens(&mut cluster, 0);
    leap(&mut cluster);
    cluster.take_over();
    assert_eq!(cluster.engine.embargo_until(), None);
}

#[test]
fn clock_jump_does_not_make_a_step_overdue() {
    let mut cluster = TestCluster::new().worker("alpha", 1, []);
    let timeout = Some(Span::hours(1));
    cluster.submit("ship", |plan| {
        plan.step("build", StepSpec { timeout, ..StepSpec::default() }, []);
    });
    cluster.exchange("alpha");
    cluster.proven = ProvenTime::NONE;
    leap(&mut cluster);
    cluster.take_over();
    cluster.exchange("alpha");
    cluster.pass(Span::mins(1));
    assert_eq!(cluster.running("alpha"), ["build"]);
    assert!(!cluster.text().contains("stop"), "{}", cluster.text());
}
