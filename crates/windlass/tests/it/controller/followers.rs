//! Followers read each durable event once, in order.

use std::sync::Arc;

use windlass::core::engine::{CancelLevel, EngineRequest};
use windlass::core::plan::{PlanBuilder, StepSpec};
use windlass_controller::{EventFollower, FollowLimits};
use windlass_store::journal::{Journal, Position, RecordedEvent};

use super::test_node::{TestJournal, TestNode, everything, journal, plan, run, start};

/// Follows the node's events behind a position.
fn follower(node: &TestNode, journal: &Arc<TestJournal>, from: Position) -> EventFollower {
    let journal: Arc<dyn Journal> = Arc::clone(journal) as _;
    let limits = FollowLimits { journal_events: 1, ..FollowLimits::default() };
    node.handle.views().follow(&journal, from).with_limits(limits)
}

/// Follows up to a position. Also returns how often the follower was behind the view.
async fn follow(mut follower: EventFollower, upto: Position) -> (Vec<Arc<RecordedEvent>>, usize) {
    let (mut events, mut lags) = (Vec::new(), 0);
    while follower.position() < upto {
        lags += usize::from(follower.is_behind());
        let batch = follower.next().await.expect("the journal reads");
        events.extend(batch.iter().map(Arc::clone));
    }
    (events, lags)
}

fn head(node: &TestNode) -> Position {
    Position(node.position())
}

#[tokio::test(start_paused = true)]
async fn each_of_many_followers_gets_each_event_once_and_in_order() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.led().await;
    let following: Vec<_> = (0..20)
        .map(|from| {
            let from = Position(from);
            let follower = follower(&node, &journal, from);
            tokio::spawn(async move { (from, follow(follower, Position(201)).await) })
        })
        .collect();
    let asking: Vec<_> = (0..200).map(|n| node.submitting(run(n), &plan)).collect();
    for answer in asking {
        assert!(answer.await.expect("it runs").is_ok());
    }
    let all = everything(&*journal).await;
    for following in following {
        let (from, (events, lags)) = following.await.expect("it runs");
        let expected: Vec<_> = all.iter().filter(|it| it.position > from).cloned().collect();
        assert_eq!((events, lags), (expected, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn follower_behind_the_node_buffer_reads_the_journal() {
    let (journal, plan) = (journal(), plan(["build"]));
    let ann = start(&journal, "ann").await;
    for n in 0..10 {
        ann.submit(run(n), &plan).await;
    }
    let snapshot = ann.handle.views().snapshot().expect("events are durable");
    journal.save(snapshot).await.expect("it saves");
    ann.submit(run(10), &plan).await;
    ann.crash(&*journal).await;
    let bob = start(&journal, "bob").await;
    bob.submit(run(11), &plan).await;
    let (events, lags) = follow(follower(&bob, &journal, Position(3)), head(&bob)).await;
    assert_eq!(events, everything(&*journal).await.split_off(3));
    assert!(lags > 0);
}

#[tokio::test(start_paused = true)]
async fn follower_behind_a_busy_leader_catches_up_through_the_journal() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    let follower = follower(&node, &journal, Position(0));
    let mut plan = PlanBuilder::new("wide");
    for n in 0..7_000 {
        plan.step(&format!("s{n}"), StepSpec::default());
    }
    let plan = Arc::new(plan.build().expect("a valid plan"));
    for n in 0..10 {
        node.submit(run(n), &plan).await;
        let cancel = EngineRequest::Cancel { run: run(n), level: CancelLevel::Kill };
        node.handle.ask(cancel).await.expect("it leads");
    }
    let all = everything(&*journal).await;
    assert!(all.len() > 65_536, "more than a node remembers: {}", all.len());
    let upto = all.last().expect("there are some").position;
    let (events, lags) = follow(follower, upto).await;
    assert!(lags > 0);
    assert_eq!(events.len(), all.len());
    assert!(events == all, "each event once, in order");
}

#[tokio::test(start_paused = true)]
async fn journal_and_followers_share_each_event() {
    let (journal, plan) = (journal(), plan(["build"]));
    let node = start(&journal, "ann").await;
    node.submit(run(1), &plan).await;
    let (followed, _) = follow(follower(&node, &journal, Position(0)), head(&node)).await;
    let written = everything(&*journal).await;
    assert_eq!(followed.len(), written.len());
    assert!(followed.iter().zip(&written).all(|(one, other)| Arc::ptr_eq(one, other)));
}
