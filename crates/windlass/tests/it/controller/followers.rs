//! A follower gets each event once, in order.

use windlass::core::engine::{CancelLevel, EngineRequest};
use windlass::core::plan::{PlanBuilder, StepSpec};
use windlass_controller::{EngineView, EventFollower, FollowedEvents};
use windlass_store::journal::{Journal, Position, RecordedEvent};

use super::test_node::{TestJournal, TestNode, everything, journal, plan, run, start};

/// Follows up to a position, through the journal where it is too far behind.
async fn follow(
    mut follower: EventFollower,
    journal: &TestJournal,
    upto: Position,
) -> (Vec<(Position, RecordedEvent)>, usize) {
    let (mut events, mut lags) = (Vec::new(), 0);
    while follower.position() < upto {
        let behind = follower.position();
        match follower.next().await {
            FollowedEvents::Events(batches) => {
                let numbered = batches.iter().flat_map(|batch| batch.numbered());
                let new = numbered.filter(|(position, _)| *position > behind);
                events.extend(new.map(|(position, (at, event))| {
                    (position, RecordedEvent { at: *at, event: event.clone() })
                }));
            }
            FollowedEvents::Behind(from) => {
                lags += 1;
                let page = journal.tail(from, 1).await.expect("it reads");
                for batch in page {
                    let numbered = (batch.after().0 + 1..).map(Position).zip(batch.events);
                    events.extend(numbered.filter(|(position, _)| *position > from));
                    follower.skip_to(batch.position);
                }
            }
        }
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
            let (journal, from) = (journal.clone(), Position(from));
            let follower = node.handle.views().follow(from);
            tokio::spawn(async move { (from, follow(follower, &journal, Position(201)).await) })
        })
        .collect();
    let asking: Vec<_> = (0..200).map(|n| node.submitting(run(n), &plan)).collect();
    for asked in asking {
        assert!(asked.await.expect("it runs").is_ok());
    }
    let all = everything(&*journal).await;
    for following in following {
        let (from, (events, lags)) = following.await.expect("it runs");
        let expected: Vec<_> = all.iter().filter(|(at, _)| *at > from).cloned().collect();
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
    let snapshot = ann.handle.views().look(EngineView::snapshot).expect("events are durable");
    journal.save(snapshot).await.expect("it saves");
    ann.submit(run(10), &plan).await;
    ann.crash(&*journal).await;
    let bob = start(&journal, "bob").await;
    bob.submit(run(11), &plan).await;
    let (events, lags) = follow(bob.handle.views().follow(Position(3)), &journal, head(&bob)).await;
    assert_eq!(events, everything(&*journal).await.split_off(3));
    assert!(lags > 0);
}

#[tokio::test(start_paused = true)]
async fn follower_behind_a_busy_leader_catches_up_through_the_journal() {
    let journal = journal();
    let node = start(&journal, "ann").await;
    let follower = node.handle.views().follow(Position(0));
    let mut plan = PlanBuilder::new("wide");
    for n in 0..7_000 {
        plan.step(&format!("s{n}"), StepSpec::default());
    }
    let plan = std::sync::Arc::new(plan.build().expect("a valid plan"));
    for n in 0..10 {
        node.submit(run(n), &plan).await;
        let cancel = EngineRequest::Cancel { run: run(n), level: CancelLevel::Kill };
        node.handle.ask(cancel).await.expect("it leads");
    }
    let all = everything(&*journal).await;
    assert!(all.len() > 65_536, "more than a node remembers: {}", all.len());
    let upto = all.last().expect("there are some").0;
    let (events, lags) = follow(follower, &journal, upto).await;
    assert!(lags > 0);
    assert_eq!(events.len(), all.len());
    assert!(events == all, "each event once, in order");
}
