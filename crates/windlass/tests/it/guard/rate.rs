//! The number of steps per second through a guard, compared with a bare loop in one process: a measurement.

use std::collections::VecDeque;
use std::fs;
use std::process::{Child, Command, Stdio};

use tokio::time::Instant;
use windlass_worker::guard::GuardHandle;

use super::guarded_steps::{guard, step};
use crate::support::waiting::block_on;

const STEPS: u64 = 2_000;
const ROUNDS: u32 = 5;

/// On a machine with other load, run it under `chrt -r 1`.
#[test]
#[ignore = "prints rates, which depend on the machine, for a reader: cargo test --release -p windlass --test it rates_are_printed -- --ignored --nocapture"]
fn rates_are_printed_beside_a_bare_loop() {
    block_on(async {
        let guard = guard().await;
        for _ in 0..ROUNDS {
            let bare = measure(&guard, "bare, 2 in flight", async { bare_loop(2) }).await;
            for in_flight in [2, 3] {
                let name = format!("guarded, {in_flight} in flight");
                let guarded = measure(&guard, &name, through(&guard, in_flight)).await;
                println!("    {:.3} of the time of the bare loop", guarded / bare);
            }
        }
        guard.end().await;
    });
}

#[expect(clippy::print_stdout, reason = "what was measured")]
async fn measure(guard: &GuardHandle, name: &str, work: impl Future<Output = ()>) -> f64 {
    let cpu = || [cpu_of(std::process::id()), cpu_of(guard.pid())];
    let (start, before) = (Instant::now(), cpu());
    work.await;
    let (seconds, after) = (start.elapsed().as_secs_f64(), cpu());
    let used: Vec<[u64; 2]> =
        after.iter().zip(before).map(|(a, b)| [a[0] - b[0], a[1] - b[1]]).collect();
    println!(
        "{name}: {:.0}/s; CPU ms: worker {}, its children {}, guard {}, its children {}",
        2_000.0 / seconds,
        used[0][0],
        used[0][1],
        used[1][0],
        used[1][1],
    );
    seconds
}

/// The milliseconds of processor time that a process and its reaped children used.
fn cpu_of(pid: u32) -> [u64; 2] {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(4);
    let ticks: Vec<u64> = fields.map(|field| field.parse().unwrap()).collect();
    [(ticks[0] + ticks[1]) * 10, (ticks[2] + ticks[3]) * 10]
}

fn bare_loop(in_flight: usize) {
    let mut running: VecDeque<Child> = VecDeque::new();
    for _ in 0..STEPS {
        if running.len() == in_flight {
            running.pop_front().unwrap().wait().unwrap();
        }
        let (_reader, writer) = std::io::pipe().unwrap();
        let mut command = Command::new("true");
        command.stdin(Stdio::null()).stderr(writer.try_clone().unwrap()).stdout(writer);
        running.push_back(command.spawn().unwrap());
    }
    for child in &mut running {
        child.wait().unwrap();
    }
}

async fn through(guard: &GuardHandle, in_flight: u64) {
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
