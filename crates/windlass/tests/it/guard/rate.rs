//! How many steps a second go through a guard, beside a bare loop: a measurement, see `rates_beside_a_bare_loop`.

use std::process::{Command, Stdio};

use tokio::time::Instant;
use windlass::worker::guard::Guard;

use super::arrange::{guard, step, story};

const STEPS: u64 = 2_000;

#[test]
#[ignore = "a measurement: cargo test --release --test it -- --ignored --nocapture rates_beside"]
fn rates_beside_a_bare_loop() {
    story(async {
        let guard = guard().await;
        for _ in 0..4 {
            let bare = seconds(async { bare_loop() }).await;
            let guarded = seconds(through(&guard, 2)).await;
            println!(
                "2 in flight: bare {:.0}/s, guarded {:.0}/s, ratio {:.3}",
                2_000.0 / bare,
                2_000.0 / guarded,
                guarded / bare
            );
        }
        guard.end().await;
    });
}

async fn seconds(work: impl Future<Output = ()>) -> f64 {
    let start = Instant::now();
    work.await;
    start.elapsed().as_secs_f64()
}

fn bare_loop() {
    let mut running = std::collections::VecDeque::new();
    for _ in 0..STEPS {
        if running.len() == 2 {
            let child: Option<std::process::Child> = running.pop_front();
            child.unwrap().wait().unwrap();
        }
        let (_reader, writer) = std::io::pipe().unwrap();
        let mut command = Command::new("true");
        command.stdin(Stdio::null()).stderr(writer.try_clone().unwrap()).stdout(writer);
        running.push_back(command.spawn().unwrap());
    }
    running.iter_mut().for_each(|child| drop(child.wait()));
}

async fn through(guard: &Guard, in_flight: u64) {
    let lane = |lane: u64| {
        let guard = guard.clone();
        async move {
            for number in 0..STEPS / in_flight {
                let (spawn, _output) = step(number * in_flight + lane + 1, &["true"]);
                guard.spawn(spawn).await.unwrap().gone().await;
            }
        }
    };
    let lanes: Vec<_> = (0..in_flight).map(|number| tokio::spawn(lane(number))).collect();
    for lane in lanes {
        lane.await.unwrap();
    }
}
