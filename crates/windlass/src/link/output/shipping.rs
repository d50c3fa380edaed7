//! What steps print, on its way from a worker to the leader.
//!
//! It is written to the worker's disk first, whence it is shipped, piece by piece, on a connection of its own: a leader
//! that is away costs no output, nor does the worker's death, and neither holds a step up. What the leader has is removed.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use windlass_core::id::RunId;

use super::piece::{LogChunk, LogsTaken, PIECES_MAX};
use super::spool::Spool;
use crate::link::Carried;
use crate::logs::{LogId, LogPart, LogStore, READ_MAX};
use crate::shutdown::Shutdown;
use crate::store::{Promise, StoreError};

/// How long the outcome of a step waits for the last of its output to reach the leader. A leader that is away gets it
/// later.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// Bytes of the first request: the leader's answer says how many it takes next.
const FIRST_CREDIT: usize = 256 << 10;

/// Bytes that wait on the worker's disk. More is refused: the log says that it was cut, the step goes on.
const WAITING_MAX: u64 = 1 << 30;

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
}

/// What is on the disk, and how far it has come.
#[derive(Debug, Default)]
struct Desk {
    logs: Mutex<BTreeMap<LogId, Progress>>,
    news: Notify,
    shipped: watch::Sender<u64>,
}

/// How far a log is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    written: u64,
    shipped: u64,
    /// Nothing more comes.
    closed: bool,
}

impl Desk {
    fn logs(&self) -> MutexGuard<'_, BTreeMap<LogId, Progress>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_shipped(&self, log: LogId) -> bool {
        self.logs().get(&log).is_none_or(|progress| progress.shipped >= progress.written)
    }

    fn waiting(&self) -> u64 {
        self.logs().values().map(|progress| progress.written - progress.shipped).sum()
    }

    /// The rest of a log is gone from the disk: nothing can be shipped for it.
    fn lost(&self, log: LogId) {
        let mut logs = self.logs();
        if let Some(progress) = logs.get_mut(&log) {
            progress.written = progress.shipped;
            if progress.closed {
                logs.remove(&log);
            }
        }
    }
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
        let of_earlier = |(log, written)| (log, Progress { written, shipped: 0, closed: true });
        desk.logs().extend(left.into_iter().map(of_earlier));
        let logs = Self { spool, desk: Arc::new(desk) };
        let shipping = Shipping {
            logs: logs.clone(),
            link,
            credit: FIRST_CREDIT,
            pause: PAUSE_MIN,
            turn: LogId::default(),
        };
        Ok((logs, shipping))
    }

    /// Output that the leader does not have; `None` if there is none.
    pub fn unsent(&self) -> Option<UnsentOutput> {
        let bytes = self.desk.waiting();
        let folder = self.spool.folder().to_owned();
        (bytes > 0).then_some(UnsentOutput { folder, bytes })
    }

    fn failed(&self, error: &io::Error) -> StoreError {
        StoreError::Unavailable { place: format!("{:?}", self.spool), reason: error.to_string() }
    }

    async fn write(&self, log: LogId, bytes: Vec<u8>) -> Result<u64, StoreError> {
        if self.desk.waiting() > WAITING_MAX {
            return Err(StoreError::Full { place: "the worker's logs".to_owned() });
        }
        let spool = self.spool.clone();
        let written = spawn_blocking(move || spool.append(log, &bytes)).await;
        let written = written.map_err(io::Error::other).flatten();
        let written = written.map_err(|error| self.failed(&error))?;
        self.desk.logs().entry(log).or_default().written = written;
        self.desk.news.notify_one();
        Ok(written)
    }

    /// Waits until the leader has all of a log, within reason.
    async fn settle(&self, log: LogId) {
        if let Some(progress) = self.desk.logs().get_mut(&log) {
            progress.closed = true;
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
            self.settle(log).await;
            Ok(())
        })
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
                let bytes = self.logs.spool.read(*log, progress.shipped, room).unwrap_or_default();
                if bytes.is_empty() {
                    self.logs.desk.lost(*log);
                    continue;
                }
                room -= bytes.len();
                self.turn = *log;
                pieces.push(LogChunk { log: *log, at: progress.shipped, bytes });
            }
        }
        pieces
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
        progress.shipped = size.unwrap_or(u64::MAX).min(progress.written);
        if progress.closed && progress.shipped >= progress.written || size.is_none() {
            logs.remove(&log);
            self.logs.spool.remove(log);
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::id::StepIx;

    use super::*;
    use crate::shutdown::ShutdownSender;

    /// Takes everything, and notes how many pieces each request had.
    #[derive(Debug, Default)]
    struct Counting(Mutex<Vec<usize>>);

    impl Ships for Counting {
        fn ship(&self, pieces: Vec<LogChunk>) -> Carried<'_, LogsTaken> {
            self.0.lock().unwrap().push(pieces.len());
            let end = |piece: &LogChunk| Some(piece.at + piece.bytes.len() as u64);
            let sizes = pieces.iter().map(end).collect();
            Box::pin(async move { Ok(LogsTaken { sizes, credit: 1 << 20 }) })
        }

        fn fetch(&self, _: LogId, _: u64) -> Carried<'_, LogPart> {
            Box::pin(async { Ok(LogPart::default()) })
        }
    }

    #[tokio::test]
    async fn no_request_has_more_pieces_than_the_leader_takes() {
        let folder = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(folder.path().join("logs")).unwrap();
        let count = PIECES_MAX + 500;
        for step in 0..count {
            let step = StepIx(u32::try_from(step).unwrap());
            spool.append(LogId { run: RunId(7), step, attempt: 1, delivery: 1 }, b"x").unwrap();
        }
        let link = Arc::new(Counting::default());
        let ships = Arc::clone(&link) as Arc<dyn Ships>;
        let (_, shipping) = ShippedLogs::open(folder.path().join("logs"), ships).unwrap();
        let (sender, shutdown) = ShutdownSender::new();
        sender.shut_down();
        shipping.run(shutdown).await;
        assert_eq!(*link.0.lock().unwrap(), [PIECES_MAX, 500]);
    }
}
