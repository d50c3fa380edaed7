//! Follows the output of steps to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use windlass_store::logs::LogId;

use crate::cli::error::CliError;
use crate::cli::run_source::{RunSource, retry_while_away};

/// Logs that are followed at the same time. Others are read when their step has ended.
const FOLLOWERS_MAX: usize = 8;

/// The most bytes of earlier output that are read.
const EARLIER_MAX: u64 = 64 * 1024;

/// How long one request waits for output.
const WAIT: Duration = Duration::from_secs(30);

/// The pause after an empty answer.
const PAUSE: Duration = Duration::from_millis(100);

/// Chunks that wait to be shown: a slow screen slows down only these readers.
const QUEUED_CHUNKS_MAX: usize = 64;

/// A chunk of a log.
#[derive(Debug)]
pub(super) struct FollowedLogChunk {
    pub(super) log: LogId,
    at: u64,
    pub(super) bytes: Vec<u8>,
}

/// Follows the logs of running steps.
#[derive(Debug)]
pub(super) struct LogFollowers {
    source: Arc<dyn RunSource>,
    /// The read position of each log.
    heard: BTreeMap<LogId, u64>,
    listeners: BTreeMap<LogId, JoinHandle<()>>,
    sender: mpsc::Sender<FollowedLogChunk>,
    receiver: mpsc::Receiver<FollowedLogChunk>,
}

impl LogFollowers {
    /// Follows output from now on; of existing logs, the end.
    pub(super) fn new(source: Arc<dyn RunSource>, there: &[(LogId, u64)]) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUED_CHUNKS_MAX);
        let heard = there.iter().map(|(log, size)| (*log, size.saturating_sub(EARLIER_MAX)));
        let (heard, listeners) = (heard.collect(), BTreeMap::new());
        Self { source, heard, listeners, sender, receiver }
    }

    /// Follows these logs, up to the limit.
    pub(super) fn listen(&mut self, logs: impl IntoIterator<Item = LogId>) {
        for log in logs {
            if self.listeners.len() >= FOLLOWERS_MAX {
                return;
            }
            self.listeners.entry(log).or_insert_with(|| {
                let from = *self.heard.entry(log).or_default();
                let (source, sender) = (Arc::clone(&self.source), self.sender.clone());
                tokio::spawn(listen(source, log, from, sender))
            });
        }
    }

    /// The next chunk of any log.
    pub(super) async fn next(&mut self) -> FollowedLogChunk {
        loop {
            let heard = self.receiver.recv().await.expect("it owns a sender");
            if let Some(heard) = self.advance(heard) {
                return heard;
            }
        }
    }

    /// The next chunk of a log that has ended; `None` when all of it was read, and then it is no longer followed. The
    /// position is kept if its end may be reported again: a lease that was given up can still have an outcome.
    pub(super) async fn rest(
        &mut self,
        log: LogId,
        ends_again: bool,
    ) -> Result<Option<FollowedLogChunk>, CliError> {
        while let Ok(heard) = self.receiver.try_recv() {
            if let Some(heard) = self.advance(heard) {
                return Ok(Some(heard));
            }
        }
        if let Some(listener) = self.listeners.remove(&log) {
            listener.abort();
        }
        let (source, at) = (&*self.source, *self.heard.entry(log).or_default());
        let part =
            retry_while_away(source.patience(), || source.log(log, at, Duration::ZERO), || ())
                .await?;
        if part.bytes.is_empty() {
            if !ends_again {
                self.heard.remove(&log);
            }
            return Ok(None);
        }
        Ok(self.advance(FollowedLogChunk { log, at, bytes: part.bytes }))
    }

    /// Drops a log that has ended, without reading its rest.
    pub(super) fn forget(&mut self, log: LogId) {
        self.heard.remove(&log);
        if let Some(listener) = self.listeners.remove(&log) {
            listener.abort();
        }
    }

    /// Updates the position of a log; chunks that were read already, or belong to a closed log, are dropped.
    fn advance(&mut self, heard: FollowedLogChunk) -> Option<FollowedLogChunk> {
        let at = self.heard.get_mut(&heard.log).filter(|at| **at == heard.at)?;
        *at += heard.bytes.len() as u64;
        Some(heard)
    }
}

impl Drop for LogFollowers {
    fn drop(&mut self) {
        self.listeners.values().for_each(JoinHandle::abort);
    }
}

async fn listen(
    source: Arc<dyn RunSource>,
    log: LogId,
    mut at: u64,
    sender: mpsc::Sender<FollowedLogChunk>,
) {
    loop {
        let part = retry_while_away(source.patience(), || source.log(log, at, WAIT), || ()).await;
        // The event feed reports a source that has failed for good.
        let Ok(part) = part else { return };
        if part.bytes.is_empty() {
            // A log whose attempt has ended answers at once; the event of its end follows shortly.
            sleep(PAUSE).await;
            continue;
        }
        let heard = FollowedLogChunk { log, at, bytes: part.bytes };
        at += heard.bytes.len() as u64;
        if sender.send(heard).await.is_err() {
            return;
        }
    }
}
