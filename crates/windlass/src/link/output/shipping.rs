//! What steps print, on its way from a worker to the leader.
//!
//! It is written to the worker's disk first, whence it is shipped, piece by piece, on a connection of its own: a leader
//! that is away costs no output, nor does the worker's death, and neither holds a step up. What the leader has is removed,
//! while the log is still written. A step whose output finds no room on the disk waits, and fails after a while: it must not
//! succeed with an output that is lost.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use windlass_core::id::RunId;

use super::piece::{LogChunk, LogsTaken, PIECES_MAX};
use super::progress::{Desk, Progress};
use super::spool::{Freed, Spool};
use crate::link::Carried;
use crate::logs::{LogId, LogPart, LogStore, READ_MAX, RoomWait, WhenFull};
use crate::shutdown::Shutdown;
use crate::store::{Promise, StoreError};

/// How long the outcome of a step waits for the last of its output to reach the leader. A leader that is away gets it
/// later.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Bytes of the first request: the leader's answer says how many it takes next.
const FIRST_CREDIT: usize = 256 << 10;

/// Bytes that wait on the worker's disk. More is refused, as if the disk was full.
const WAITING_MAX: u64 = 1 << 30;

/// How long a step waits for room for its output, where nothing else is said: longer than it takes to rotate a log or to
/// clear a cache, and short beside a pipeline that hangs.
pub const DISK_GRACE: Duration = Duration::from_mins(1);

/// The pause after output that did not arrive, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// How long a worker that ends goes on shipping. The next start with the same state directory ships the rest.
const LINGERS: Duration = Duration::from_secs(5);

/// What carries output and large results to the leader, each call with no more bytes than the answer before it allowed;
/// and results back.
pub trait Ships: Send + Sync + fmt::Debug {
    /// Carries pieces of output. What arrives twice is written once: a piece says where it begins.
    fn ship(&self, pieces: Vec<LogChunk>) -> Carried<'_, LogsTaken>;

    /// Brings bytes of a [large result](LogId::value) from the leader, as many as fit into an answer; none behind its end.
    fn fetch(&self, value: LogId, from: u64) -> Carried<'_, LogPart>;
}

/// The logs of a worker apart from its leader, whatever carries them.
#[derive(Clone, Debug)]
pub struct ShippedLogs {
    spool: Spool,
    desk: Arc<Desk>,
    disk_grace: Duration,
    listener: Option<Arc<dyn RoomWaitListener>>,
}

/// Is told of steps that wait for room on the disk.
pub trait RoomWaitListener: Send + Sync + fmt::Debug {
    /// A step waits, or does so no more.
    fn note_wait(&self, wait: &RoomWait<'_>);
}

/// Output on a worker's disk that the leader does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsentOutput {
    /// The folder that holds it.
    pub folder: PathBuf,
    /// Its size.
    pub bytes: u64,
}

impl ShippedLogs {
    /// Logs in a folder of the worker's, and what ships them.
    pub fn open(folder: PathBuf, link: Arc<dyn Ships>) -> io::Result<(Self, Shipping)> {
        let (spool, left) = Spool::open(folder)?;
        let desk = Desk::default();
        for (log, Range { start, end }) in left {
            if start == end {
                spool.remove(log);
                continue;
            }
            let progress =
                Progress { written: end, shipped: start, closed: true, ..Progress::default() };
            desk.logs().insert(log, progress);
        }
        let desk = Arc::new(desk);
        let logs = Self { spool, desk, disk_grace: DISK_GRACE, listener: None };
        let shipping = Shipping {
            logs: logs.clone(),
            link,
            credit: FIRST_CREDIT,
            pause: PAUSE_MIN,
            turn: LogId::default(),
        };
        Ok((logs, shipping))
    }

    /// Has steps wait this long for room on the disk before they fail.
    #[must_use]
    pub fn with_disk_grace(self, disk_grace: Duration) -> Self {
        Self { disk_grace, ..self }
    }

    /// Has someone told of steps that wait for room.
    #[must_use]
    pub fn with_listener(self, listener: Arc<dyn RoomWaitListener>) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Output that the leader does not have; `None` if there is none.
    pub fn unsent(&self) -> Option<UnsentOutput> {
        let bytes = self.desk.waiting();
        let folder = self.spool.folder().to_owned();
        (bytes > 0).then_some(UnsentOutput { folder, bytes })
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        let place = self.spool.folder().display().to_string();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { place },
            _ => StoreError::Unavailable { place, reason: error.to_string() },
        }
    }

    async fn write(&self, log: LogId, bytes: Vec<u8>) -> Result<u64, StoreError> {
        if self.desk.waiting() > WAITING_MAX {
            let folder = self.spool.folder().display();
            let place =
                format!("{folder}, where {WAITING_MAX} bytes of output wait for a controller");
            return Err(StoreError::Full { place });
        }
        let written = match self.spool(log, bytes.clone()).await {
            // All of what is kept although the leader has it goes first.
            Err(StoreError::Full { .. }) => {
                self.free_shipped();
                self.spool(log, bytes).await?
            }
            written => written?,
        };
        self.desk.logs().entry(log).or_default().written = written;
        self.desk.news.notify_one();
        Ok(written)
    }

    async fn spool(&self, log: LogId, bytes: Vec<u8>) -> Result<u64, StoreError> {
        let spool = self.spool.clone();
        let written = spawn_blocking(move || spool.append(log, &bytes)).await;
        written.map_err(io::Error::other).flatten().map_err(|error| self.failed(&error))
    }

    fn free_shipped(&self) {
        for (log, progress) in self.desk.logs().iter() {
            self.spool.free(*log, progress.shipped, Freed::Everything);
        }
    }

    /// Waits until the leader has all of a log, within reason.
    async fn settle(&self, log: LogId, last_line: &str) {
        {
            let mut logs = self.desk.logs();
            if !last_line.is_empty() {
                let progress = logs.entry(log).or_default();
                progress.written += last_line.len() as u64;
                progress.last_line = last_line.into();
            }
            if let Some(progress) = logs.get_mut(&log) {
                progress.closed = true;
            }
        }
        self.desk.news.notify_one();
        let mut shipped = self.desk.shipped.subscribe();
        let all = shipped.wait_for(|_| self.desk.is_shipped(log));
        drop(timeout(CLOSE_WITHIN, all).await);
    }
}

impl LogStore for ShippedLogs {
    fn append(&self, log: LogId, _: u64, bytes: Vec<u8>) -> Promise<'_, u64> {
        Box::pin(self.write(log, bytes))
    }

    fn close(&self, log: LogId) -> Promise<'_, ()> {
        Box::pin(async move {
            self.settle(log, "").await;
            Ok(())
        })
    }

    fn close_cut(&self, log: LogId, line: String) -> Promise<'_, ()> {
        Box::pin(async move {
            self.settle(log, &line).await;
            Ok(())
        })
    }

    fn when_full(&self) -> WhenFull {
        WhenFull::Fails(self.disk_grace)
    }

    fn note_wait(&self, wait: &RoomWait<'_>) {
        if let Some(listener) = &self.listener {
            listener.note_wait(wait);
        }
    }

    fn read(&self, log: LogId, range: Range<u64>) -> Promise<'_, LogPart> {
        Box::pin(async move {
            let most = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(READ_MAX);
            let bytes = self.spool.read(log, range.start, most.min(READ_MAX));
            let bytes = bytes.map_err(|error| self.failed(&error))?;
            let size = self.desk.logs().get(&log).map_or(0, |progress| progress.written);
            Ok(LogPart { from: range.start.min(size), bytes, size })
        })
    }

    fn list(&self, run: RunId) -> Promise<'_, Vec<(LogId, u64)>> {
        let of_run = |(log, progress): (&LogId, &Progress)| (*log, progress.written);
        let logs = self.desk.logs();
        let list = logs.iter().filter(|(log, _)| log.run == run).map(of_run).collect();
        Box::pin(async move { Ok(list) })
    }

    fn remove(&self, run: RunId) -> Promise<'_, ()> {
        self.desk.logs().retain(|log, _| {
            if log.run == run {
                self.spool.remove(*log);
            }
            log.run != run
        });
        Box::pin(async move { Ok(()) })
    }

    fn runs(&self) -> Promise<'_, Vec<(RunId, u64)>> {
        let mut runs: BTreeMap<RunId, u64> = BTreeMap::new();
        for (log, progress) in self.desk.logs().iter() {
            *runs.entry(log.run).or_default() += progress.written;
        }
        Box::pin(async move { Ok(runs.into_iter().collect()) })
    }
}

/// Ships what a worker's steps printed.
#[derive(Debug)]
pub struct Shipping {
    logs: ShippedLogs,
    link: Arc<dyn Ships>,
    credit: usize,
    pause: Duration,
    /// The log that was served last: the next one's turn comes first.
    turn: LogId,
}

impl Shipping {
    /// Ships until it is told to end, then for at most `LINGERS`. A leader that will never answer is not waited for.
    pub async fn run(mut self, mut shutdown: Shutdown) {
        let mut told = shutdown.clone();
        // One deadline for all that is left, however many tries it takes.
        let ends = async move {
            told.wait().await;
            sleep(LINGERS).await;
        };
        tokio::pin!(ends);
        loop {
            let pieces = self.gather();
            if pieces.is_empty() && shutdown.is_due() {
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

    /// Ships pieces, or waits for some. Returns whether another try can succeed.
    async fn ship_or_wait(&mut self, pieces: Vec<LogChunk>, shutdown: &mut Shutdown) -> bool {
        if !pieces.is_empty() {
            return self.ship(pieces).await;
        }
        let desk = Arc::clone(&self.logs.desk);
        tokio::select! {
            () = desk.news.notified() => {}
            () = shutdown.wait() => {}
        }
        true
    }

    /// What is to be shipped next: a piece of each log in turn, as much and as many as the leader takes.
    fn gather(&mut self) -> Vec<LogChunk> {
        let logs = self.logs.desk.logs().clone();
        let after = logs.range((Bound::Excluded(self.turn), Bound::Unbounded));
        let upto = logs.range(..=self.turn);
        let mut room = self.credit;
        let mut pieces = Vec::new();
        for (log, progress) in after.chain(upto) {
            if room == 0 || pieces.len() >= PIECES_MAX {
                break;
            }
            if progress.shipped < progress.written {
                let bytes = self.next_bytes(*log, progress, room);
                if bytes.is_empty() {
                    self.logs.desk.lost(*log);
                    continue;
                }
                room -= bytes.len();
                self.turn = *log;
                pieces.push(LogChunk { log: *log, at: progress.shipped - progress.missing, bytes });
            }
        }
        pieces
    }

    fn next_bytes(&self, log: LogId, progress: &Progress, most: usize) -> Vec<u8> {
        if progress.shipped >= progress.spooled() {
            let rest = progress.rest_of_line();
            return rest[..rest.len().min(most)].to_vec();
        }
        let left = usize::try_from(progress.spooled() - progress.shipped).unwrap_or(most);
        self.logs.spool.read(log, progress.shipped, most.min(left)).unwrap_or_default()
    }

    /// Ships pieces. Returns whether another try can succeed.
    async fn ship(&mut self, pieces: Vec<LogChunk>) -> bool {
        let taken = match self.link.ship(pieces.clone()).await {
            Ok(taken) => taken,
            Err(error) => {
                sleep(self.pause).await;
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                return !error.is_final();
            }
        };
        self.pause = PAUSE_MIN;
        self.credit = taken.credit.max(1);
        for (piece, size) in pieces.iter().zip(taken.sizes) {
            self.arrived(piece.log, size);
        }
        self.logs.desk.shipped.send_modify(|times| *times += 1);
        true
    }

    /// The leader has so much of a log; or wants nothing of it.
    fn arrived(&self, log: LogId, size: Option<u64>) {
        let mut logs = self.logs.desk.logs();
        let Some(progress) = logs.get_mut(&log) else { return };
        if let Some(size) = size {
            let shipped = size + progress.missing;
            progress.shipped = shipped.min(progress.written);
            let start = self.logs.spool.start(log);
            if shipped < start {
                self.skip(log, progress, (shipped, start));
            }
        }
        if progress.closed && progress.shipped >= progress.written || size.is_none() {
            logs.remove(&log);
            self.logs.spool.remove(log);
        } else {
            self.logs.spool.free(log, progress.shipped, Freed::FullSegments);
        }
    }

    /// Goes on where the log begins on the disk: a leader that lost what it had taken has less than was removed here.
    fn skip(&self, log: LogId, progress: &mut Progress, (shipped, start): (u64, u64)) {
        let lost = start - shipped;
        let mut told = format!("\nwindlass: {lost} bytes of output were lost by the controller\n");
        told.truncate(usize::try_from(lost).unwrap_or(usize::MAX));
        let front = self.logs.spool.put_in_front(log, told.as_bytes()).unwrap_or(start);
        progress.missing += front - shipped;
        progress.shipped = front;
    }
}

#[cfg(test)]
#[path = "shipping_tests.rs"]
mod shipping_tests;
