//! The output of a step on its way to the logs: masked, bounded and in order.
//!
//! Accepting bytes never waits. Writing them waits where the logs have no room, but can be dropped and resumed at any
//! time. So the executor of a step continues to pass orders and deadlines to it.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use windlass_core::outcome::{Outcome, OutcomeKind};
use windlass_core::session::LeaseGrant;
use windlass_core::step_failure::{StepFailure, StepFailureKind};
use windlass_store::db::StoreError;
use windlass_store::logs::{LogFullPolicy, LogId, LogSpaceWait, LogStore, LogStream, NOTES_MAX};

use crate::executor::AttemptOrders;
use crate::masks::{MaskedStream, SecretMasks};

/// The number of bytes of one attempt's output that are kept from its beginning. The rest is read, so that the step is
/// not held up, and dropped.
const KEPT_MAX: u64 = 64 << 20;

/// The number of bytes that are kept from the end of a truncated output. The reason for a failure is usually there.
const TAIL_MAX: usize = 64 << 10;

/// How long a step is held up by logs that cannot be written, unless the settings say otherwise.
const RETRY_FOR: Duration = Duration::from_mins(1);

/// The pause between two tries to write meanwhile.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The log of one attempt while it is written.
#[derive(Debug)]
pub(super) struct AttemptLog {
    logs: Arc<dyn LogStore>,
    id: LogId,
    step: Box<str>,
    masks: MaskedStream,
    /// The number of bytes that were accepted, and how many of them are written.
    taken: u64,
    written: u64,
    dropped: u64,
    tail: VecDeque<u8>,
    /// The bytes to write next. No more bytes are processed before they are written.
    unwritten: Vec<u8>,
    writing: Option<PendingLogWrite>,
    waits: Option<LogWriteRetry>,
    /// True if the log no longer waits for room.
    gives_up_early: bool,
    state: AttemptLogState,
}

/// The state of the log: whether output is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AttemptLogState {
    Kept,
    /// The log cannot be written. The step continues, and nothing is tried again for every line.
    Lost,
    /// The log cannot be written, and the step fails because of that.
    Failed(String),
}

/// A write that cannot be done yet.
#[derive(Clone, Copy, Debug)]
struct LogWriteRetry {
    since: Instant,
    again_at: Instant,
}

/// A write under way.
struct PendingLogWrite(Pin<Box<dyn Future<Output = Result<u64, StoreError>> + Send>>);

impl fmt::Debug for PendingLogWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writing")
    }
}

impl AttemptLog {
    pub(super) fn new(logs: Arc<dyn LogStore>, grant: &LeaseGrant, masks: SecretMasks) -> Self {
        Self {
            logs,
            id: log_id(grant),
            step: grant.name.clone(),
            masks: MaskedStream::new(masks),
            taken: 0,
            written: 0,
            dropped: 0,
            tail: VecDeque::new(),
            unwritten: Vec::new(),
            writing: None,
            waits: None,
            gives_up_early: false,
            state: AttemptLogState::Kept,
        }
    }

    /// Accepts output of the step.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let settled = self.masks.push(bytes);
        self.keep(settled);
    }

    /// Accepts a warning, if there is one.
    pub(super) fn warn(&mut self, warning: Option<String>) {
        if let Some(warning) = warning {
            self.add_notice(&warning);
        }
    }

    /// Adds a line of windlass itself.
    pub(super) fn add_notice(&mut self, text: &str) {
        let mut settled = self.masks.finish();
        settled.extend(self.masks.push(format!("windlass: {text}\n").as_bytes()));
        settled.extend(self.masks.finish());
        self.keep(settled);
    }

    /// Stores the masked summary that the step wrote for readers, where the leader finds it.
    pub(super) async fn keep_summary(&mut self, text: String) {
        let mut bytes = text.into_bytes();
        // A mask may be longer than the secret that it covers.
        bytes.truncate(NOTES_MAX);
        self.keep_beside(LogStream::Notes, bytes, "its summary").await;
    }

    /// Stores a whole stream beside the output. A step does not fail because that is not possible.
    pub(super) async fn keep_beside(&mut self, stream: LogStream, bytes: Vec<u8>, name: &str) {
        let log = self.id.stream(stream);
        match self.logs.append(log, 0, bytes).await {
            Ok(_) => drop(self.logs.close(log).await),
            Err(error) => self.add_notice(&format!("{name} could not be kept: {error}")),
        }
    }

    /// Returns whether some accepted output is not written.
    pub(super) const fn is_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Returns whether the step fails because its output cannot be kept.
    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.state, AttemptLogState::Failed(_))
    }

    /// Writes what was accepted. The future may be dropped at any time: the next call resumes there.
    pub(super) async fn write(&mut self) {
        while self.is_unwritten() {
            if let Some(wait) = self.waits {
                sleep_until(wait.again_at).await;
            }
            if self.writing.is_none() {
                self.writing = Some(self.begin());
            }
            let Some(PendingLogWrite(writing)) = &mut self.writing else { return };
            let written = writing.await;
            self.writing = None;
            self.wrote(written);
        }
    }

    /// Writes the rest for a step that is over. An order to stop ends a wait for room.
    pub(super) async fn write_remaining(&mut self, orders: &mut watch::Receiver<AttemptOrders>) {
        if !self.is_unwritten() {
            return;
        }
        tokio::select! {
            biased;
            () = self.write() => return,
            () = stopped(orders) => self.gives_up_early = true,
        }
        self.write().await;
    }

    /// Writes the bytes that were held back, because no more output comes.
    pub(super) async fn finish(&mut self, orders: &mut watch::Receiver<AttemptOrders>) {
        let settled = self.masks.finish();
        self.keep(settled);
        self.write_remaining(orders).await;
        if self.dropped > 0 {
            let cut = self.dropped - self.tail.len() as u64;
            let marker = format!("\nwindlass: {cut} bytes of output are left out here\n");
            self.append(marker.into_bytes());
            let tail = std::mem::take(&mut self.tail);
            self.append(tail.into());
            self.write_remaining(orders).await;
        }
        // An error here concerns a reader only.
        match &self.state {
            AttemptLogState::Failed(reason) => {
                let line = format!("\nwindlass: the step failed: {reason}\n");
                drop(self.logs.close_cut(self.id, line).await);
            }
            AttemptLogState::Kept | AttemptLogState::Lost if self.written > 0 => {
                drop(self.logs.close(self.id).await);
            }
            AttemptLogState::Kept | AttemptLogState::Lost => {}
        }
    }

    /// Returns the outcome of the step, corrected if its output was lost.
    pub(super) fn apply_output_loss(&self, outcome: Outcome) -> Outcome {
        let AttemptLogState::Failed(reason) = &self.state else { return outcome };
        match outcome.kind {
            OutcomeKind::Succeeded | OutcomeKind::Failed => {
                let failure = StepFailure::new(StepFailureKind::OutputLost, reason.as_str());
                Outcome { output: failure.to_output(), ..Outcome::plain(OutcomeKind::Failed) }
            }
            OutcomeKind::TimedOut
            | OutcomeKind::Cancelled
            | OutcomeKind::Lost
            | OutcomeKind::Released => outcome,
        }
    }

    fn keep(&mut self, mut bytes: Vec<u8>) {
        let room = usize::try_from(KEPT_MAX.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let beyond = bytes.split_off(bytes.len().min(room));
        self.append(bytes);
        self.dropped += beyond.len() as u64;
        self.tail.extend(beyond);
        let surplus = self.tail.len().saturating_sub(TAIL_MAX);
        self.tail.drain(..surplus);
    }

    fn append(&mut self, bytes: Vec<u8>) {
        self.taken += bytes.len() as u64;
        if self.state != AttemptLogState::Kept {
            return;
        }
        if self.unwritten.is_empty() {
            self.unwritten = bytes;
        } else {
            self.unwritten.extend(bytes);
        }
    }

    fn begin(&self) -> PendingLogWrite {
        let (logs, id, at) = (Arc::clone(&self.logs), self.id, self.written);
        let bytes = self.unwritten.clone();
        PendingLogWrite(Box::pin(async move {
            let end = at + bytes.len() as u64;
            logs.append(id, at, bytes).await.map(|_| end)
        }))
    }

    fn wrote(&mut self, written: Result<u64, StoreError>) {
        match written {
            Ok(end) => {
                // More may have been accepted since this write began.
                let length = usize::try_from(end - self.written).unwrap_or(usize::MAX);
                self.unwritten.drain(..length.min(self.unwritten.len()));
                self.written = end;
                if self.waits.take().is_some() {
                    self.note_wait(None);
                }
            }
            Err(error) => match self.retry_after(&error) {
                Some(wait) => self.waits = Some(wait),
                None => self.give_up(&error),
            },
        }
    }

    /// Returns how to retry after an error, or `None` if the write is given up.
    fn retry_after(&self, error: &StoreError) -> Option<LogWriteRetry> {
        if self.gives_up_early || !error.is_retryable() {
            return None;
        }
        let now = Instant::now();
        if self.waits.is_none() {
            self.note_wait(Some(error));
        }
        let since = self.waits.map_or(now, |wait| wait.since);
        let again_at = now + RETRY_PAUSE;
        let may_wait = self.retry_for(error).is_none_or(|most| now < since + most);
        may_wait.then_some(LogWriteRetry { since, again_at })
    }

    /// Returns the longest wait after an error. `None` waits forever.
    fn retry_for(&self, error: &StoreError) -> Option<Duration> {
        match self.logs.when_full() {
            LogFullPolicy::Waits if matches!(error, StoreError::Full { .. }) => None,
            LogFullPolicy::Waits | LogFullPolicy::DropsOutput => Some(RETRY_FOR),
            LogFullPolicy::Fails(most) => Some(most),
        }
    }

    fn give_up(&mut self, error: &StoreError) {
        self.unwritten.clear();
        let fails = matches!(self.logs.when_full(), LogFullPolicy::Fails(_));
        self.state =
            if fails { AttemptLogState::Failed(self.reason(error)) } else { AttemptLogState::Lost };
    }

    fn reason(&self, error: &StoreError) -> String {
        let waited = self.waits.map(|wait| wait.since.elapsed().as_secs());
        let waited = waited.map(|waited| format!(" for {waited} s")).unwrap_or_default();
        match error {
            StoreError::Full { place } => {
                format!("its output could not be kept: no space left in {place}{waited}")
            }
            error => format!("its output could not be kept{waited}: {error}"),
        }
    }

    fn note_wait(&self, error: Option<&StoreError>) {
        let at_most = error.and_then(|error| self.retry_for(error));
        self.logs.note_wait(&LogSpaceWait { log: self.id, step: &self.step, error, at_most });
    }
}

/// Waits for an order to stop, which may never come.
async fn stopped(orders: &mut watch::Receiver<AttemptOrders>) {
    if orders.wait_for(|orders| orders.stop.is_some()).await.is_err() {
        pending::<()>().await;
    }
}

/// Returns the id of the log of a delivery.
pub(super) fn log_id(grant: &LeaseGrant) -> LogId {
    let lease = grant.lease;
    LogId::new(lease.run, lease.step, lease.attempt, grant.delivery)
}

#[cfg(test)]
#[path = "attempt_log_tests.rs"]
mod attempt_log_tests;
