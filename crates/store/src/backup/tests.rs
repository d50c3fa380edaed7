//! A backup is refused if any byte of it was changed.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{
    BackupCounts, BackupError, BackupManifest, BackupPart, BackupSource, complete_backup,
    verify_backup,
};
use crate::archive::SqliteArchive;
use crate::db::StoreError;
use crate::journal::SqliteJournal;

const CLOCK: crate::db::NowFn = || windlass_core::time::Time::from_millis(7);

/// A small backup with a file in each part, and its manifest.
fn backup() -> (TempDir, BackupManifest) {
    let folder = tempfile::tempdir().expect("a folder can be created");
    let path = folder.path();
    drop(SqliteJournal::open(path, CLOCK).expect("it opens"));
    drop(SqliteArchive::open(path).expect("it opens"));
    for (file, text) in [
        ("cluster", "7f"),
        ("logs/11/7.1.2.log", "hello\n"),
        ("logs/11/8.1.1.log", ""),
        ("objects/packs/ab.pack", "pack"),
        ("objects/lock", ""),
        ("head", "old"),
        ("workers/1/lives", "3"),
    ] {
        let file = path.join(file);
        fs::create_dir_all(file.parent().expect("it has one")).expect("it can be created");
        fs::write(file, text).expect("it can be written");
    }
    let counts = BackupCounts { logs: 2, log_bytes: 6, ..BackupCounts::default() };
    let begun = "2026-11-20T03:00:00Z".to_owned();
    let manifest = BackupManifest::new(BackupSource::Folder, begun, "0.1.0", (3, counts));
    let manifest = complete_backup(path, manifest).expect("it can be completed");
    (folder, manifest)
}

fn findings(folder: &Path) -> Vec<String> {
    match verify_backup(folder) {
        Ok(_) => Vec::new(),
        Err(BackupError::Damaged { findings, .. }) => findings,
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn whole_backup_is_read_as_it_was_written() {
    let (folder, manifest) = backup();
    assert_eq!(verify_backup(folder.path()), Ok(manifest.clone()));
    let files = BackupPart::ALL.map(|part| manifest.parts.part(part).files);
    assert_eq!(files, [2, 1, 2, 1]);
    for file in ["head", "workers/1/lives", "objects/lock", "journal.db-wal"] {
        assert!(!folder.path().join(file).exists(), "{file}");
    }
}

#[test]
fn every_flipped_bit_is_found_in_its_part() {
    let (folder, _) = backup();
    for (file, part) in [
        ("journal.db", "journal: journal.db does not match its hash"),
        ("cluster", "journal: cluster does not match its hash"),
        ("archive.db", "archive: archive.db does not match its hash"),
        ("logs/11/7.1.2.log", "logs: logs/11/7.1.2.log does not match its hash"),
        ("objects/packs/ab.pack", "objects: objects/packs/ab.pack does not match its hash"),
    ] {
        let path = folder.path().join(file);
        let sound = fs::read(&path).unwrap();
        for at in (0..sound.len()).step_by(sound.len().div_ceil(64)) {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, bytes).unwrap();
            assert_eq!(findings(folder.path()), [part], "byte {at}");
        }
        fs::write(path, sound).unwrap();
    }
    assert_eq!(findings(folder.path()), [""; 0]);
}

#[test]
fn every_flipped_bit_of_the_manifest_and_of_the_list_is_found() {
    let (folder, _) = backup();
    for file in ["backup.json", "backup.files"] {
        let path = folder.path().join(file);
        let sound = fs::read(&path).unwrap();
        for at in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&path, bytes).unwrap();
            assert_ne!(findings(folder.path()), [""; 0], "{file}: byte {at}");
        }
        fs::write(path, sound).unwrap();
    }
}

#[test]
fn missing_and_added_files_are_found() {
    let (folder, _) = backup();
    let path = folder.path();
    fs::write(path.join("journal.db-wal"), "pages").unwrap();
    fs::write(path.join("notes.txt"), "theirs").unwrap();
    fs::remove_file(path.join("logs/11/8.1.1.log")).unwrap();
    let found =
        ["journal: journal.db-wal does not belong to it", "logs: logs/11/8.1.1.log is missing"];
    assert_eq!(findings(path), found);
}

#[test]
fn backup_of_a_newer_windlass_and_a_folder_without_a_manifest_are_refused_by_name() {
    let (folder, _) = backup();
    let path = folder.path().join("backup.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"version\": 1", "\"version\": 2")).unwrap();
    let newer = verify_backup(folder.path());
    assert!(
        matches!(newer, Err(BackupError::Store(StoreError::Newer { found: 2, known: 1, .. }))),
        "{newer:?}"
    );
    fs::remove_file(path).unwrap();
    let missing = verify_backup(folder.path());
    assert!(matches!(missing, Err(BackupError::Missing { .. })), "{missing:?}");
}
