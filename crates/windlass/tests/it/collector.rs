//! A trace collector: a minimal HTTP server that keeps the spans which it receives, and answers as configured.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// The answers of the collector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectorBehavior {
    Takes,
    /// Refuses the first requests, and accepts the later ones.
    RefusesFirst(usize),
    /// Refuses every request permanently.
    Refuses,
    /// Never answers.
    Hangs,
}

pub(crate) struct TestCollector {
    port: u16,
    kept: Arc<Mutex<CollectorState>>,
}

#[derive(Default)]
struct CollectorState {
    heads: Vec<String>,
    requests: Vec<Value>,
}

/// A received span.
#[derive(Clone, Debug)]
pub(crate) struct CollectedSpan(pub(crate) Value);

impl TestCollector {
    pub(crate) fn start(manner: CollectorBehavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let port = listener.local_addr().expect("it has one").port();
        let kept: Arc<Mutex<CollectorState>> = Arc::default();
        let keeps = Arc::clone(&kept);
        // It ends with the process of the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let keeps = Arc::clone(&keeps);
                std::thread::spawn(move || serve(stream, manner, &keeps));
            }
        });
        Self { port, kept }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the heads of all requests.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.kept.lock().expect("nobody panics").heads.clone()
    }

    /// The attributes of the sender.
    pub(crate) fn text(&self) -> String {
        let kept = self.kept.lock().expect("nobody panics");
        kept.requests.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn spans(&self) -> Vec<CollectedSpan> {
        let kept = self.kept.lock().expect("nobody panics");
        let list = |value: &Value, key: &str| value[key].as_array().cloned().expect("a list");
        let resources = kept.requests.iter().flat_map(|it| list(it, "resourceSpans"));
        let scopes = resources.flat_map(|it| list(&it, "scopeSpans"));
        scopes.flat_map(|it| list(&it, "spans")).map(CollectedSpan).collect()
    }

    /// Returns the only span with this name.
    pub(crate) fn span(&self, name: &str) -> CollectedSpan {
        let spans = self.spans();
        let mut named = spans.iter().filter(|span| span.name() == name);
        let one = named.next().unwrap_or_else(|| panic!("there is no {name} in {spans:#?}"));
        assert!(named.next().is_none(), "{name} twice in {spans:#?}");
        one.clone()
    }
}

impl CollectedSpan {
    pub(crate) fn name(&self) -> &str {
        self.0["name"].as_str().expect("a name")
    }

    /// Its id, with that of its trace.
    pub(crate) fn id(&self) -> (String, String) {
        (self.hex("traceId", 32), self.hex("spanId", 16))
    }

    /// Returns the id of its parent span.
    pub(crate) fn parent(&self) -> (String, String) {
        (self.hex("traceId", 32), self.hex("parentSpanId", 16))
    }

    fn hex(&self, key: &str, digits: usize) -> String {
        let text = self.0[key].as_str().unwrap_or_else(|| panic!("no {key} in {self:?}"));
        let is_hex = text.bytes().all(|it| it.is_ascii_digit() || (b'a'..=b'f').contains(&it));
        assert!(text.len() == digits && is_hex, "{text}");
        text.to_owned()
    }

    /// Returns its start and end in nanoseconds.
    pub(crate) fn times(&self) -> (u64, u64) {
        let time = |key: &str| {
            let text = self.0[key].as_str().expect("64 bits are a text");
            text.parse().expect("a number")
        };
        (time("startTimeUnixNano"), time("endTimeUnixNano"))
    }

    /// The status code: 0 unset, 1 ok, 2 error.
    pub(crate) fn status(&self) -> u64 {
        self.0["status"]["code"].as_u64().unwrap_or(0)
    }

    /// The value of an attribute, as a text.
    pub(crate) fn attribute(&self, key: &str) -> String {
        let mut attributes = self.0["attributes"].as_array().expect("a list").iter();
        let found = attributes.find(|it| it["key"] == key);
        let value = found.map(|it| &it["value"]);
        let text = value.and_then(|it| it["stringValue"].as_str().or(it["intValue"].as_str()));
        text.unwrap_or_default().to_owned()
    }
}

fn serve(stream: TcpStream, manner: CollectorBehavior, keeps: &Mutex<CollectorState>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let lower = head.to_lowercase();
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length = length.and_then(|it| it.trim().parse().ok()).expect("it has a length");
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut kept = keeps.lock().expect("nobody panics");
        kept.heads.push(head);
        let refuses =
            matches!(manner, CollectorBehavior::RefusesFirst(first) if kept.heads.len() <= first);
        if !refuses && manner != CollectorBehavior::Refuses {
            kept.requests.push(serde_json::from_slice(&body).expect("it is JSON"));
        }
        drop(kept);
        let (status, answer) = match manner {
            CollectorBehavior::Refuses => ("400 Bad Request", ""),
            _ if refuses => ("503 Service Unavailable", ""),
            _ => ("200 OK", "{}"),
        };
        if manner == CollectorBehavior::Hangs {
            // Reads until the client closes the connection.
            drop(reader.read(&mut [0]));
            return;
        }
        let text = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        if reader.get_mut().write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}
