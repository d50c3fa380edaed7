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
        let mut crew = cluster();
        crew.take_over_after(history);
        let until = crew.now + LEASE_TTL_MAX;
        crew.submit("ship", |plan| {
            plan.step("build", StepSpec::default(), []);
            plan.step("deploy", StepSpec::locking(["db"]), []);
            plan.step("publish", StepSpec::idempotent("v1"), []);
        });
        crew.exchange("alpha");
        assert!(crew.holder("build").is_some(), "a step that may run twice goes on");
        for step in ["deploy", "publish"] {
            assert_eq!(crew.why(step), WhyReport::Embargo { until }, "{step} after {history:?}");
        }
        let lock = crew.engine.locks().next().expect("it is named");
        assert_eq!((lock.embargo, lock.holders.len()), (Some(until), 0));
        crew.succeed(["build"]);
        crew.pass(LEASE_TTL_MAX.saturating_sub(Span::secs(1)));
        assert_eq!(crew.engine.counts().leases, 0);
        crew.pass(Span::secs(2));
        crew.succeed(["deploy", "publish"]);
        assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
    }
}

/// The lost part may have given up the lease, and granted the lock to another worker.
#[test]
fn undelivered_grant_is_not_resent_after_lost_history() {
    let mut crew = TestCluster::new().worker("alpha", 4, []);
    crew.cut("alpha");
    crew.submit("ship", |plan| {
        plan.step("build", StepSpec::default(), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
    });
    assert!(crew.holder("deploy").is_some() && crew.running("alpha").is_empty());
    crew.take_over_after(StoreHistory::Lost);
    let until = crew.now + LEASE_TTL_MAX;
    crew.heal("alpha");
    assert!(crew.running("alpha").contains(&"build".to_owned()), "it may run twice");
    assert_eq!((crew.holder("deploy"), crew.why("deploy")), (None, WhyReport::Embargo { until }));
    crew.succeed(["build"]);
    crew.pass(LEASE_TTL_MAX + Span::secs(1));
    crew.succeed(["deploy"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Succeeded);
}

#[test]
fn locks_wait_for_leases_of_a_store_that_is_not_this_one() {
    let mut crew = cluster();
    let generation = crew.engine.generation();
    crew.ask(EngineRequest::Embargo { lasts: TTL });
    let until = crew.now + TTL;
    crew.submit("ship", |plan| {
        plan.step("build", StepSpec::default(), []);
        plan.step("deploy", StepSpec::locking(["db"]), []);
    });
    crew.exchange("alpha");
    assert!(crew.holder("build").is_some(), "it holds no lock");
    assert_eq!(crew.why("deploy"), WhyReport::Embargo { until });
    assert_eq!(crew.engine.generation(), generation, "nothing of this store is lost");
    crew.pass(TTL + Span::millis(1));
    crew.succeed(["build", "deploy"]);
    crew.ask(EngineRequest::Embargo { lasts: LEASE_TTL_MAX + TTL });
    assert_eq!(crew.engine.embargo_until(), Some(crew.now + LEASE_TTL_MAX));
}

#[test]
fn an_embargo_outlives_the_leader_that_began_it() {
    let mut crew = cluster();
    crew.submit("ship", |plan| plan.step("deploy", StepSpec::locking(["db"]), []));
    crew.take_over_after(StoreHistory::Lost);
    let until = crew.now + LEASE_TTL_MAX;
    crew.pass(TTL);
    crew.take_over_after(StoreHistory::Unbroken);
    crew.submit("next", |plan| plan.step("next", StepSpec::locking(["db"]), []));
    crew.pump();
    assert_eq!(crew.why("next"), WhyReport::Embargo { until });
    crew.pass(TTL);
    crew.take_over_after(StoreHistory::Unproven);
    let later = crew.now + LEASE_TTL_MAX;
    crew.pump();
    assert_eq!(crew.why("next"), WhyReport::Embargo { until: later });
}

#[test]
fn step_that_must_not_start_twice_waits_only_if_the_lost_part_may_contain_its_run() {
    let mut crew = cluster();
    crew.submit("old", |plan| {
        plan.step("first", StepSpec::default(), []);
        plan.step("charge", only_once(), ["first"]);
    });
    crew.take_over_after(StoreHistory::Unproven);
    let until = crew.now + LEASE_TTL_MAX;
    crew.pass(Span::secs(1));
    crew.submit("new", |plan| plan.step("bill", only_once(), []));
    crew.exchange("alpha");
    assert!(crew.holder("bill").is_some(), "its run came after the loss");
    crew.succeed(["first"]);
    assert_eq!(crew.why("charge"), WhyReport::Embargo { until });
}

#[test]
fn store_without_other_workers_than_the_leaders_own_needs_no_embargo() {
    let mut crew = TestCluster::new().leader_in_process("own", 4, []);
    crew.take_over_at(Some("own"), TTL);
    crew.take_over_after(StoreHistory::Unproven);
    assert_eq!((crew.engine.embargo_until(), crew.engine.generation()), (None, 1));
    crew.take_over_after(StoreHistory::Lost);
    assert!(crew.engine.embargo_until().is_some(), "what is missing may have known others");
    assert_eq!(crew.engine.generation(), 2);
}

#[test]
fn wait_for_lock_does_not_count_an_embargo() {
    let mut crew = cluster();
    crew.take_over_after(StoreHistory::Lost);
    let patient = StepSpec { wait_for_lock: Span::secs(30), ..StepSpec::locking(["db"]) };
    crew.submit("ship", |plan| {
        plan.step("a", patient.clone(), []);
        plan.step("b", patient.clone(), []);
    });
    crew.pass(LEASE_TTL_MAX + Span::secs(1));
    assert_eq!(crew.engine.counts().leases, 1);
    crew.pass(Span::secs(20));
    assert_ne!(crew.status("b"), StepStatus::Failed);
    crew.pass(Span::secs(20));
    assert_eq!(crew.status("b"), StepStatus::Failed, "it waited for the other one then");
}

#[test]
fn leases_longer_than_an_embargo_are_refused() {
    let mut crew = TestCluster::new();
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
    assert_eq!(crew.ask(lead), EngineAnswer::Denied(denial));
}

/// A guard does not list a start that was judged, and the store may have lost start and verdict.
#[test]
fn unlisted_lease_of_an_earlier_term_is_lost_after_lost_history() {
    for (history, kind) in
        [(StoreHistory::Unbroken, OutcomeKind::Released), (StoreHistory::Lost, OutcomeKind::Lost)]
    {
        let mut crew = TestCluster::new().worker("alpha", 1, []);
        crew.cut("alpha");
        crew.submit("ship", |plan| {
            plan.step("build", StepSpec::default(), []);
        });
        crew.take_over_after(history);
        let (worker, incarnation) = (WorkerId(1), Incarnation(1));
        let notice = EngineRequest::GuardEnded { worker, incarnation, started: Vec::new() };
        let events = crew.decide(notice).events;
        let ended = events.iter().find_map(|event| match event {
            Event::LeaseEnded(ended) => Some(ended.outcome.kind),
            _ => None,
        });
        assert_eq!(ended, Some(kind), "{history:?}");
    }
}
