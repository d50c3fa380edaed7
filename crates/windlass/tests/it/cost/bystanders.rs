//! Well-behaved clients, which measure the delay of answers.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::waiting::{pause, until};

/// The longest wait for an answer; a slower controller counts as down.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(30);

/// The pause between two requests of one client.
const BETWEEN: Duration = Duration::from_millis(25);

/// A request on a connection of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct CostRequest<'a> {
    method: &'a str,
    path: &'a str,
    /// The credential of a worker.
    secret: Option<&'a str>,
    body: &'a [u8],
}

impl<'a> CostRequest<'a> {
    pub(super) const fn get(path: &'a str) -> Self {
        Self { method: "GET", path, secret: None, body: b"" }
    }

    pub(super) const fn post(path: &'a str, body: &'a str) -> Self {
        Self { method: "POST", path, secret: None, body: body.as_bytes() }
    }

    /// The same with another body, from a worker.
    pub(super) const fn of(self, worker: &'a CostPlainWorker, body: &'a [u8]) -> Self {
        Self { secret: Some(worker.secret.as_str()), body, ..self }
    }

    /// Status and body of the answer; `None` if there is none.
    pub(super) fn send(self, port: u16) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(GIVEN_UP_AFTER)).ok()?;
        let secret = self.secret.map(|it| format!("windlass-worker: {it}\r\n")).unwrap_or_default();
        let head = format!(
            "{} {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{secret}content-length: {}\r\n\r\n",
            self.method,
            self.path,
            self.body.len()
        );
        // A request that is refused early need not be read to its end.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(self.body));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }
}

/// A worker in any language.
#[derive(Debug)]
pub(super) struct CostPlainWorker {
    pub(super) id: String,
    secret: String,
}

impl CostPlainWorker {
    pub(super) fn join(port: u16, name: &str) -> Self {
        let body = json!({ "hostname": name, "capabilities": [name], "slots": 1 }).to_string();
        let (status, answer) =
            CostRequest::post("/workers/register", &body).send(port).expect("it answers");
        assert_eq!(status, 200, "{answer}");
        let answer: Value = serde_json::from_str(&answer).expect("it is JSON");
        let text = |key: &str| answer[key].as_str().expect("it is a text").to_owned();
        Self { id: text("worker_id"), secret: text("secret") }
    }

    fn tell(&self, port: u16, action: &str, body: &Value) -> Option<(u16, String)> {
        let (path, body) = (format!("/workers/{}/{action}", self.id), body.to_string());
        CostRequest::post(&path, "").of(self, body.as_bytes()).send(port)
    }

    /// Claims a step, and returns its fence.
    fn claim(&self, port: u16) -> u64 {
        let mut fence = None;
        until("a step is claimed", || {
            let claimed = self.tell(port, "claim", &json!({}));
            let claimed = claimed.filter(|it| it.0 == 200).map(|it| it.1).unwrap_or_default();
            fence =
                serde_json::from_str::<Value>(&claimed).ok().and_then(|it| it["fence"].as_u64());
            fence.is_some()
        });
        fence.expect("it was waited for")
    }
}

/// A client that repeats a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bystander {
    Health,
    SmallSubmission,
    LockHolder,
}

impl Bystander {
    pub(super) const ALL: [Self; 3] = [Self::Health, Self::SmallSubmission, Self::LockHolder];
}

/// The measurements of a client.
#[derive(Clone, Copy, Debug)]
pub(super) struct BystanderReport {
    pub(super) longest: Duration,
    /// Requests without an answer, or with an unexpected one.
    pub(super) wrong: usize,
    pub(super) answers: usize,
}

/// The order to end, and the number of answers that the slowest client got.
#[derive(Debug, Default)]
pub(super) struct BystanderProgress {
    pub(super) over: AtomicBool,
    pub(super) answers: [AtomicUsize; 3],
}

impl BystanderProgress {
    /// Waits until each client got this many more answers.
    pub(super) fn until_answered(&self, more: usize) {
        let counts = || self.answers.each_ref().map(|it| it.load(Ordering::Relaxed));
        let before = counts();
        until("bystanders are answered", || {
            counts().iter().zip(before).all(|(now, before)| *now >= before + more)
        });
    }
}

pub(super) const SMALL: &str =
    "name: small\nsteps: { s: { run: make, requires: nothing-like-it } }\n";
const LOCKED: &str = "name: locked\nsteps: { s: { run: make, lock: prod, requires: holder } }\n";

/// A worker that holds a lock: it has claimed a step of a run that it submitted.
pub(super) fn hold_lock(port: u16) -> (CostPlainWorker, u64) {
    let worker = CostPlainWorker::join(port, "holder");
    let submit = json!({ "text": LOCKED }).to_string();
    let submitted = CostRequest::post("/runs", &submit).send(port).expect("it answers");
    assert_eq!(submitted.0, 201, "{}", submitted.1);
    let fence = worker.claim(port);
    (worker, fence)
}

impl Bystander {
    /// Sends requests until the watch is over.
    pub(super) fn ask(
        self,
        port: u16,
        watch: &BystanderProgress,
        holder: &(CostPlainWorker, u64),
    ) -> BystanderReport {
        let mut had = BystanderReport { longest: Duration::ZERO, wrong: 0, answers: 0 };
        while !watch.over.load(Ordering::Relaxed) {
            let asked_at = Instant::now();
            let right = self.ask_once(port, holder);
            had.longest = had.longest.max(asked_at.elapsed());
            had.wrong += usize::from(!right);
            had.answers += 1;
            watch.answers[self as usize].fetch_add(1, Ordering::Relaxed);
            pause(BETWEEN);
        }
        had
    }

    /// Sends one request. Returns false if the answer is not the expected one.
    fn ask_once(self, port: u16, (worker, fence): &(CostPlainWorker, u64)) -> bool {
        match self {
            Self::Health => {
                CostRequest::get("/healthz").send(port).is_some_and(|(status, _)| status == 200)
            }
            Self::SmallSubmission => {
                let body = json!({ "text": SMALL }).to_string();
                let answer = CostRequest::post("/runs", &body).send(port);
                // An overloaded controller answers with this status.
                answer.is_some_and(|(status, _)| matches!(status, 201 | 429))
            }
            Self::LockHolder => {
                let answer = worker.tell(port, "heartbeat", &json!({ "leases": [fence] }));
                let answer = answer.filter(|it| it.0 == 200).map(|it| it.1).unwrap_or_default();
                // It keeps its lease as long as there is no stop order.
                serde_json::from_str::<Value>(&answer).is_ok_and(|it| it["stop"] == json!([]))
            }
        }
    }
}
