//! Takeovers without proof of a complete history: lost grants may still run, and nothing is granted beside them.

use windlass_core::engine::{
    EngineAnswer, EngineRequest, Event, LEASE_TTL_MAX, ProvenTime, RequestDenial, StoreHistory,
};
use windlass_core::id::{Incarnation, Term, WorkerId};
use windlass_core::outcome::{OutcomeKind, RunStatus, StepStatus};
use windlass_core::plan::{RetryPolicy, StepSpec};
use windlass_core::report::WhyReport;
use windlass_core::time::Span;

use crate::test_cluster::{TTL, TestCluster};

fn cluster() -> TestCluster {
    TestCluster::new().worker("alpha", 4, []).worker("beta", 4, [])
}

fn only_once() -> StepSpec {
    StepSpec { retry: RetryPolicy { lost: 0, ..RetryPolicy::default() }, ..StepSpec::default() }
}

#[test]
fn locks_and_keys_wait_for_the_longest_lease_after_an_unproven_takeover() {
    for history in [StoreHistory::Unproven, StoreHistory::Lost] {
        let mut cluster = cluster();
        cluster.take_over_after(history);
        let until = cluster.now + LEASE_TTL_MAX;
        cluster.submit("ship", |plan| {
            plan.step("build", StepSpec::default(), []);
            plan.step("deploy", StepSpec::locking(["db"]), []);
            plan.step("publish", StepSpec::idempotent("v1"), []);
        });
        cluster.exchange("alpha");
        assert!(cluster.holder("build").is_some(), "a step that may run twice goes on");
        for step in ["deploy", "publish"] {
            assert_eq!(cluster.why(step), WhyReport::Embargo { until }, "{step} after {history:?}");
        }
        let lock = cluster.engine.locks().next().expect("it is named");
        assert_eq!((lock.embargo, lock.holders.len()), (Some(until), 0));
        cluster.succeed(["build"]);
        cluster.pass(LEASE_TTL_MAX.saturating_sub(Span::secs(1)));
        assert_eq!(cluster.engine.counts().leases, 0);
        cluster.pass(Span::secs(2));
        cluster.succeed(["deploy", "publish"]);
        assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
    }
}

/// The lost part may have given up the lease, and granted the lock to another worker.
#[test]
fn undelivered_grant_is_not_resent_after_lost_history() {
    let mut cluster = TestCluster::new().worker("alpha", 4, []);
    cluster.cut("alpha");
    cluster.submit("ship", |plan| {
        plan.step("build", StepSpec::default(), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
    });
    assert!(cluster.holder("deploy").is_some() && cluster.running("alpha").is_empty());
    cluster.take_over_after(StoreHistory::Lost);
    let until = cluster.now + LEASE_TTL_MAX;
    cluster.heal("alpha");
    assert!(cluster.running("alpha").contains(&"build".to_owned()), "it may run twice");
    assert_eq!(
        (cluster.holder("deploy"), cluster.why("deploy")),
        (None, WhyReport::Embargo { until })
    );
    cluster.succeed(["build"]);
    cluster.pass(LEASE_TTL_MAX + Span::secs(1));
    cluster.succeed(["deploy"]);
    assert_eq!(cluster.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn locks_wait_for_leases_of_a_store_that_is_not_this_one() {
    let mut cluster = cluster();
    let generation = cluster.engine.generation();
    cluster.ask(EngineRequest::Embargo { lasts: TTL });
    let until = cluster.now + TTL;
    cluster.submit("ship", |plan| {
        plan.step("build", StepSpec::default(), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
    });
    cluster.exchange("alpha");
    assert!(cluster.holder("build").is_some(), "it holds no lock");
    assert_eq!(cluster.why("deploy"), WhyReport::Embargo { until });
    assert_eq!(cluster.engine.generation(), generation, "nothing of this store is lost");
    cluster.pass(TTL + Span::millis(1));
    cluster.succeed(["build", "deploy"]);
    cluster.ask(EngineRequest::Embargo { lasts: LEASE_TTL_MAX + TTL });
    assert_eq!(cluster.engine.embargo_until(), Some(cluster.now + LEASE_TTL_MAX));
}

#[test]
fn an_embargo_outlives_the_leader_that_began_it() {
    let mut cluster = cluster();
    cluster.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    cluster.take_over_after(StoreHistory::Lost);
    let until = cluster.now + LEASE_TTL_MAX;
    cluster.pass(TTL);
    cluster.take_over_after(StoreHistory::Unbroken);
    cluster.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    cluster.pump();
    assert_eq!(cluster.why("next"), WhyReport::Embargo { until });
    cluster.pass(TTL);
    cluster.take_over_after(StoreHistory::Unproven);
    let later = cluster.now + LEASE_TTL_MAX;
    cluster.pump();
    assert_eq!(cluster.why("next"), WhyReport::Embargo { until: later });
}

#[test]
fn step_that_must_not_start_twice_waits_only_if_the_lost_part_may_contain_its_run() {
    let mut cluster = cluster();
    cluster.submit("old", |plan| {
        plan.step("first", StepSpec::default(), []);
        plan.step("charge", only_once(), ["first"]);
    });
    cluster.take_over_after(StoreHistory::Unproven);
    let until = cluster.now + LEASE_TTL_MAX;
    cluster.pass(Span::secs(1));
    cluster.submit("new", |plan| plan.step("bill", only_once(), []));
    cluster.exchange("alpha");
    assert!(cluster.holder("bill").is_some(), "its run came after the loss");
    cluster.succeed(["first"]);
    assert_eq!(cluster.why("charge"), WhyReport::Embargo { until });
}

#[test]
fn store_without_other_workers_than_the_leaders_own_needs_no_embargo() {
    let mut cluster = TestCluster::new().leader_in_process("own", 4, []);
    cluster.take_over_at(Some("own"), TTL);
    cluster.take_over_after(StoreHistory::Unproven);
    assert_eq!((cluster.engine.embargo_until(), cluster.engine.generation()), (None, 1));
    cluster.take_over_after(StoreHistory::Lost);
    assert!(cluster.engine.embargo_until().is_some(), "what is missing may have known others");
    assert_eq!(cluster.engine.generation(), 2);
}

#[test]
fn wait_for_lock_does_not_count_an_embargo() {
    let mut cluster = cluster();
    cluster.take_over_after(StoreHistory::Lost);
    let patient = StepSpec { wait_for_lock: Span::secs(30), ..StepSpec::locking(["db"]) };
    cluster.submit("ship", |plan| {
        plan.step("a", patient.clone(), []);
        plan.step("b", patient.clone(), []);
    });
    cluster.pass(LEASE_TTL_MAX + Span::secs(1));
    assert_eq!(cluster.engine.counts().leases, 1);
    cluster.pass(Span::secs(20));
    assert_ne!(cluster.status("b"), StepStatus::Failed);
    cluster.pass(Span::secs(20));
    assert_eq!(cluster.status("b"), StepStatus::Failed, "it waited for the other one then");
}

#[test]
fn leases_longer_than_an_embargo_are_refused() {
    let mut cluster = TestCluster::new();
    let (term, ttl) = (Term(9), LEASE_TTL_MAX + Span::millis(1));
    let lead = EngineRequest::Lead {
        term,
        ttl,
        generation: 0,
        own: None,
        history: StoreHistory::Unbroken,
        proven: ProvenTime::ALL,
    };
    let denial = RequestDenial::TooLongLeases { ttl, max: LEASE_TTL_MAX };
    assert_eq!(cluster.ask(lead), EngineAnswer::Denied(denial));
}

/// A guard does not list a start that was judged, and the store may have lost start and verdict.
#[test]
fn unlisted_lease_of_an_earlier_term_is_lost_after_lost_history() {
    for (history, kind) in
        [(StoreHistory::Unbroken, OutcomeKind::Released), (StoreHistory::Lost, OutcomeKind::Lost)]
    {
        let mut cluster = TestCluster::new().worker("alpha", 1, []);
        cluster.cut("alpha");
        cluster.submit("ship", |plan| {
            plan.step("build", StepSpec::default(), []);
        });
        cluster.take_over_after(history);
        let (worker, incarnation) = (WorkerId(1), Incarnation(1));
        let notice = EngineRequest::GuardEnded { worker, incarnation, started: Vec::new() };
        let events = cluster.decide(notice).events;
        let ended = events.iter().find_map(|event| match event {
            Event::LeaseEnded(ended) => Some(ended.outcome.kind),
            _ => None,
        });
        assert_eq!(ended, Some(kind), "{history:?}");
    }
}
