//! Guarantees of logs as files beyond the conformance suite: changes of the files by others.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use windlass_core::id::{RunId, StepIx};

use super::log_path;
use super::open_files::{OPEN_MAX, OpenLogFiles};
use crate::conformance::block_on as wait;
use crate::db::StoreError;
use crate::logs::{FileLogs, LogId, LogStore};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be created")
}

fn log(step: u32) -> LogId {
    LogId::new(RunId(33), StepIx(step), 1, 2)
}

#[test]
fn log_file_is_plain_text() {
    let folder = folder();
    let logs = FileLogs::open(folder.path()).unwrap();
    wait(logs.append(log(7), 0, b"hello\n".to_vec())).unwrap();
    assert_eq!(fs::read(folder.path().join("logs/11/7.1.2.log")).unwrap(), b"hello\n");
}

#[test]
fn log_write_completes_after_its_future_is_dropped() {
    let folder = folder();
    let logs = FileLogs::open(folder.path()).unwrap();
    drop(logs.append(log(7), 0, b"hello\n".to_vec()));
    drop(logs);
    let logs = FileLogs::open(folder.path()).unwrap();
    assert_eq!(wait(logs.list(log(7).run)), Ok(vec![(log(7), 6)]));
}

#[test]
fn files_of_other_programs_are_kept() {
    let folder = folder();
    let logs = FileLogs::open(folder.path()).unwrap();
    let place = folder.path().join("logs");
    wait(logs.append(log(7), 0, b"a".to_vec())).unwrap();
    fs::create_dir(place.join("lost+found")).unwrap();
    fs::write(place.join("README"), "theirs").unwrap();
    fs::write(place.join("11/notes.txt"), "theirs").unwrap();
    assert_eq!(wait(logs.runs()), Ok(vec![(log(7).run, 1)]));
    assert_eq!(wait(logs.list(log(7).run)), Ok(vec![(log(7), 1)]));
    wait(logs.remove(log(7).run)).unwrap();
    assert!(place.join("README").exists() && !place.join("11").exists());
}

/// Another process may remove the file: the next append must not write to a file without a name.
#[test]
fn log_begins_again_after_its_file_is_removed() {
    let folder = folder();
    let logs = FileLogs::open(folder.path()).unwrap();
    wait(logs.append(log(7), 0, b"abc".to_vec())).unwrap();
    fs::remove_dir_all(folder.path().join("logs")).unwrap();
    assert_eq!(wait(logs.runs()), Ok(Vec::new()));
    let gap = wait(logs.append(log(7), 3, b"d".to_vec()));
    assert!(matches!(gap, Err(StoreError::Gap { .. })), "{gap:?}");
    assert_eq!(wait(logs.append(log(7), 0, b"xy".to_vec())), Ok(2));
    assert_eq!(wait(logs.read(log(7), 0..9)).unwrap().bytes, b"xy");
}

#[test]
fn number_of_open_files_is_bounded() {
    let folder = folder();
    let mut files = OpenLogFiles::new(folder.path().to_owned());
    let all = u32::try_from(OPEN_MAX).unwrap() + 10;
    for step in 0..all {
        assert!(files.get(log(step), true).unwrap().is_some());
        assert!(files.get(log(0), false).unwrap().is_some(), "in use, it stays open");
    }
    assert_eq!(files.count(), OPEN_MAX);
    assert!(files.is_open(log(0)) && files.is_open(log(all - 1)) && !files.is_open(log(1)));
    assert!(files.get(log(all), false).unwrap().is_none(), "one that is not there");
    assert!(!log_path::log_file(folder.path(), log(all)).exists());
}

#[test]
fn path_that_cannot_be_a_folder_is_refused() {
    let folder = folder();
    fs::write(folder.path().join("logs"), "").unwrap();
    let below = folder.path().join("logs/below");
    for place in [folder.path(), Path::new(&below)] {
        let error = FileLogs::open(place).map(drop).unwrap_err();
        assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    }
}
