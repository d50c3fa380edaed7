//! HTTP requests, byte by byte, and their answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A request that closes its connection.
#[derive(Default)]
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: Vec<u8>,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn get(path: &'a str) -> Self {
        Self { method: "GET", path, ..Self::default() }
    }

    pub(crate) fn post(path: &'a str, body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        Self { method: "POST", path, body, ..Self::default() }
    }

    /// The same request with this token.
    pub(crate) fn with_header(mut self, name: &'a str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let Self { method, path, headers, body } = self;
        let length = body.len().to_string();
        let own = [("host", "localhost"), ("connection", "close"), ("content-length", &*length)];
        let headers = own.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let headers: String = headers.collect();
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}\r\n");
        [head.into_bytes(), body.clone()].concat()
    }

    /// Sends the request to a port of this machine; `None` if there is no complete answer in time.
    pub(crate) fn send(&self, port: u16, within: Duration) -> Option<HttpAnswer> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(within)).ok()?;
        self.send_over(stream)
    }

    /// Sends the request over a connection; `None` if there is no complete answer.
    pub(crate) fn send_over(&self, mut stream: impl Read + Write) -> Option<HttpAnswer> {
        stream.write_all(&self.bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(HttpAnswer::read(&answer)).filter(|answer| answer.status != 0)
    }
}

/// The answer to a request.
#[derive(Debug, Default)]
pub(crate) struct HttpAnswer {
    /// 0 if there was no answer.
    pub(crate) status: u16,
    pub(crate) head: String,
    /// The body as it was sent.
    pub(crate) body: Vec<u8>,
    /// The body, if it is JSON.
    pub(crate) json: Value,
}

impl HttpAnswer {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        let mut answer = Self { status, head, body, json: Value::Null };
        answer.json = serde_json::from_str(&answer.text()).unwrap_or_default();
        answer
    }

    /// The body as text, without the framing of chunks.
    pub(crate) fn text(&self) -> String {
        let body = String::from_utf8_lossy(&self.body).into_owned();
        if self.header("transfer-encoding") != Some("chunked") {
            return body;
        }
        let (mut lines, mut whole) = (body.split("\r\n"), String::new());
        while let (Some(_), Some(chunk)) = (lines.next(), lines.next()) {
            whole.push_str(chunk);
        }
        whole
    }

    /// The value of a header; its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The status, and the code of the problem in the body.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        let is_problem = self.header("content-type") == Some("application/problem+json");
        (self.status, if is_problem { self.json["code"].as_str().unwrap_or("") } else { "" })
    }
}
