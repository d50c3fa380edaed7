//! The objects of files, in parallel.

use std::io::{self, Read as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use windlass_core::object::ObjectId;

use super::folder_cursor::FolderCursor;
use super::folder_handle::{FolderHandle, file_stamp};
use super::stat_cache::FileStamp;
use super::tree_error::TreeError;
use super::walk::thread_count;

/// Bytes that are read at once: BLAKE3 is fastest with some hundred kilobytes, and each thread has one buffer.
const BUFFER: usize = 256 << 10;

/// How often a file is hashed that changes meanwhile.
const TRIES: usize = 2;

/// A file to hash, and its object once it is known.
#[derive(Debug)]
pub(super) struct HashedFile<'a> {
    pub(super) folder: &'a str,
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    /// The place of the file in the list of its caller.
    pub(super) index: usize,
}

/// The result for a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileHash {
    pub(super) index: usize,
    pub(super) object: ObjectId,
    pub(super) stamp: FileStamp,
}

/// Hashes files. The first error ends the work.
pub(super) fn hash_files(
    root: &FolderHandle,
    files: &[HashedFile<'_>],
) -> Result<Vec<FileHash>, TreeError> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Ok(Vec::with_capacity(files.len())));
    thread::scope(|scope| {
        for _ in 0..thread_count().min(files.len()) {
            scope.spawn(|| {
                let hashed = hash_some(root, files, &next);
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                match (hashed, all.as_mut()) {
                    (Ok(hashed), Ok(all)) => all.extend(hashed),
                    (Err(error), Ok(_)) => *all = Err(error),
                    (_, Err(_)) => {}
                }
            });
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn hash_some(
    root: &FolderHandle,
    files: &[HashedFile<'_>],
    next: &AtomicUsize,
) -> Result<Vec<FileHash>, TreeError> {
    let mut buffer = vec![0; BUFFER];
    let mut hashed = Vec::new();
    let mut folders = FolderCursor::new(root);
    while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
        let hash = folders.at(file.folder).and_then(|folder| hash_file(folder, file, &mut buffer));
        match hash {
            Ok(hash) => hashed.push(hash),
            Err(error) => {
                // The other threads stop after their file.
                next.store(files.len(), Ordering::Relaxed);
                return Err(error);
            }
        }
    }
    Ok(hashed)
}

fn hash_file(
    folder: &FolderHandle,
    file: &HashedFile<'_>,
    buffer: &mut [u8],
) -> Result<FileHash, TreeError> {
    let failed = |error: io::Error| TreeError::system("read", file.path, error);
    for _ in 0..TRIES {
        let mut open = folder.open_file(file.name).map_err(failed)?;
        let before = file_stamp(&open).map_err(failed)?;
        let Some(stamp) = before else { break };
        let mut hasher = blake3::Hasher::new();
        let mut size = 0;
        loop {
            let read = open.read(buffer).map_err(failed)?;
            if read == 0 {
                break;
            }
            hasher.update(&buffer[..read]);
            size += read as u64;
        }
        if size == stamp.size && file_stamp(&open).map_err(failed)? == Some(stamp) {
            let object = ObjectId::new(*hasher.finalize().as_bytes());
            return Ok(FileHash { index: file.index, object, stamp });
        }
    }
    Err(TreeError::Changed { path: file.path.to_owned() })
}
