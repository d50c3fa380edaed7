//! When answers leave a leader: after their events are durable, in order.

use std::sync::Arc;

use windlass_core::engine::{
    BATCH_BYTES_MAX, Engine, EngineAnswer, EngineConfig, EngineRequest, Event, ProvenTime,
    StoreHistory, SubmitRun,
};
use windlass_core::event_batch::{BatchId, EventBatch};
use windlass_core::id::{RunId, Term, WorkerId};
use windlass_core::leader::{Leader, LeaderEffect, WonTerm};
use windlass_core::plan::{PlanBuilder, StepSpec};
use windlass_core::recorded_event::Position;
use windlass_core::time::{Span, Time};

const NOW: Time = Time::from_millis(1_000);

/// Takes over an empty journal; clients are known by a word.
fn leader() -> (Leader<&'static str>, Arc<EventBatch>) {
    leader_with_luck(1)
}

fn leader_with_luck(luck: u64) -> (Leader<&'static str>, Arc<EventBatch>) {
    leader_of(WON, luck)
}

const WON: WonTerm = WonTerm {
    term: Term(1),
    head: Position(0),
    ttl: Span::secs(15),
    generation: 0,
    own: None,
    history: StoreHistory::Unbroken,
    is_shared: true,
    proven: ProvenTime::ALL,
};

fn leader_of(won: WonTerm, luck: u64) -> (Leader<&'static str>, Arc<EventBatch>) {
    let (leader, effects) = Leader::take_over(Engine::new(EngineConfig::default()), won, NOW, luck);
    let [LeaderEffect::Append(batch)] = &effects[..] else {
        panic!("a takeover is appended: {effects:?}")
    };
    (leader, Arc::clone(batch))
}

fn submit(run: u64) -> EngineRequest {
    let mut plan = PlanBuilder::new("ship");
    plan.step("build", StepSpec::default());
    EngineRequest::Submit(SubmitRun::new(RunId(run), Arc::new(plan.build().expect("a valid plan"))))
}

fn answers(effects: &[LeaderEffect<&'static str>]) -> Vec<&'static str> {
    let answer = |effect: &LeaderEffect<&'static str>| match effect {
        LeaderEffect::Answer(from, _) => Some(*from),
        LeaderEffect::Append(_) | LeaderEffect::Publish(_) | LeaderEffect::Reply(_) => None,
    };
    effects.iter().filter_map(answer).collect()
}

fn appended(effects: &[LeaderEffect<&'static str>]) -> Option<Arc<EventBatch>> {
    effects.iter().find_map(|effect| match effect {
        LeaderEffect::Append(batch) => Some(Arc::clone(batch)),
        LeaderEffect::Publish(_) | LeaderEffect::Reply(_) | LeaderEffect::Answer(..) => None,
    })
}

#[test]
fn answer_is_released_only_when_its_events_are_durable() {
    let (mut leader, takeover) = leader();
    let effects = leader.request("ann", submit(1), NOW, 2);
    assert_eq!(effects, [], "the takeover is still being appended");
    let effects = leader.on_durable(takeover.id);
    assert!(answers(&effects).is_empty());
    let batch = appended(&effects).expect("what gathered meanwhile is next");
    assert_eq!((batch.after, batch.events.len()), (Position(1), 1));
    let effects = leader.on_durable(batch.id);
    let [LeaderEffect::Publish(published), answer] = &effects[..] else { panic!("{effects:?}") };
    assert!(Arc::ptr_eq(published, &batch), "readers share the batch that was appended");
    assert_eq!(published.position(), Position(2));
    assert!(matches!(answer, LeaderEffect::Answer("ann", EngineAnswer::Submitted { .. })));
    assert!(leader.is_all_durable());
}

#[test]
fn two_leaders_of_one_term_name_their_batches_differently() {
    let names = |luck| {
        let (mut leader, takeover) = leader_with_luck(luck);
        leader.request("ann", submit(1), NOW, 2);
        let next = appended(&leader.on_durable(takeover.id)).expect("the submission is appended");
        [takeover.id, next.id]
    };
    let (first, second) = (names(7), names(8));
    assert!(first.iter().all(|name| !second.contains(name)), "{first:?} and {second:?}");
    assert_ne!(first[0], first[1]);
}

#[test]
fn answer_without_events_waits_for_the_events_before_it() {
    let (mut leader, takeover) = leader();
    leader.request("ann", submit(1), NOW, 2);
    let again = leader.request("bob", submit(1), NOW, 3);
    assert_eq!(again, [], "bob's run is ann's, which is not durable yet");
    let batch = appended(&leader.on_durable(takeover.id)).expect("ann's submission");
    assert_eq!(answers(&leader.on_durable(batch.id)), ["ann", "bob"]);
    assert_eq!(answers(&leader.request("cat", submit(1), NOW, 4)), ["cat"], "nothing is pending");
}

#[test]
fn requests_during_an_append_share_the_next_batch() {
    let (mut leader, takeover) = leader();
    for (run, from) in [(1, "ann"), (2, "bob"), (3, "cat")] {
        assert_eq!(leader.request(from, submit(run), NOW, 10 + run), []);
    }
    let batch = appended(&leader.on_durable(takeover.id)).expect("one batch");
    assert_eq!(batch.events.len(), 3);
    leader.request("dan", submit(4), NOW, 20);
    assert_eq!(
        answers(&leader.on_durable(batch.id)),
        ["ann", "bob", "cat"],
        "not dan: that request came later"
    );
}

#[test]
fn an_append_of_unknown_outcome_is_repeated_unchanged() {
    let (mut leader, takeover) = leader();
    assert_eq!(leader.append_in_flight(), Some(takeover.clone()));
    leader.request("ann", submit(1), NOW, 2);
    assert_eq!(leader.append_in_flight(), Some(takeover.clone()), "what gathers does not join it");
    assert_eq!(leader.on_durable(BatchId(takeover.id.0 + 1)), [], "not the batch in flight");
    let next = appended(&leader.on_durable(takeover.id)).expect("ann's submission");
    assert_eq!(leader.on_durable(takeover.id), [], "the same news twice");
    assert_eq!(leader.append_in_flight(), Some(next));
}

#[test]
fn batch_names_are_unique_for_any_random_numbers() {
    let (mut leader, takeover) = leader();
    let mut names = vec![takeover.id];
    for (run, from) in [(1, "ann"), (2, "bob"), (3, "cat")] {
        leader.request(from, submit(run), NOW, 1);
        let newest = *names.last().expect("the takeover has one");
        leader.on_durable(newest);
        let next = leader.append_in_flight().expect("the submission is being appended");
        assert!(!names.contains(&next.id), "{:?} names two batches: {names:?}", next.id);
        for old in &names {
            assert_eq!(leader.on_durable(*old), [], "old news: {from} must wait");
        }
        assert_eq!(leader.append_in_flight().as_ref(), Some(&next));
        names.push(next.id);
    }
}

#[test]
fn ending_leader_returns_its_waiting_requests() {
    let (mut leader, takeover) = leader();
    leader.on_durable(takeover.id);
    leader.request("ann", submit(1), NOW, 2);
    leader.request("bob", submit(2), NOW, 3);
    assert_eq!(leader.into_waiters().collect::<Vec<_>>(), ["ann", "bob"]);
}

/// A run with a plan of at least this size in bytes.
fn submit_large(run: u64, bytes: usize) -> EngineRequest {
    const WORK: usize = 60_000;
    let mut plan = PlanBuilder::new("ship");
    for at in 0..=bytes / WORK {
        let work = format!("{at:>WORK$}");
        plan.step_with(&format!("build{at}"), StepSpec::default(), &work);
    }
    EngineRequest::Submit(SubmitRun::new(RunId(run), Arc::new(plan.build().expect("a valid plan"))))
}

fn bytes_of(batch: &EventBatch) -> usize {
    batch.events.iter().map(|recorded| recorded.event.bytes()).sum()
}

/// Returns the batches that follow each other once the first is durable, each with the clients that are answered after
/// it.
fn append_all(
    leader: &mut Leader<&'static str>,
    first: &EventBatch,
) -> Vec<(usize, Vec<&'static str>)> {
    let mut appends = Vec::new();
    let mut effects = leader.on_durable(first.id);
    while let Some(batch) = appended(&effects) {
        effects = leader.on_durable(batch.id);
        appends.push((bytes_of(&batch), answers(&effects)));
    }
    appends
}

#[test]
fn decisions_larger_than_a_batch_together_are_appended_one_by_one() {
    let (mut leader, takeover) = leader();
    for (run, from) in (1..).zip(["ann", "bob", "cleo"]) {
        leader.request(from, submit_large(run, 3 << 20), NOW, run);
    }
    assert!(leader.load().bytes > BATCH_BYTES_MAX);
    let appends = append_all(&mut leader, &takeover);
    let [(first, early), (second, late)] = &appends[..] else {
        panic!("two batches: {appends:?}");
    };
    assert!(*first <= BATCH_BYTES_MAX && *second <= BATCH_BYTES_MAX, "{first}, {second}");
    assert_eq!((early.as_slice(), late.as_slice()), (&["ann", "bob"][..], &["cleo"][..]));
    assert_eq!(leader.load().bytes, 0);
}

#[test]
fn decision_larger_than_a_batch_is_appended_alone_and_undivided() {
    let (mut leader, takeover) = leader();
    leader.request("ann", submit(1), NOW, 2);
    leader.request("bob", submit_large(2, BATCH_BYTES_MAX + 1), NOW, 3);
    leader.request("cleo", submit(3), NOW, 4);
    let appends = append_all(&mut leader, &takeover);
    let said: Vec<_> = appends.iter().map(|(_, said)| said.as_slice()).collect();
    assert_eq!(said, [["ann"], ["bob"], ["cleo"]]);
    assert!(appends[1].0 > BATCH_BYTES_MAX);
}

/// The worker of another node that led the store may have registered, and taken a lock, in the lost part.
#[test]
fn shared_store_without_proof_grants_no_lock_although_it_knows_no_worker() {
    let own = Some(WorkerId(1));
    for (is_shared, is_embargoed) in [(true, true), (false, false)] {
        let won = WonTerm { own, history: StoreHistory::Unproven, is_shared, ..WON };
        let (leader, takeover) = leader_of(won, 1);
        let begun: Vec<bool> = takeover
            .events
            .iter()
            .filter_map(|recorded| match &recorded.event {
                Event::Led(led) => Some(led.embargo.is_some()),
                _ => None,
            })
            .collect();
        assert_eq!(begun, [is_embargoed], "shared: {is_shared}");
        assert_eq!(leader.engine().embargo_until().is_some(), is_embargoed);
    }
}
