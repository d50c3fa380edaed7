//! What the steps of a run print, heard as it comes and to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::cli::error::CliError;
use crate::cli::run_source::{RunSource, retry_while_away};
use crate::logs::LogId;

/// Steps that are heard at the same time. Others are heard when they have ended.
const FOLLOWERS_MAX: usize = 8;

/// Of what a step had printed before somebody came to watch, so much is heard.
const EARLIER_MAX: u64 = 64 * 1024;

/// How long one waits for a step to print before asking again.
const WAIT: Duration = Duration::from_secs(30);

/// The pause after an answer without anything in it.
const PAUSE: Duration = Duration::from_millis(100);

/// Pieces that wait to be shown: a screen that is slower holds up only who reads for it.
const QUEUED_CHUNKS_MAX: usize = 64;

/// A piece of a log.
#[derive(Debug)]
pub(super) struct FollowedLogChunk {
    pub(super) log: LogId,
    at: u64,
    pub(super) bytes: Vec<u8>,
}

/// Hears the steps that run.
#[derive(Debug)]
pub(super) struct LogFollowers {
    source: Arc<dyn RunSource>,
    /// How far each log was heard.
    heard: BTreeMap<LogId, u64>,
    listeners: BTreeMap<LogId, JoinHandle<()>>,
    sender: mpsc::Sender<FollowedLogChunk>,
    receiver: mpsc::Receiver<FollowedLogChunk>,
}

impl LogFollowers {
    /// Hears what is printed from now on; of the logs that are there already, the end.
    pub(super) fn new(source: Arc<dyn RunSource>, there: &[(LogId, u64)]) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUED_CHUNKS_MAX);
        let heard = there.iter().map(|(log, size)| (*log, size.saturating_sub(EARLIER_MAX)));
        let (heard, listeners) = (heard.collect(), BTreeMap::new());
        Self { source, heard, listeners, sender, receiver }
    }

    /// Listens to these logs, as far as there are ears left.
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

    /// The next piece of some log.
    pub(super) async fn next(&mut self) -> FollowedLogChunk {
        loop {
            let heard = self.receiver.recv().await.expect("it has a sender of its own");
            if let Some(heard) = self.advance(heard) {
                return heard;
            }
        }
    }

    /// The next piece of a log that has ended; nothing when all of it was heard, and then it is listened to no more. How far
    /// it was heard is kept if its end may be told again: a lease that was given up can have an outcome after all.
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

    /// A log has ended, and nobody wants to hear the rest.
    pub(super) fn forget(&mut self, log: LogId) {
        self.heard.remove(&log);
        if let Some(listener) = self.listeners.remove(&log) {
            listener.abort();
        }
    }

    /// Notes how far a log was heard; what was heard already, or belongs to a log that is over, is dropped.
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
        // That the source is gone for good is told by who follows the events.
        let Ok(part) = part else { return };
        if part.bytes.is_empty() {
            // A log whose attempt is over answers at once; that it is over is about to be told.
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
