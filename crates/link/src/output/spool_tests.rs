//! Tests of logs on the disk: what is left after failures, and what is removed.

use super::*;

const LOG: LogId = LogId::new(RunId(77), StepIx(3), 1, 2);

fn files(spool: &OutputSpool) -> usize {
    fs::read_dir(spool.folder()).unwrap().count()
}

#[test]
fn append_that_a_full_disk_cut_short_can_be_repeated() {
    let Some(disk) = windlass_store::conformance::TestDisk::mount("1m") else { return };
    let (spool, _) = OutputSpool::open(disk.path().join("logs")).unwrap();
    spool.append(LOG, b"one ").unwrap();
    assert!(spool.append(LOG, &vec![b'x'; 2 << 20]).is_err(), "it is larger than the disk");
    assert_eq!(spool.append(LOG, b"two").unwrap(), 7);
    assert_eq!(spool.read(LOG, 0, 100).unwrap(), b"one two");
}

#[test]
fn spool_of_an_earlier_incarnation_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let open = || OutputSpool::open(folder.path().join("logs")).unwrap();
    let (spool, left) = open();
    assert!(left.is_empty());
    assert_eq!(spool.append(LOG, b"one ").unwrap(), 4);
    assert_eq!(spool.append(LOG, b"two").unwrap(), 7);
    let (spool, left) = open();
    assert_eq!(left, [(LOG, 0..7)]);
    assert_eq!(spool.read(LOG, 4, 100).unwrap(), b"two");
    assert_eq!(spool.read(LOG, 4, 2).unwrap(), b"tw");
    spool.remove(LOG);
    assert_eq!(spool.read(LOG, 0, 100).unwrap(), b"");
    assert!(open().1.is_empty());
}

#[test]
fn acknowledged_segments_are_removed_while_the_log_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let open = || OutputSpool::open(folder.path().join("logs")).unwrap();
    let (spool, _) = open();
    let half = vec![b'a'; 128 << 10];
    for _ in 0..8 {
        spool.append(LOG, &half).unwrap();
    }
    assert_eq!((files(&spool), spool.start(LOG)), (4, 0));
    assert_eq!(spool.read(LOG, 100, 1 << 20).unwrap().len(), (1 << 20) - 100);
    spool.free(LOG, (512 << 10) + 1, SpoolFreeScope::FullSegments);
    assert_eq!((files(&spool), spool.start(LOG)), (2, 512 << 10));
    assert_eq!(spool.read(LOG, 0, 9).unwrap(), b"", "it is gone");
    let end = spool.append(LOG, b"the end").unwrap();
    assert_eq!(end, (1 << 20) + 7);
    let (spool, left) = open();
    assert_eq!(left, [(LOG, (512 << 10)..end)]);
    assert_eq!(spool.read(LOG, 1 << 20, 99).unwrap(), b"the end");
    spool.free(LOG, end, SpoolFreeScope::Everything);
    assert_eq!((files(&spool), spool.start(LOG)), (0, end));
    assert_eq!(spool.append(LOG, b"!").unwrap(), end + 1, "it goes on where it was");
    assert_eq!(spool.read(LOG, end, 9).unwrap(), b"!");
}

#[test]
fn segments_after_one_that_a_power_failure_cut_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let open = || OutputSpool::open(folder.path().join("logs")).unwrap();
    let (spool, _) = open();
    for _ in 0..3 {
        spool.append(LOG, &vec![b'a'; 256 << 10]).unwrap();
    }
    let second = File::options().write(true).open(spool.file(LOG, 256 << 10)).unwrap();
    second.set_len(10).unwrap();
    let (spool, left) = open();
    assert_eq!(left, [(LOG, 0..(256 << 10) + 10)]);
    assert_eq!((files(&spool), spool.read(LOG, 0, 1 << 20).unwrap().len()), (2, (256 << 10) + 10));
}
