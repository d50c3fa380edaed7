//! Logs that are shipped while they are written, to leaders that lose some.

use std::sync::Mutex;

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

const LOG: LogId = LogId { run: RunId(7), step: StepIx(0), attempt: 1, delivery: 1 };

/// A leader that takes everything, and can lose the end of what it has.
#[derive(Debug, Default)]
struct Forgetful(Mutex<Vec<u8>>);

impl Forgetful {
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

impl Ships for Forgetful {
    fn ship(&self, pieces: Vec<LogChunk>) -> Carried<'_, LogsTaken> {
        let sizes = pieces.iter().map(|piece| Some(self.take(piece))).collect();
        Box::pin(async move { Ok(LogsTaken { sizes, credit: 1 << 20 }) })
    }

    fn fetch(&self, _: LogId, _: u64) -> Carried<'_, LogPart> {
        Box::pin(async { Ok(LogPart::default()) })
    }
}

async fn ship_all(shipping: &mut Shipping) {
    loop {
        let pieces = shipping.gather();
        if pieces.is_empty() {
            return;
        }
        shipping.ship(pieces).await;
    }
}

fn open(folder: &tempfile::TempDir) -> (ShippedLogs, Shipping, Arc<Forgetful>) {
    let leader = Arc::new(Forgetful::default());
    let ships = Arc::clone(&leader) as Arc<dyn Ships>;
    let (logs, shipping) = ShippedLogs::open(folder.path().join("logs"), ships).unwrap();
    (logs, shipping, leader)
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
async fn a_leader_that_lost_what_it_had_is_told_so_and_gets_the_rest() {
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
    let told = format!("\nwindlass: {lost} bytes of output were lost by the controller\nbc\nd\n");
    assert_eq!(leader.text()[1_000..], told);
    assert_eq!(logs.unsent(), None);
}

#[tokio::test]
async fn the_last_line_of_a_log_without_room_reaches_the_leader_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, mut shipping, leader) = open(&folder);
    logs.append(LOG, 0, b"some\n".to_vec()).await.unwrap();
    logs.settle(LOG, "no room\n").await;
    ship_all(&mut shipping).await;
    assert_eq!(leader.text(), "some\nno room\n");
    assert!(logs.desk.logs().is_empty(), "nothing is kept of it");
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
