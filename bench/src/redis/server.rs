//! A temporary Redis server.

use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::disk::ScratchFolder;
use crate::engine_fleet::now;
use crate::process::BenchProcess;

const STARTS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A server without persistence.
#[derive(Debug)]
pub(crate) struct BenchRedis {
    port: u16,
    _process: BenchProcess,
}

impl BenchRedis {
    /// Starts a server that answers; `None` if Redis is not installed.
    #[expect(clippy::disallowed_methods, reason = "a deadline for the start of a process")]
    pub(crate) fn start(scratch: &ScratchFolder) -> Option<Self> {
        Command::new("redis-server").arg("--version").output().ok()?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = free.expect("a port is free").port();
        let folder = scratch.empty("redis");
        std::fs::create_dir_all(&folder).expect("there is room for a folder");
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""]);
        // Its log on standard output is discarded.
        let (process, _) = BenchProcess::start(command.arg("--dir").arg(folder));
        let began = now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < STARTS_WITHIN, "redis-server does not answer");
            thread::sleep(LOOK_EVERY);
        }
        Some(Self { port, _process: process })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}
