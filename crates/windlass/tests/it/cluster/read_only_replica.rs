//! `serve --observe`: a controller without a store that shows the state of another one, and the age of that state.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::Value;

use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::http_client::{HttpAnswer, HttpRequest};
use crate::support::local_cluster::LocalCluster;
use crate::support::program::RunningProgram;
use crate::support::project_folder::{ProjectFolder, step};
use crate::support::waiting::{PATIENCE, until};

const SLOW: &str = "name: slow\nsteps:\n  a: { run: 'echo hello; until test -e go; do sleep 0.02; done' }\n  b: { needs: a, run: 'true' }\n";

/// A read-only replica, and its folder.
struct ReplicaProcess {
    process: RunningProgram,
    port: u16,
    _project: ProjectFolder,
}

/// The age of an answer in milliseconds: the time since the replica had everything.
fn lag_of(answer: &HttpAnswer) -> u64 {
    answer.header("windlass-lag-ms").and_then(|lag| lag.parse().ok()).expect("it has the header")
}

impl ReplicaProcess {
    fn of(urls: &str, flags: &str) -> Self {
        let (project, port) = (ProjectFolder::with(""), free_port());
        let open = if flags.contains("--token-file") { "" } else { "--no-token" };
        let serve = format!("serve --observe {urls} --listen 127.0.0.1:{port} {open} {flags}");
        let process = project.start(&serve);
        let observer = Self { process, port, _project: project };
        until("the observer answers", || observer.ask("GET", "/readyz").is_some());
        observer
    }

    fn ask(&self, method: &str, path: &str) -> Option<HttpAnswer> {
        self.ask_with(method, path, &[])
    }

    /// The same with these headers.
    fn ask_with(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Option<HttpAnswer> {
        let own = [("content-type", "application/json")];
        let headers = own.iter().chain(headers).copied().collect();
        let request = HttpRequest { method, path, headers, body: b"{}".to_vec() };
        request.send(self.port, PATIENCE)
    }

    fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path).expect("the observer answers")
    }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

#[test]
fn replica_shows_runs_and_has_no_store() {
    let cluster = LocalCluster::start("--jobs 2");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    let run = cluster.submit(SLOW);
    until("it is seen to run", || {
        let shown = observer.get(&format!("/runs/{run}")).json;
        shown["steps"].is_array() && step(&shown, "a")["status"] == "running"
    });
    let shown = observer.get(&format!("/runs/{run}"));
    assert!(lag_of(&shown) < 5_000, "{}", shown.head);
    let why = observer.get(&format!("/runs/{run}/steps/b/why")).json;
    assert!(why["needs"].is_object(), "{why}");
    until("what it printed is had from who has it", || {
        observer.get(&format!("/runs/{run}/logs/0/1/1")).text() == "hello\n"
    });
    assert_eq!(observer.get("/runs").json[0]["id"], *run);
    let there = observer.get("/cluster").json;
    assert_eq!(there["role"], "observer");
    assert_eq!(there["id"], cluster.get("/cluster")["id"]);
    assert!(observer.get("/metrics").text().contains("windlass_"));
    assert_eq!(observer.get("/healthz").status, 200);
    assert_eq!(observer.get("/readyz").status, 200);
    let events = observer.get(&format!("/runs/{run}/events"));
    assert!(events.text().contains("run_submitted"), "{}", events.text());
    cluster.project.file("go", "");
    cluster.ended(&run);
    until("its end is seen", || {
        observer.get(&format!("/runs/{run}")).json["status"] == "succeeded"
    });
}

#[test]
fn replica_redirects_writes_to_the_leader() {
    let cluster = LocalCluster::start("--jobs 1");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    until("it knows who leads", || {
        let answer = observer.ask("POST", "/runs").expect("it answers");
        answer.header("windlass-leader") == Some(&*url(cluster.port))
    });
    for path in ["/runs", "/runs/latest/cancel", "/tokens", "/workers/register"] {
        let answer = observer.ask("POST", path).expect("it answers");
        assert_eq!((answer.status, &answer.json["code"]), (503, &"not_leader".into()), "{path}");
        assert_eq!(answer.header("windlass-leader"), Some(&*url(cluster.port)), "{path}");
    }
    let answer = observer.get("/readyz?leader");
    assert_eq!(answer.status, 503, "{}", answer.text());
    let run = cluster.submit("name: n\nsteps: { a: { run: 'true' } }\n");
    cluster.ended(&run);
    assert_eq!(observer.get("/runs/nosuch").status, 404);
}

#[test]
fn replica_reports_an_absent_leader_and_waits_for_it() {
    let mut cluster = LocalCluster::start("--jobs 1");
    let observer = ReplicaProcess::of(&url(cluster.port), "");
    let run = cluster.submit(SLOW);
    let position = |there: &Value| there["position"].as_u64().expect("it is there");
    let upto = position(&cluster.get("/cluster"));
    until("it has read that far", || position(&observer.get("/cluster").json) >= upto);
    cluster.kill();
    until("it knows that it is behind", || observer.get("/readyz").status == 503);
    let answer = observer.get(&format!("/runs/{run}"));
    assert_eq!(answer.status, 200, "what it knows it tells: {}", answer.text());
    until("it says how old that is", || lag_of(&observer.get(&format!("/runs/{run}"))) > 1_000);
    until("it says since when it may be out of date", || {
        observer.get("/workers").header("windlass-stale-since").is_some_and(|at| at.ends_with('Z'))
    });
    assert_eq!(observer.get("/workers").json.as_array().map(Vec::len), Some(1));
    let logs = observer.get(&format!("/runs/{run}/logs"));
    assert_eq!(logs.status, 503, "{}", logs.text());
    assert_eq!(logs.header("windlass-leader"), Some(&*url(cluster.port)));
    assert_eq!(observer.get("/runs").json[0]["id"], *run, "what is open is known here");
    cluster.project.file("go", "");
    cluster.restart();
    cluster.ended(&run);
    until("it has caught up", || {
        let shown = observer.get(&format!("/runs/{run}"));
        shown.json["status"] == "succeeded" && lag_of(&shown) < 5_000
    });
    until("it is ready again", || observer.get("/readyz").status == 200);
    assert_eq!(observer.get("/workers").header("windlass-stale-since"), None);
}

#[test]
fn replica_catches_up_after_an_outage() {
    let cluster = LocalCluster::start("--jobs 1");
    let (port, cut) = breakable(cluster.port);
    let observer = ReplicaProcess::of(&url(port), "");
    let first = cluster.submit("name: n\nsteps: { a: { run: 'true' } }\n");
    cluster.ended(&first);
    until("it is seen", || observer.get(&format!("/runs/{first}")).json["status"] == "succeeded");
    cut.store(true, Ordering::SeqCst);
    until("it knows that it is behind", || observer.get("/readyz").status == 503);
    let second = cluster.submit("name: n\nsteps: { a: { run: 'true' } }\n");
    cluster.ended(&second);
    assert_eq!(observer.get(&format!("/runs/{second}/steps")).status, 503, "who has it is cut off");
    cut.store(false, Ordering::SeqCst);
    until("it has caught up", || {
        observer.get(&format!("/runs/{second}")).json["status"] == "succeeded"
    });
}

#[test]
fn replica_sends_its_token_and_requires_one_itself() {
    let project = ProjectFolder::with("");
    project.file("token", "0123456789abcdef0123456789abcdef");
    let cluster = LocalCluster::start_in(project, "--jobs 1 --token-file token");
    let token = cluster.project.path().join("token");
    let refused = ProjectFolder::with("").run(&format!("serve --observe {}", url(cluster.port)));
    assert_eq!(refused.code, Some(5), "{refused:?}");
    assert!(refused.err.contains("requires a token"), "{}", refused.err);
    let flags =
        format!("--observe-token-file {} --token-file {}", token.display(), token.display());
    let observer = ReplicaProcess::of(&url(cluster.port), &flags);
    assert_eq!(observer.get("/runs").status, 401);
    assert_eq!(observer.get("/workers").status, 401);
    assert_eq!(observer.get("/healthz").status, 200);
}

/// A replica reads the tokens of the cluster, and their revocations.
#[test]
fn tokens_of_the_cluster_open_it_as_they_open_the_leader_until_they_are_revoked() {
    let project = ProjectFolder::with("");
    for (name, scope) in [("boss", "admin"), ("ci", "read"), ("crew", "worker")] {
        project.file(name, project.data(&format!("token create {name} --scope {scope}")));
    }
    let cluster = LocalCluster::start_in(project, "--jobs 1");
    let file = |name: &str| cluster.project.path().join(name).display().to_string();
    let observe = |token: &str| format!("--observe-token-file {}", file(token));
    let less = ProjectFolder::with("").run(&format!(
        "serve --observe {} {}",
        url(cluster.port),
        observe("ci")
    ));
    assert_eq!(less.code, Some(5), "{less:?}");
    assert!(less.err.contains("scope `admin`"), "digests are in what it reads: {}", less.err);
    let observer = ReplicaProcess::of(&url(cluster.port), &observe("boss"));
    let status = |token: &str, path: &str| {
        let token = format!("Bearer {}", cluster.project.read(token).trim());
        let headers = [("authorization", token.as_str())];
        observer.ask_with("GET", path, &headers).map_or(0, |answer| answer.status)
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
    cluster.project.data(&format!("token revoke ci {to}"));
    until("it has read that", || status("ci", "/workers") == 401);
    assert_eq!(status("ci", "/runs"), 401, "what the leader is asked for, too");
    assert_eq!(status("boss", "/workers"), 200);
}

#[test]
fn replica_exits_on_sigterm() {
    let cluster = LocalCluster::start("--jobs 1");
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

/// Copies bytes until the connection is cut.
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
