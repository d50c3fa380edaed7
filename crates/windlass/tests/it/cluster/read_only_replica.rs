//! `serve --observe`: a controller without a store that shows what another one tells, and how old that is.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::arrange::{ClusterFolder, free_port, step};
use crate::run::arrange::{RunFolder, RunningProgram, until};

const SLOW: &str = "name: slow\nsteps:\n  a: { run: 'echo hello; until test -e go; do sleep 0.02; done' }\n  b: { needs: a, run: 'true' }\n";

/// An observer, and the folder that it was started in.
struct ReplicaProcess {
    process: RunningProgram,
    port: u16,
    _place: RunFolder,
}

/// What was answered.
struct ReplicaAnswer {
    status: u16,
    head: String,
    body: String,
}

impl ReplicaAnswer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// For how long it had not had everything.
    fn lag(&self) -> u64 {
        self.header("windlass-lag-ms").and_then(|lag| lag.parse().ok()).expect("it says how old")
    }

    fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(name))?;
        line.split_once(": ").map(|(_, value)| value.trim())
    }
}

impl ReplicaProcess {
    fn of(urls: &str, flags: &str) -> Self {
        let (place, port) = (RunFolder::with(""), free_port());
        let open = if flags.contains("--token-file") { "" } else { "--no-token" };
        let serve = format!("serve --observe {urls} --listen 127.0.0.1:{port} {open} {flags}");
        let process = place.start(&serve);
        let observer = Self { process, port, _place: place };
        until("the observer answers", || observer.ask("GET", "/readyz").is_some());
        observer
    }

    fn ask(&self, method: &str, path: &str) -> Option<ReplicaAnswer> {
        self.ask_with(method, path, "")
    }

    /// The same, with these headers.
    fn ask_with(&self, method: &str, path: &str, more: &str) -> Option<ReplicaAnswer> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        let head = format!("{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n{more}", self.port);
        let rest =
            "content-length: 2\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{}";
        stream.write_all(format!("{head}{rest}").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(ReplicaAnswer { status, head: head.to_owned(), body: unchunked(head, body) })
    }

    fn get(&self, path: &str) -> ReplicaAnswer {
        self.ask("GET", path).expect("the observer answers")
    }
}

fn unchunked(head: &str, body: &str) -> String {
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let mut lines = body.split("\r\n");
    let mut whole = String::new();
    while let (Some(_), Some(chunk)) = (lines.next(), lines.next()) {
        whole.push_str(chunk);
    }
    whole
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

#[test]
fn it_shows_what_goes_on_and_has_no_store() {
    let cluster = ClusterFolder::start("--jobs 2");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    let run = cluster.submit(SLOW);
    until("it is seen to run", || {
        let shown = observer.get(&format!("/runs/{run}")).json();
        shown["steps"].is_array() && step(&shown, "a")["status"] == "running"
    });
    let shown = observer.get(&format!("/runs/{run}"));
    assert!(shown.lag() < 5_000, "{}", shown.head);
    let why = observer.get(&format!("/runs/{run}/steps/b/why")).json();
    assert!(why["needs"].is_object(), "{why}");
    until("what it printed is had from who has it", || {
        observer.get(&format!("/runs/{run}/logs/0/1/1")).body == "hello\n"
    });
    assert_eq!(observer.get("/runs").json()[0]["id"], *run);
    let there = observer.get("/cluster").json();
    assert_eq!(there["role"], "observer");
    assert_eq!(there["id"], cluster.get("/cluster")["id"]);
    assert!(observer.get("/metrics").body.contains("windlass_"));
    assert_eq!(observer.get("/healthz").status, 200);
    assert_eq!(observer.get("/readyz").status, 200);
    let events = observer.get(&format!("/runs/{run}/events"));
    assert!(events.body.contains("run_submitted"), "{}", events.body);
    cluster.place.file("go", "");
    cluster.ended(&run);
    until("its end is seen", || {
        observer.get(&format!("/runs/{run}")).json()["status"] == "succeeded"
    });
}

#[test]
fn replica_redirects_writes_to_the_leader() {
    let cluster = ClusterFolder::start("--jobs 1");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    until("it knows who leads", || {
        let told = observer.ask("POST", "/runs").expect("it answers");
        told.header("windlass-leader") == Some(&*url(cluster.port))
    });
    for path in ["/runs", "/runs/latest/cancel", "/tokens", "/workers/register"] {
        let told = observer.ask("POST", path).expect("it answers");
        assert_eq!((told.status, &told.json()["code"]), (503, &"not_leader".into()), "{path}");
        assert_eq!(told.header("windlass-leader"), Some(&*url(cluster.port)), "{path}");
    }
    let told = observer.get("/readyz?leader");
    assert_eq!(told.status, 503, "{}", told.body);
    let run = cluster.submit("name: n\nsteps: { a: { run: 'true' } }\n");
    cluster.ended(&run);
    assert_eq!(observer.get("/runs/nosuch").status, 404);
}

#[test]
fn a_leader_that_is_away_is_said_to_be_and_waited_for() {
    let mut cluster = ClusterFolder::start("--jobs 1");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    let run = cluster.submit(SLOW);
    let position = |there: &Value| there["position"].as_u64().expect("it is there");
    let upto = position(&cluster.get("/cluster"));
    until("it has read that far", || position(&observer.get("/cluster").json()) >= upto);
    cluster.kill();
    until("it knows that it is behind", || observer.get("/readyz").status == 503);
    let told = observer.get(&format!("/runs/{run}"));
    assert_eq!(told.status, 200, "what it knows it tells: {}", told.body);
    until("it says how old that is", || observer.get(&format!("/runs/{run}")).lag() > 1_000);
    until("it says since when it may be out of date", || {
        observer.get("/workers").header("windlass-stale-since").is_some_and(|at| at.ends_with('Z'))
    });
    assert_eq!(observer.get("/workers").json().as_array().map(Vec::len), Some(1));
    let logs = observer.get(&format!("/runs/{run}/logs"));
    assert_eq!(logs.status, 503, "{}", logs.body);
    assert_eq!(logs.header("windlass-leader"), Some(&*url(cluster.port)));
    assert_eq!(observer.get("/runs").json()[0]["id"], *run, "what is open is known here");
    cluster.place.file("go", "");
    cluster.restart();
    cluster.ended(&run);
    until("it has caught up", || {
        let shown = observer.get(&format!("/runs/{run}"));
        shown.json()["status"] == "succeeded" && shown.lag() < 5_000
    });
    until("it is ready again", || observer.get("/readyz").status == 200);
    assert_eq!(observer.get("/workers").header("windlass-stale-since"), None);
}

#[test]
fn replica_catches_up_after_an_outage() {
    let cluster = ClusterFolder::start("--jobs 1");
    let (port, cut) = breakable(cluster.port);
    let observer = ReplicaProcess::of(&url(port), "");
    let first = cluster.submit("name: n\nsteps: { a: { run: 'true' } }\n");
    cluster.ended(&first);
    until("it is seen", || observer.get(&format!("/runs/{first}")).json()["status"] == "succeeded");
    cut.store(true, Ordering::SeqCst);
    until("it knows that it is behind", || observer.get("/readyz").status == 503);
    let second = cluster.submit("name: n\nsteps: { a: { run: 'true' } }\n");
    cluster.ended(&second);
    assert_eq!(observer.get(&format!("/runs/{second}/steps")).status, 503, "who has it is cut off");
    cut.store(false, Ordering::SeqCst);
    until("it has caught up", || {
        observer.get(&format!("/runs/{second}")).json()["status"] == "succeeded"
    });
}

#[test]
fn it_shows_a_token_and_asks_for_one_where_it_was_given_both() {
    let place = RunFolder::with("");
    place.file("token", "0123456789abcdef0123456789abcdef");
    let cluster = ClusterFolder::start_in(place, "--jobs 1 --token-file token");
    let token = cluster.place.path().join("token");
    let refused = RunFolder::with("").run(&format!("serve --observe {}", url(cluster.port)));
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.err.contains("requires a token"), "{}", refused.err);
    let flags =
        format!("--observe-token-file {} --token-file {}", token.display(), token.display());
    let observer = ReplicaProcess::of(&url(cluster.port), &flags);
    assert_eq!(observer.get("/runs").status, 401);
    assert_eq!(observer.get("/workers").status, 401);
    assert_eq!(observer.get("/healthz").status, 200);
}

/// Who may ask is part of what it reads, and so is who may no longer.
#[test]
fn tokens_of_the_cluster_open_it_as_they_open_the_leader_until_they_are_revoked() {
    let place = RunFolder::with("");
    for (name, scope) in [("boss", "admin"), ("ci", "read"), ("crew", "worker")] {
        place.file(name, place.data(&format!("token create {name} --scope {scope}")));
    }
    let cluster = ClusterFolder::start_in(place, "--jobs 1");
    let file = |name: &str| cluster.place.path().join(name).display().to_string();
    let observe = |token: &str| format!("--observe-token-file {}", file(token));
    let less = RunFolder::with("").run(&format!(
        "serve --observe {} {}",
        url(cluster.port),
        observe("ci")
    ));
    assert_eq!(less.code, Some(5), "{less:?}");
    assert!(less.err.contains("scope `admin`"), "digests are in what it reads: {}", less.err);
    let observer = ReplicaProcess::of(&url(cluster.port), &observe("boss"));
    let status = |token: &str, path: &str| {
        let shown = format!("authorization: Bearer {}\r\n", cluster.place.read(token).trim());
        observer.ask_with("GET", path, &shown).map_or(0, |told| told.status)
    };
    assert_eq!(observer.get("/workers").status, 401, "it asks for one");
    for (token, path, answered) in [
        ("ci", "/workers", 200),
        ("ci", "/runs", 200),
        ("ci", "/tokens", 403),
        ("ci", "/journal?after=0", 403),
        ("crew", "/workers", 403),
        ("boss", "/tokens", 200),
    ] {
        assert_eq!(status(token, path), answered, "{token} {path}");
    }
    let to = format!("--to {} --token-file boss", url(cluster.port));
    cluster.place.data(&format!("token revoke ci {to}"));
    until("it has read that", || status("ci", "/workers") == 401);
    assert_eq!(status("ci", "/runs"), 401, "what the leader is asked for, too");
    assert_eq!(status("boss", "/workers"), 200);
}

#[test]
fn replica_exits_on_sigterm() {
    let cluster = ClusterFolder::start("--jobs 1");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    observer.process.signal(Signal::TERM);
    assert_eq!(observer.process.ended().code, Some(0));
}

/// A port through which a controller is reached until it is cut off.
fn breakable(to: u16) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there are ports");
    let port = listener.local_addr().expect("it has one").port();
    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Some(far) = TcpStream::connect(("127.0.0.1", to)).ok() else { continue };
            let pairs = [(near.try_clone(), far.try_clone()), (Ok(far), Ok(near))];
            for (from, into) in pairs {
                let (Ok(from), Ok(into)) = (from, into) else { continue };
                let is_cut = Arc::clone(&is_cut);
                std::thread::spawn(move || carry(from, into, &is_cut));
            }
        }
    });
    (port, cut)
}

/// Carries bytes as long as the line is whole.
fn carry(mut from: TcpStream, mut into: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 16_384];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_cut.load(Ordering::SeqCst) || into.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    drop(from.shutdown(std::net::Shutdown::Both));
    drop(into.shutdown(std::net::Shutdown::Both));
}
