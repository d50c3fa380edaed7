//! A million steps: how long the leader waits, and how long writing takes. Run with
//! `cargo test --release -p windlass million -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::outcome::Outcome;
use windlass_core::plan::{Plan, PlanBuilder, StepSpec};
use windlass_store::sql_views::{SqlViews, SqlViewsDiff, SqlViewsMark};

use super::test_leader::{SqlViewTestLeader, tables};
use crate::sql_views::diff::{DiffCursor, DiffProgress, WrittenViewRows};

const STEPS: u32 = 1_000_000;

fn wide(steps: u32) -> Arc<Plan> {
    let mut plan = PlanBuilder::new("wide");
    for step in 0..steps {
        plan.step(&format!("step-{step}"), StepSpec::default());
    }
    Arc::new(plan.build().expect("it works in a test"))
}

#[tokio::test]
#[ignore = "prints durations for a reader and takes a minute: cargo test --release -p windlass-controller --all-features million -- --ignored --nocapture"]
async fn a_million_steps() {
    let folder = tempfile::tempdir().unwrap();
    let mut leader = SqlViewTestLeader::new();
    (1..=100).for_each(|worker| leader.join(worker, 4));
    leader.submit(1, &wide(STEPS));
    let tables = tables(&folder);
    let mut shadow = WrittenViewRows::default();
    let mut marks = (0..).map(|write| SqlViewsMark { writer: 1, write });
    let mut follows = None;
    for what in ["first", "unchanged", "400 changed"] {
        if what == "400 changed" {
            (1..=100).for_each(|worker| {
                leader.exchange(worker);
                leader.finish(worker, Outcome::exit(0));
                leader.exchange(worker);
            });
        }
        let (mut cursor, mut looks, mut writes) = (DiffCursor::default(), Vec::new(), Vec::new());
        let mut progress = DiffProgress::Paused;
        while progress == DiffProgress::Paused {
            let mark = marks.next().unwrap();
            let mut diff = SqlViewsDiff::new(follows, mark);
            while progress == DiffProgress::Paused && !diff.is_large() {
                let began = Instant::now();
                let until = began + Duration::from_millis(1);
                progress = leader
                    .views
                    .with(|view| shadow.scan(&view.engine, &mut diff, &mut cursor, until));
                looks.push(began.elapsed());
            }
            let began = Instant::now();
            tables.write(Arc::new(diff)).await.unwrap();
            writes.push(began.elapsed());
            follows = Some(mark);
        }
        let (most, all) = (looks.iter().max().unwrap(), looks.iter().sum::<Duration>());
        let (slowest, written) = (writes.iter().max().unwrap(), writes.iter().sum::<Duration>());
        println!("{what}: {} looks, the longest {most:?}, together {all:?}", looks.len());
        println!("  {} writes, the longest {slowest:?}, together {written:?}", writes.len());
    }
    let size = std::fs::metadata(folder.path().join("tables.db")).unwrap().len();
    println!("{} bytes a step", size / u64::from(STEPS));
}
