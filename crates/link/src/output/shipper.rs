//! Ships step output from a worker to the leader.
//!
//! Output is first written to the worker's disk and shipped from there in pieces, on a connection of its own. So an absent
//! leader or a dead worker costs no output, and neither delays a step. What the leader has is removed from the disk while
//! the log is still written. A step whose output finds no space on the disk waits, and fails after a while: it must not
//! succeed with lost output.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::time::sleep;
use windlass_net::shutdown::ShutdownReceiver;
use windlass_store::logs::{LogId, LogPart};

use super::log_chunk::{LOG_CHUNKS_MAX, LogChunk, LogChunksReply};
use super::shipping_progress::ShippingProgress;
use super::spool::SpoolFreeScope;
use super::spooled_logs::SpooledLogs;
use crate::LinkFuture;

/// Size of the first request: each response states how many bytes the leader accepts next.
const FIRST_CREDIT: usize = 256 << 10;

/// The first and the longest pause after output that did not arrive.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long a worker that ends continues to ship. The next start with the same state directory ships the rest.
const SHIP_AFTER_SHUTDOWN: Duration = Duration::from_secs(5);

/// Carries output and large results to the leader, each call with at most as many bytes as the previous response allowed;
/// and results from the leader.
pub trait OutputLink: Send + Sync + fmt::Debug {
    /// Carries pieces of output. A piece that arrives twice is written once, because it states its offset.
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply>;

    /// Fetches bytes of a [large result](LogId::value) from the leader, as many as fit into a response; none past its end.
    fn fetch(&self, value: LogId, from: u64) -> LinkFuture<'_, LogPart>;
}

/// Ships the output of a worker's steps.
#[derive(Debug)]
pub struct OutputShipper {
    logs: SpooledLogs,
    link: Arc<dyn OutputLink>,
    credit: usize,
    pause: Duration,
    /// The log that was served last: the next one has priority.
    next_log: LogId,
    /// Whether output on the disk could not be read and a retry is due.
    has_unread: bool,
}

impl OutputShipper {
    /// Creates a shipper for these logs.
    pub(super) fn new(logs: SpooledLogs, link: Arc<dyn OutputLink>) -> Self {
        let (credit, pause, next_log) = (FIRST_CREDIT, PAUSE_MIN, LogId::default());
        Self { logs, link, credit, pause, next_log, has_unread: false }
    }

    /// Ships until shutdown, then for at most `LINGERS`. It does not wait for a leader that will never answer.
    pub async fn run(mut self, mut shutdown: ShutdownReceiver) {
        let mut notice = shutdown.clone();
        // One deadline for everything that is left, however many tries it takes.
        let ends = async move {
            notice.wait().await;
            sleep(SHIP_AFTER_SHUTDOWN).await;
        };
        tokio::pin!(ends);
        loop {
            let pieces = self.next_chunks();
            if pieces.is_empty() && !self.has_unread && shutdown.is_due() {
                return;
            }
            let can_succeed = tokio::select! {
                () = &mut ends => return,
                can_succeed = self.ship_or_wait(pieces, &mut shutdown) => can_succeed,
            };
            if !can_succeed && shutdown.is_due() {
                return;
            }
        }
    }

    /// Ships pieces, or waits for some. Returns whether a retry can succeed.
    async fn ship_or_wait(
        &mut self,
        pieces: Vec<LogChunk>,
        shutdown: &mut ShutdownReceiver,
    ) -> bool {
        if !pieces.is_empty() {
            return self.ship(pieces).await;
        }
        if self.has_unread {
            self.back_off().await;
            return true;
        }
        let shipping = Arc::clone(&self.logs.state);
        tokio::select! {
            () = shipping.changed.notified() => {}
            () = shutdown.wait() => {}
        }
        true
    }

    /// Selects what to ship next: a piece of each log in turn, up to the bytes and pieces that the leader accepts.
    fn next_chunks(&mut self) -> Vec<LogChunk> {
        self.has_unread = false;
        let logs = self.logs.state.logs().clone();
        let after = logs.range((Bound::Excluded(self.next_log), Bound::Unbounded));
        let upto = logs.range(..=self.next_log);
        let mut room = self.credit;
        let mut pieces = Vec::new();
        for (log, progress) in after.chain(upto) {
            if room == 0 || pieces.len() >= LOG_CHUNKS_MAX {
                break;
            }
            if progress.shipped < progress.written {
                let bytes = match self.next_bytes(*log, progress, room) {
                    Ok(bytes) if bytes.is_empty() => {
                        self.has_unread |= !self.skip_missing_segment(*log);
                        continue;
                    }
                    Ok(bytes) => bytes,
                    // Too many open files, or a temporary disk failure: the bytes may still exist.
                    Err(_) => {
                        self.has_unread = true;
                        continue;
                    }
                };
                room -= bytes.len();
                self.next_log = *log;
                pieces.push(LogChunk { log: *log, at: progress.shipped - progress.missing, bytes });
            }
        }
        pieces
    }

    fn next_bytes(
        &self,
        log: LogId,
        progress: &ShippingProgress,
        most: usize,
    ) -> io::Result<Vec<u8>> {
        if progress.shipped >= progress.spooled() {
            let rest = progress.rest_of_line();
            return Ok(rest[..rest.len().min(most)].to_vec());
        }
        let left = usize::try_from(progress.spooled() - progress.shipped).unwrap_or(most);
        self.logs.spool.read(log, progress.shipped, most.min(left))
    }

    /// Ships pieces. Returns whether a retry can succeed.
    async fn ship(&mut self, pieces: Vec<LogChunk>) -> bool {
        let taken = match self.link.ship(pieces.clone()).await {
            Ok(taken) => taken,
            Err(error) => {
                self.back_off().await;
                return !error.is_final();
            }
        };
        self.pause = PAUSE_MIN;
        self.credit = taken.credit.max(1);
        for (piece, size) in pieces.iter().zip(taken.sizes) {
            self.record_shipped(piece.log, size);
        }
        self.logs.state.shipped.send_modify(|times| *times += 1);
        true
    }

    /// Waits before a retry, longer each time.
    async fn back_off(&mut self) {
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    /// Records how much of a log the leader has, or that it does not want the log.
    fn record_shipped(&self, log: LogId, size: Option<u64>) {
        let mut logs = self.logs.state.logs();
        let Some(progress) = logs.get_mut(&log) else { return };
        if let Some(size) = size {
            let shipped = size + progress.missing;
            progress.shipped = shipped.min(progress.written);
            let start = self.logs.spool.start(log);
            if shipped < start {
                self.skip_lost_output((log, progress), (shipped, start), "by the controller");
            }
        }
        if progress.closed && progress.shipped >= progress.written || size.is_none() {
            logs.remove(&log);
            self.logs.spool.remove(log);
        } else {
            self.logs.spool.free(log, progress.shipped, SpoolFreeScope::FullSegments);
        }
    }

    /// Continues after a segment that is missing on the disk. Returns whether it could: the segment may be in use.
    fn skip_missing_segment(&self, log: LogId) -> bool {
        let mut logs = self.logs.state.logs();
        let Some(progress) = logs.get_mut(&log) else { return true };
        let shipped = progress.shipped;
        let Some(start) = self.logs.spool.drop_missing_segment(log, shipped) else { return false };
        if start > shipped {
            self.skip_lost_output((log, progress), (shipped, start), "on the worker's disk");
        }
        if progress.closed && progress.shipped >= progress.written {
            logs.remove(&log);
            self.logs.spool.remove(log);
        }
        true
    }

    /// Continues where the log begins on the disk, and writes into the log how much was lost before: the leader has less than was
    /// removed here, or files are missing. The loss is also recorded on the disk after its line; if the process is killed
    /// between the two, the next incarnation reports the loss once more.
    fn skip_lost_output(
        &self,
        (log, progress): (LogId, &mut ShippingProgress),
        (shipped, start): (u64, u64),
        lost_where: &str,
    ) {
        let lost = start - shipped;
        let mut notice = format!("\nwindlass: {lost} bytes of output were lost {lost_where}\n");
        notice.truncate(usize::try_from(lost).unwrap_or(usize::MAX));
        let front = self.logs.spool.prepend(log, notice.as_bytes()).unwrap_or(start);
        progress.missing += front - shipped;
        progress.shipped = front;
        // Without space for the record, the next incarnation reports the loss again, which is better than to stop here.
        drop(self.logs.spool.note_missing(log, progress.missing));
    }
}

#[cfg(test)]
#[path = "shipper_tests.rs"]
mod shipper_tests;
