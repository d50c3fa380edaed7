//! A controller under attack while a run continues: attackers are refused as documented, and the run succeeds.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const SHIP: &str = "\
name: ship
steps:
  first: { run: 'echo >> begun; until test -e go; do sleep 0.02; done' }
  last: { needs: first, run: 'echo done' }
";

/// Silent connections: more than many systems allow a process.
const SILENT: usize = 1_500;

/// The size of a body that the controller refuses.
const HUGE: usize = 100 << 20;

/// Much less than the attackers send.
const MEMORY_KIB: u64 = 120 << 10;

impl LocalCluster {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("it can wait");
        stream
    }

    /// The answer of a controller to a head and a piece of a body that is repeated.
    fn answers(&self, head: &str, piece: &[u8], times: usize) -> String {
        let mut stream = self.connect();
        let head = format!("{head} HTTP/1.1\r\nhost: {}\r\n", self.address());
        let length = piece.len() * times;
        let head = format!("{head}connection: close\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads heads");
        // The controller may refuse it long before its end.
        let _ = (0..times).try_for_each(|_| stream.write_all(piece));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }
}

#[test]
fn run_succeeds_while_its_controller_is_overloaded() {
    let cluster = LocalCluster::start_in(ProjectFolder::with(SHIP), "--jobs 2");
    let run = cluster.project.data(&format!("submit --to {}", cluster.url));
    cluster.project.until_lines("begun", 1);
    let silent: Vec<TcpStream> = (0..SILENT).map(|_| cluster.connect()).collect();
    let mut slow: Vec<TcpStream> = (0..100).map(|_| cluster.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"POST /runs HTTP/1.1\r\nhost: localhost\r\nx-slow: ").expect("it reads");
    }
    let piece = vec![b' '; 1 << 20];
    let huge = cluster.answers("POST /runs", &piece, HUGE >> 20);
    // When a connection is closed with much unread data, the answer may be lost; the request is never accepted.
    assert!(huge.is_empty() || huge.starts_with("HTTP/1.1 413"), "{huge}");
    let refused = cluster.answers("POST /runs/latest/cancel", &piece, 3);
    assert!(refused.is_empty() || refused.starts_with("HTTP/1.1 413"), "{refused}");
    let deep = format!("{{\"text\": {}", "[".repeat(1 << 20));
    assert!(cluster.answers("POST /runs", deep.as_bytes(), 1).starts_with("HTTP/1.1 400"));
    for garbage in
        [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"\0\0\0\0\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\n"]
    {
        cluster.connect().write_all(garbage).expect("it listens");
    }
    for _ in 0..200 {
        // The clients close the connections before they are answered.
        let ask = format!("GET /runs HTTP/1.1\r\nhost: {}\r\n\r\n", cluster.address());
        cluster.connect().write_all(ask.as_bytes()).expect("it listens");
    }
    assert_eq!(cluster.answer("/healthz").status, 200);
    assert_eq!(cluster.answer("/readyz").status, 200);
    cluster.project.file("go", "");
    let shown = || cluster.answer(&format!("/runs/{}", run.trim())).json;
    until("the run has ended", || shown()["status"] != "running");
    assert_eq!(shown()["status"], "succeeded");
    assert_eq!(
        cluster.answer("/runs").json.as_array().map(Vec::len),
        Some(1),
        "nothing else was taken"
    );
    let peak = cluster.controller.peak();
    println!("the controller's memory was at most {} MiB", peak >> 10);
    assert!(peak < MEMORY_KIB, "{peak} KiB");
    drop((silent, slow));
}
