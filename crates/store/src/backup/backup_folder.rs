//! The folder of a backup: its completion and its verification.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use windlass_net::files::{durable_folder, private_files};

use super::backup_part::BackupPart;
use super::error::BackupError;
use super::file_list::BackupFileList;
use super::manifest::BackupManifest;
use crate::db::StoreError;
use crate::db::failure::from_io;
use crate::db::sqlite::connection::leave_wal;

const MANIFEST: &str = "backup.json";
const FILES: &str = "backup.files";

/// The file that the writer of a backup locks.
pub const LOCK: &str = "backup.lock";

/// The databases of a store in a folder.
const DATABASES: [&str; 2] = ["journal.db", "archive.db"];

/// Folders of objects that are being written.
const UNUSED: [&str; 3] = ["objects/new", "objects/uploads", "objects/damaged"];

/// Bytes that are read at once.
const READ: usize = 1 << 20;

/// The largest manifest: some hundred bytes.
const MANIFEST_BYTES_MAX: u64 = 1 << 20;

/// Maximum reported damages. A lost disk would list every file.
const FINDINGS_MAX: usize = 100;

/// Whether a folder is a whole backup.
pub fn is_backup(folder: &Path) -> bool {
    folder.join(MANIFEST).exists()
}

/// Makes a backup of a folder with a store, which no process has open: removes the files that a backup does not contain,
/// writes the list of the others and the manifest, and syncs everything.
pub fn complete_backup(
    folder: &Path,
    mut manifest: BackupManifest,
) -> Result<BackupManifest, StoreError> {
    let place = folder.display().to_string();
    for database in DATABASES {
        leave_wal(&folder.join(database), &place)?;
    }
    let mut describe = || -> io::Result<BackupManifest> {
        let list = list_files(folder, &mut manifest)?;
        for part in BackupPart::ALL {
            manifest.parts.part_mut(part).blake3 = list.part_hash(part);
        }
        let manifest = manifest.checked();
        private_files::write(&folder.join(FILES), list.encode())?;
        durable_folder::sync_tree(folder)?;
        // The manifest comes last: what has one is whole.
        private_files::write(&folder.join(MANIFEST), manifest.encode())?;
        File::open(folder.join(MANIFEST))?.sync_all()?;
        durable_folder::sync(folder)?;
        Ok(manifest)
    };
    describe().map_err(|error| from_io(&place, &error))
}

/// Removes the files that a backup does not contain, and hashes and counts the others.
fn list_files(folder: &Path, manifest: &mut BackupManifest) -> io::Result<BackupFileList> {
    let mut list = BackupFileList::default();
    for path in files_below(folder)? {
        let file = folder.join(&path);
        if let Some(part) = BackupPart::of_path(&path) {
            let (hash, bytes) = hash_file(&file)?;
            list.add(&path, hash);
            let summary = manifest.parts.part_mut(part);
            summary.files += 1;
            summary.bytes += bytes;
        } else if path != LOCK {
            fs::remove_file(file)?;
        }
    }
    for unused in UNUSED {
        // A store without objects has none of them.
        drop(fs::remove_dir(folder.join(unused)));
    }
    Ok(list)
}

/// Reads every byte of a backup and compares it with its hash. Reports all damages, up to a limit.
pub fn verify_backup(folder: &Path) -> Result<BackupManifest, BackupError> {
    let place = folder.display().to_string();
    let failed = |error: io::Error| from_io(&place, &error);
    let manifest = match read_limited(&folder.join(MANIFEST), MANIFEST_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::Missing { place });
        }
        bytes => BackupManifest::decode(&bytes.map_err(failed)?, &place)?,
    };
    let mut findings = Vec::new();
    match fs::read(folder.join(FILES)).ok().and_then(|bytes| BackupFileList::decode(&bytes)) {
        None => findings.push(format!("list of files: {FILES} is missing or changed")),
        Some(list) => {
            findings.extend(compare_lists(&manifest, &list));
            findings.extend(compare_files(folder, &list).map_err(failed)?);
        }
    }
    if findings.is_empty() { Ok(manifest) } else { Err(BackupError::Damaged { place, findings }) }
}

/// Compares the list of files with the manifest.
fn compare_lists(manifest: &BackupManifest, list: &BackupFileList) -> Vec<String> {
    let differs = |part: &BackupPart| manifest.parts.part(*part).blake3 != list.part_hash(*part);
    let parts = BackupPart::ALL.into_iter().filter(differs);
    parts.map(|part| format!("{part}: its lines in {FILES} are not those of {MANIFEST}")).collect()
}

/// Compares the files with their list.
fn compare_files(folder: &Path, list: &BackupFileList) -> io::Result<Vec<String>> {
    let mut findings = Vec::new();
    let part_name = |path: &str| BackupPart::of_path(path).map(|part| part.to_string());
    for path in files_below(folder)? {
        if let Some(part) = part_name(&path).filter(|_| list.hash(&path).is_none()) {
            findings.push(format!("{part}: {path} does not belong to it"));
        }
    }
    for path in list.paths() {
        let reason = match hash_file(&folder.join(path)) {
            Ok((hash, _)) if Some(&*hash.to_hex()) == list.hash(path) => continue,
            Ok(_) => "does not match its hash".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        };
        findings.push(format!("{}: {path} {reason}", part_name(path).unwrap_or_default()));
        if findings.len() >= FINDINGS_MAX {
            break;
        }
    }
    Ok(findings)
}

/// Returns the files below a folder in order, as paths with `/`. A link is a file here, and is never followed.
fn files_below(folder: &Path) -> io::Result<Vec<String>> {
    let (mut files, mut folders) = (Vec::new(), vec![String::new()]);
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().ok_or(io::ErrorKind::InvalidData)?;
            let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
            if entry.file_type()?.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Returns the hash and the size of a file; a link is refused.
fn hash_file(path: &Path) -> io::Result<(blake3::Hash, u64)> {
    if fs::symlink_metadata(path)?.file_type().is_symlink() {
        return Err(io::Error::other("it is a link"));
    }
    let (mut file, mut hasher) = (File::open(path)?, blake3::Hasher::new());
    let (mut buffer, mut size) = (vec![0; READ], 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((hasher.finalize(), size)),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                size += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn read_limited(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
