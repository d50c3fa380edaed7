//! The vocabulary of these tests: a controller's process, and requests to it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::run::arrange::{RunFolder, RunningProgram, until};

/// Longer than any answer takes on a machine that is overloaded.
const PATIENCE: Duration = Duration::from_mins(1);

/// A controller that also runs steps.
pub(super) struct ServeController {
    pub(super) place: RunFolder,
    pub(super) process: RunningProgram,
    /// Where it says that it is.
    pub(super) url: String,
}

impl ServeController {
    /// A controller on a port of its own, with these flags.
    pub(super) fn start(place: RunFolder, flags: &str) -> Self {
        let open = if flags.contains("--token-file") { "" } else { "--no-token" };
        let line = format!("serve --listen 127.0.0.1:0 --jobs 2 {open} {flags}");
        Self::of(place, |place| place.start(&line))
    }

    /// The controller that is started so.
    pub(super) fn of(place: RunFolder, start: impl FnOnce(&RunFolder) -> RunningProgram) -> Self {
        let process = start(&place);
        let hello = || {
            let said = process.said();
            let line = said.lines().find(|line| line.contains(" leads cluster "))?;
            line.rsplit(' ').next().map(str::to_owned)
        };
        until("the controller answers", || hello().is_some());
        let url = hello().expect("it has said so");
        Self { place, process, url }
    }

    /// Its address, without what is spoken there.
    pub(super) fn address(&self) -> &str {
        self.url.rsplit('/').next().unwrap_or_default()
    }

    /// Status and body of what is answered on a connection of its own.
    pub(super) fn get(&self, path: &str) -> (u16, Value) {
        let host = self.address();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let mut stream = TcpStream::connect(host).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("it can wait");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it has a head");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        (status, serde_json::from_str(body).unwrap_or_else(|_| body.into()))
    }
}
