//! What a step prints, on its way to the logs: covered, bounded, in order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_core::session::Grant;

use crate::logs::{LogId, LogStore, NOTES_MAX};
use crate::worker::masks::{MaskedStream, Masks};

/// Bytes of one attempt's output that are kept from its beginning. More is read, so that the step is not held up, and
/// dropped.
const KEPT_MAX: u64 = 64 << 20;

/// Bytes that are kept from the end of an output that was cut: that is where the reason of a failure is.
const TAIL_MAX: usize = 64 << 10;

/// How long a step is held up because there is no room for what it prints, and how often it is looked. Whoever frees some
/// has lost nothing.
const ROOM_WAIT: Duration = Duration::from_mins(1);
const ROOM_LOOK: Duration = Duration::from_millis(100);

/// The log of one attempt, while it is written.
#[derive(Debug)]
pub(super) struct Record {
    logs: Arc<dyn LogStore>,
    id: LogId,
    masks: MaskedStream,
    written: u64,
    dropped: u64,
    tail: VecDeque<u8>,
    /// Whether the log cannot be written, so that nobody tries again for every line.
    failed: bool,
}

impl Record {
    pub(super) fn new(logs: Arc<dyn LogStore>, id: LogId, masks: Masks) -> Self {
        let masks = MaskedStream::new(masks);
        Self { logs, id, masks, written: 0, dropped: 0, tail: VecDeque::new(), failed: false }
    }

    /// Takes in what the step printed.
    pub(super) async fn write(&mut self, bytes: &[u8]) {
        let settled = self.masks.push(bytes);
        self.keep(settled).await;
    }

    /// Adds a warning, if there is one.
    pub(super) async fn warn(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            self.say(&warning).await;
        }
    }

    /// Adds a line of windlass's own.
    pub(super) async fn say(&mut self, text: &str) {
        let mut settled = self.masks.finish();
        settled.extend(self.masks.push(format!("windlass: {text}\n").as_bytes()));
        settled.extend(self.masks.finish());
        self.keep(settled).await;
    }

    /// Keeps what the step wrote for people, where whoever leads finds it. It was covered.
    pub(super) async fn note(&self, text: String) {
        let mut bytes = text.into_bytes();
        // What covers a secret may be longer than the secret.
        bytes.truncate(NOTES_MAX);
        let notes = self.id.notes();
        // A step does not fail because nobody can read what it wrote.
        if self.logs.append(notes, 0, bytes).await.is_ok() {
            drop(self.logs.close(notes).await);
        }
    }

    /// Writes what was held back: nothing more comes.
    pub(super) async fn finish(&mut self) {
        let settled = self.masks.finish();
        self.keep(settled).await;
        if self.dropped > 0 {
            let cut = self.dropped - self.tail.len() as u64;
            let marker = format!("\nwindlass: {cut} bytes of output are left out here\n");
            self.append(marker.into_bytes()).await;
            let tail = std::mem::take(&mut self.tail);
            self.append(tail.into()).await;
        }
        if self.written > 0 {
            // As with writing: what cannot be kept fails no step.
            drop(self.logs.close(self.id).await);
        }
    }

    async fn keep(&mut self, mut bytes: Vec<u8>) {
        let room = usize::try_from(KEPT_MAX.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let beyond = bytes.split_off(bytes.len().min(room));
        self.append(bytes).await;
        self.dropped += beyond.len() as u64;
        self.tail.extend(beyond);
        let surplus = self.tail.len().saturating_sub(TAIL_MAX);
        self.tail.drain(..surplus);
    }

    async fn append(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() || self.failed {
            return;
        }
        let length = bytes.len() as u64;
        let end = Instant::now() + ROOM_WAIT;
        loop {
            match self.logs.append(self.id, self.written, bytes.clone()).await {
                Ok(_) => break,
                Err(error) if error.is_retryable() && Instant::now() < end => {
                    sleep(ROOM_LOOK).await;
                }
                // A step does not fail because its output cannot be kept.
                Err(_) => {
                    self.failed = true;
                    break;
                }
            }
        }
        self.written += length;
    }
}

/// The log of a hand-out.
pub(super) fn log_id(grant: &Grant) -> LogId {
    let lease = grant.lease;
    LogId { run: lease.run, step: lease.step, attempt: lease.attempt, delivery: grant.delivery }
}
