//! Tests of logs that are shipped while they are written, to leaders that lose some.

use std::path::PathBuf;
use std::sync::Mutex;

use windlass_core::id::{RunId, StepIx};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::logs::LogStore as _;

use super::super::spool::OutputSpool;
use super::*;
use crate::LinkError;

/// Accepts everything and records the number of pieces in each request.
#[derive(Debug, Default)]
struct ChunkCountingLink(Mutex<Vec<usize>>);

impl OutputLink for ChunkCountingLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        self.0.lock().unwrap().push(pieces.len());
        let end = |piece: &LogChunk| Some(piece.at + piece.bytes.len() as u64);
        let sizes = pieces.iter().map(end).collect();
        Box::pin(async move { Ok(LogChunksReply { sizes, credit: 1 << 20 }) })
    }

    fn fetch(&self, _: LogId, _: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async { Ok(LogPart::default()) })
    }
}

const LOG: LogId = LogId::new(RunId(7), StepIx(0), 1, 1);

/// A leader that accepts everything and can lose the end of what it has.
#[derive(Debug, Default)]
struct ForgetfulLeader(Mutex<Vec<u8>>);

impl ForgetfulLeader {
    fn take(&self, piece: &LogChunk) -> u64 {
        let mut has = self.0.lock().unwrap();
        if piece.at <= has.len() as u64 {
            has.truncate(usize::try_from(piece.at).unwrap());
            has.extend(&piece.bytes);
        }
        has.len() as u64
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl OutputLink for ForgetfulLeader {
    fn ship(&self, pieces: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        let sizes = pieces.iter().map(|piece| Some(self.take(piece))).collect();
        Box::pin(async move { Ok(LogChunksReply { sizes, credit: 1 << 20 }) })
    }

    fn fetch(&self, _: LogId, _: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async { Ok(LogPart::default()) })
    }
}

async fn ship_all(shipping: &mut OutputShipper) {
    loop {
        let pieces = shipping.next_chunks();
        if pieces.is_empty() {
            return;
        }
        shipping.ship(pieces).await;
    }
}

fn open(folder: &tempfile::TempDir) -> (SpooledLogs, OutputShipper, Arc<ForgetfulLeader>) {
    let leader = Arc::new(ForgetfulLeader::default());
    let ships = Arc::clone(&leader) as Arc<dyn OutputLink>;
    let (logs, shipping) = SpooledLogs::open(folder.path().join("logs"), ships).unwrap();
    (logs, shipping, leader)
}

/// Returns the segment of the log that begins at this offset.
fn file_of(folder: &tempfile::TempDir, start: u64) -> PathBuf {
    let LogId { run, step, attempt, delivery, stream } = LOG;
    let name = format!("{run}.{}.{attempt}.{delivery}.{}.{start}.log", step.0, stream.name());
    folder.path().join("logs").join(name)
}

#[tokio::test]
async fn a_long_log_does_not_stay_on_the_disk_once_the_leader_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, mut shipping, leader) = open(&folder);
    for _ in 0..32 {
        logs.append(LOG, 0, vec![b'a'; 256 << 10]).await.unwrap();
        ship_all(&mut shipping).await;
    }
    let files = std::fs::read_dir(folder.path().join("logs")).unwrap();
    let left: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert_eq!(left, 256 << 10, "the segment that is written to stays");
    assert_eq!(leader.text().len(), 8 << 20);
}

#[tokio::test]
async fn leader_that_lost_log_bytes_is_told_of_the_gap_and_receives_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, mut shipping, leader) = open(&folder);
    logs.append(LOG, 0, vec![b'a'; 256 << 10]).await.unwrap();
    logs.append(LOG, 0, b"b".to_vec()).await.unwrap();
    ship_all(&mut shipping).await;
    leader.0.lock().unwrap().truncate(1_000);
    logs.append(LOG, 0, b"c\n".to_vec()).await.unwrap();
    ship_all(&mut shipping).await;
    logs.append(LOG, 0, b"d\n".to_vec()).await.unwrap();
    ship_all(&mut shipping).await;
    let lost = (256 << 10) - 1_000;
    let notice = format!("\nwindlass: {lost} bytes of output were lost by the controller\nbc\nd\n");
    assert_eq!(leader.text()[1_000..], notice);
    assert_eq!(logs.unsent(), None);
}

#[tokio::test]
async fn lost_log_bytes_are_reported_once_and_none_are_resent_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, mut shipping, leader) = open(&folder);
    logs.append(LOG, 0, vec![b'a'; 256 << 10]).await.unwrap();
    logs.append(LOG, 0, b"b".to_vec()).await.unwrap();
    ship_all(&mut shipping).await;
    leader.0.lock().unwrap().truncate(1_000);
    logs.append(LOG, 0, b"c\n".to_vec()).await.unwrap();
    ship_all(&mut shipping).await;
    let notice = leader.text();
    assert_eq!(notice.matches("were lost").count(), 1);
    drop((logs, shipping));
    let ships = Arc::clone(&leader) as Arc<dyn OutputLink>;
    let (logs, mut shipping) = SpooledLogs::open(folder.path().join("logs"), ships).unwrap();
    ship_all(&mut shipping).await;
    assert_eq!(leader.text(), notice);
    assert_eq!(logs.unsent(), None);
    let left = std::fs::read_dir(folder.path().join("logs")).unwrap().count();
    assert_eq!(left, 0, "the note about it is removed with the log");
}

#[tokio::test(start_paused = true)]
async fn output_that_cannot_be_read_for_a_while_is_shipped_later() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, shipping, leader) = open(&folder);
    logs.append(LOG, 0, b"kept\n".to_vec()).await.unwrap();
    // A link to itself fails for every user, including root, and with another error than a missing file.
    let file = file_of(&folder, 0);
    let away = folder.path().join("away");
    std::fs::rename(&file, &away).unwrap();
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let (sender, shutdown) = ShutdownSender::new();
    let shipping = tokio::spawn(shipping.run(shutdown));
    sleep(Duration::from_mins(1)).await;
    assert_eq!((leader.text(), logs.state.waiting()), (String::new(), 5));
    std::fs::rename(&away, &file).unwrap();
    sleep(PAUSE_MAX).await;
    assert_eq!((leader.text().as_str(), logs.unsent()), ("kept\n", None));
    sender.shut_down();
    shipping.await.unwrap();
}

#[tokio::test]
async fn output_missing_from_disk_is_reported_and_the_rest_is_shipped() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, mut shipping, leader) = open(&folder);
    logs.append(LOG, 0, vec![b'a'; 256 << 10]).await.unwrap();
    logs.append(LOG, 0, b"b".to_vec()).await.unwrap();
    std::fs::remove_file(file_of(&folder, 0)).unwrap();
    ship_all(&mut shipping).await;
    ship_all(&mut shipping).await;
    let lost =
        |bytes| format!("\nwindlass: {bytes} bytes of output were lost on the worker's disk\n");
    assert_eq!(leader.text(), format!("{}b", lost(256 << 10)));
    let before = logs.append(LOG, 0, vec![b'c'; 200]).await.unwrap() - 200;
    let files = std::fs::read_dir(folder.path().join("logs")).unwrap();
    files.for_each(|file| std::fs::remove_file(file.unwrap().path()).unwrap());
    ship_all(&mut shipping).await;
    logs.append(LOG, 0, b"d".to_vec()).await.unwrap();
    logs.await_shipped(LOG, "").await;
    ship_all(&mut shipping).await;
    assert_eq!(before, (256 << 10) + 1);
    assert_eq!(leader.text(), format!("{}b{}d", lost(256 << 10), lost(200)));
    assert!(logs.state.logs().is_empty() && logs.unsent().is_none());
}

#[tokio::test]
async fn last_line_of_a_log_on_a_full_disk_reaches_the_leader() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, mut shipping, leader) = open(&folder);
    logs.append(LOG, 0, b"some\n".to_vec()).await.unwrap();
    logs.await_shipped(LOG, "no room\n").await;
    ship_all(&mut shipping).await;
    assert_eq!(leader.text(), "some\nno room\n");
    assert!(logs.state.logs().is_empty(), "nothing is kept of it");
}

#[tokio::test]
async fn no_request_has_more_pieces_than_the_leader_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, _) = OutputSpool::open(folder.path().join("logs")).unwrap();
    let count = LOG_CHUNKS_MAX + 500;
    for step in 0..count {
        let step = StepIx(u32::try_from(step).unwrap());
        spool.append(LogId::new(RunId(7), step, 1, 1), b"x").unwrap();
    }
    let link = Arc::new(ChunkCountingLink::default());
    let ships = Arc::clone(&link) as Arc<dyn OutputLink>;
    let (_, shipping) = SpooledLogs::open(folder.path().join("logs"), ships).unwrap();
    let (sender, shutdown) = ShutdownSender::new();
    sender.shut_down();
    shipping.run(shutdown).await;
    assert_eq!(*link.0.lock().unwrap(), [LOG_CHUNKS_MAX, 500]);
}

/// A leader that cannot accept output now, and never says that it is pointless to try again.
#[derive(Debug)]
struct FullLeader;

impl OutputLink for FullLeader {
    fn ship(&self, _: Vec<LogChunk>) -> LinkFuture<'_, LogChunksReply> {
        let (place, reason) = ("here".to_owned(), "no space left".to_owned());
        Box::pin(async { Err(LinkError::Unreachable { place, reason }) })
    }

    fn fetch(&self, _: LogId, _: u64) -> LinkFuture<'_, LogPart> {
        Box::pin(async { Ok(LogPart::default()) })
    }
}

#[tokio::test(start_paused = true)]
async fn shipping_ends_after_a_shutdown_however_many_tries_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, shipping) =
        SpooledLogs::open(folder.path().join("logs"), Arc::new(FullLeader)).unwrap();
    logs.append(LOG, 0, b"kept\n".to_vec()).await.unwrap();
    let (sender, shutdown) = ShutdownSender::new();
    let shipping = tokio::spawn(shipping.run(shutdown));
    sleep(Duration::from_mins(1)).await;
    sender.shut_down();
    let ended = tokio::time::timeout(SHIP_AFTER_SHUTDOWN + PAUSE_MAX, shipping).await;
    ended.expect("it ends in time").unwrap();
    assert!(logs.unsent().is_some(), "the output stays in the spool");
}
