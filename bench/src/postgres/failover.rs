//! How long nothing is granted when the leader is killed.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use super::server::Server;
use crate::cluster::{Controller, Site, one_after_the_other};
use crate::disk::Scratch;
use crate::measure::percentile;
use crate::observer::{Hands, Notes, Notices};
use crate::table::{Row, Target};

/// How often the leader is killed.
const KILLS: usize = 5;

/// More steps than are granted before the last kill.
const STEPS: u32 = 10_000;

/// Steps between two kills: everybody has found the new leader by then.
const BETWEEN: usize = 200;

pub(super) fn rows(scratch: &Scratch, server: &Server, runtime: &Runtime) -> Vec<Row> {
    let site = Site::on_postgres(scratch, server.database("failover"));
    let mut controllers = vec![
        Controller::start_as(&site, "first", "127.0.0.1:0"),
        Controller::start_as(&site, "second", "127.0.0.1:0"),
    ];
    let (notes, notices) = Notes::new();
    let mut hands = Hands::new();
    let places: Vec<_> = controllers.iter().map(|it| it.place.clone()).collect();
    let _inside = runtime.enter();
    hands.join(&places, "observer", Arc::new(notes));
    runtime.block_on(controllers[0].submit(&one_after_the_other(STEPS)));
    let mut gaps = Vec::new();
    for kill in 0..KILLS {
        let leader = controllers.remove(0);
        gaps.push(longest_gap(leader, &notices, |place| {
            controllers.push(Controller::start_as(&site, &format!("next-{kill}"), &place));
        }));
    }
    drop(controllers);
    runtime.block_on(hands.end());
    let seconds = |percent| percentile(&gaps, percent).as_secs_f64();
    vec![Row {
        name: "postgres: leader killed → next grant".to_owned(),
        best: seconds(50),
        median: seconds(50),
        unit: "s",
        detail: format!("median of {KILLS} kills; {:.1} to {:.1} s", seconds(0), seconds(100)),
        target: Target::AtMost(10.0),
    }]
}

/// Kills a leader, has another take its place among those who stand by, and returns the longest time without a grant.
fn longest_gap(leader: Controller, notices: &Notices, replace: impl FnOnce(String)) -> Duration {
    let mut last = notices.next();
    for _ in 0..BETWEEN {
        last = notices.next();
    }
    let listened = format!("{}:{}", leader.place.host(), leader.place.port());
    leader.process.kill();
    let mut gap = Duration::ZERO;
    for _ in 0..BETWEEN {
        let next = notices.next();
        gap = gap.max(next - last);
        last = next;
    }
    replace(listened);
    gap
}
