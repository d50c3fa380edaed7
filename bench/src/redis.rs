//! A cluster whose workers leave letters in a Redis.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::cluster::{Crew, Site, Targets};
use crate::disk::Scratch;
use crate::fleet::now;
use crate::local;
use crate::process::Process;
use crate::table::Row;

const WITHIN: Duration = Duration::from_secs(10);

/// Steps of the chain.
const CHAIN: u32 = 1_000;

/// All rows of this part; none where Redis is not installed.
pub(crate) fn rows(scratch: &Scratch) -> Vec<Row> {
    let Some((_server, url)) = server(scratch) else { return Vec::new() };
    let runtime = local::runtime();
    let targets = Targets { rate: 40_000.0, fan: 0.6 };
    let crew = Crew::start(&Site::over_redis(scratch, url), &runtime);
    let mut rows = vec![crew.throughput(targets)];
    rows.extend(crew.handed());
    rows.extend([crew.hop(CHAIN), crew.fan(targets), crew.memory()]);
    crew.end();
    rows
}

/// A server that keeps nothing, and its address.
#[expect(clippy::disallowed_methods, reason = "a deadline for the start of a process")]
fn server(scratch: &Scratch) -> Option<(Process, String)> {
    Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().ok()?;
    let folder = scratch.empty("redis");
    std::fs::create_dir_all(&folder).expect("there is room for a folder");
    let free = TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port().to_string();
    let mut server = Command::new("redis-server");
    server.args(["--bind", "127.0.0.1", "--port", &free, "--save", "", "--dir"]).arg(folder);
    let (process, errors) = Process::start(&mut server);
    thread::spawn(move || drop(std::io::copy(&mut { errors }, &mut std::io::sink())));
    let began = now();
    let answers = || {
        let mut ping = Command::new("redis-cli");
        let asked = ping.args(["-p", &free, "PING"]).output();
        asked.is_ok_and(|output| output.stdout.starts_with(b"PONG"))
    };
    while !answers() {
        assert!(began.elapsed() < WITHIN, "the server answers");
        thread::sleep(Duration::from_millis(20));
    }
    Some((process, format!("redis://127.0.0.1:{free}")))
}
