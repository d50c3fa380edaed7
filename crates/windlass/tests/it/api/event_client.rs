//! A client of event streams, byte by byte: it reads each event, keeps the last id, and reconnects.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longer than any answer takes on an overloaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// An open event stream.
pub(crate) struct EventStreamClient {
    stream: BufReader<TcpStream>,
    pub(crate) status: u16,
    pub(crate) head: String,
    /// Bytes that were received and not parsed yet.
    heard: Vec<u8>,
    /// The id with which it would reconnect.
    pub(crate) last: Option<u64>,
}

/// An event of the stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamedEvent {
    /// The id of the event.
    pub(crate) id: Option<u64>,
    pub(crate) kind: String,
    pub(crate) data: Value,
}

impl EventStreamClient {
    /// Opens a stream at a path, after the event with this id if there is one.
    pub(crate) async fn open(at: SocketAddr, path: &str, last: Option<u64>) -> Self {
        let last_id = last.map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
        let mut client = Self::with(at, path, &last_id).await;
        client.last = last;
        client
    }

    /// The same, with more header lines.
    pub(crate) async fn with(at: SocketAddr, path: &str, headers: &str) -> Self {
        Self::over(TcpStream::connect(at).await.expect("it listens"), path, headers).await
    }

    /// The same, over an open connection.
    pub(crate) async fn over(mut stream: TcpStream, path: &str, headers: &str) -> Self {
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("it listens");
        let (stream, head) = (BufReader::new(stream), String::new());
        let mut client = Self { stream, status: 0, head, heard: Vec::new(), last: None };
        while !client.head.ends_with("\r\n\r\n") {
            let line = client.line().await.expect("an answer has a head");
            client.head += &line;
        }
        client.head = client.head.to_lowercase();
        let status = client.head.split(' ').nth(1).and_then(|code| code.parse().ok());
        client.status = status.expect("an answer has a status");
        client
    }

    /// Returns the next event; `None` if the stream has ended or broken.
    pub(crate) async fn next(&mut self) -> Option<StreamedEvent> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| {
                let mut lines = block.lines();
                lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            let id = field("id").map(|id| id.parse().expect("ids are numbers"));
            self.last = id.or(self.last);
            // A client of event streams ignores an event without data.
            let Some(data) = field("data") else { continue };
            let kind = field("event").unwrap_or("message").to_owned();
            return Some(StreamedEvent {
                id,
                kind,
                data: serde_json::from_str(data).expect("it is JSON"),
            });
        }
    }

    /// Returns the events up to and including the first of this kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<StreamedEvent> {
        let mut all = Vec::new();
        while let Some(event) = self.next().await {
            all.push(event);
            if all.last().is_some_and(|event| event.kind == kind) {
                return all;
            }
        }
        panic!("the stream ended before `{kind}`: {all:?}");
    }

    /// Returns whether the server has closed the connection. Sends a byte that the server does not expect to find out.
    pub(crate) fn is_cut_off(&self) -> bool {
        let sent = self.stream.get_ref().try_write(b"\n");
        sent.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
    }

    /// Returns the lines up to the next empty one, unparsed.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.heard.windows(2).position(|two| two == b"\n\n") {
                let block = self.heard.drain(..end + 2).collect();
                return Some(String::from_utf8(block).expect("it is text"));
            }
            self.chunk().await?;
        }
    }

    /// Returns the next chunk of the body, as HTTP/1.1 frames it.
    async fn chunk(&mut self) -> Option<()> {
        let line = self.line().await?;
        let size = usize::from_str_radix(line.trim(), 16).expect("a chunk has a size");
        let mut bytes = vec![0; size + 2];
        timeout(PATIENCE, self.stream.read_exact(&mut bytes)).await.expect("it goes on").ok()?;
        self.heard.extend_from_slice(&bytes[..size]);
        (size > 0).then_some(())
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.stream.read_line(&mut line)).await;
        let read = read.expect("there is a sign of life in time").ok()?;
        (read > 0).then_some(line)
    }
}
