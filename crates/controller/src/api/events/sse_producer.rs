//! The frames of one client: events as they become durable, and keep-alives.

use std::time::Duration;

use hyper::body::Bytes;
use tokio::time::{Instant, sleep_until};

use super::sse_reader::{SseReader, StreamRead};

/// The longest silence of a stream: proxies close connections that are silent for half a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The time before a client reconnects, in milliseconds: long enough for a controller to start.
const RETRY_MS: u32 = 1_000;

/// Produces the frames of one client.
#[derive(Debug)]
pub(super) struct SseProducer {
    reader: SseReader,
    silent_until: Instant,
    phase: SsePhase,
}

/// The phase of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SsePhase {
    Opening,
    Following,
    Ended,
}

impl SseProducer {
    pub(super) fn new(reader: SseReader) -> Self {
        Self { reader, silent_until: Instant::now() + KEEP_ALIVE, phase: SsePhase::Opening }
    }

    /// Returns the next frames; `None` at the end of the stream. If a store fails the stream ends too: the client
    /// reconnects, and gets the error then.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        match self.phase {
            SsePhase::Opening => {
                self.phase = SsePhase::Following;
                return Some(self.opening_frame());
            }
            SsePhase::Following => {}
            SsePhase::Ended => return None,
        }
        let text = loop {
            match self.reader.read().await.ok()? {
                StreamRead::Text(text) => break text,
                StreamRead::End(text) => {
                    self.phase = SsePhase::Ended;
                    break text;
                }
                StreamRead::Passed => {}
                StreamRead::Nothing => tokio::select! {
                    () = self.reader.wait() => {}
                    () = sleep_until(self.silent_until) => break self.keep_alive(),
                },
            }
            if Instant::now() >= self.silent_until {
                break self.keep_alive();
            }
        };
        self.silent_until = Instant::now() + KEEP_ALIVE;
        Some(text)
    }

    fn opening_frame(&self) -> Bytes {
        format!("retry: {RETRY_MS}\n{}\n", self.place()).into()
    }

    fn keep_alive(&self) -> Bytes {
        format!(": keep-alive\n{}\n", self.place()).into()
    }

    /// An id without an event: it moves the position of a client whose filter selects few events.
    fn place(&self) -> String {
        self.reader.passed().map(|position| format!("id: {position}\n")).unwrap_or_default()
    }
}
