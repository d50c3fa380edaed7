//! Writes a manifest as a folder: the files are read from the store here, and written by a thread.

use std::path::Path;

use windlass_core::manifest::{EntryKind, Manifest, ManifestPath};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::tree_error::TreeError;
use super::writer_thread::{WriteOrder, WriterThread};
use crate::objects::interface::{BATCH_OBJECTS_MAX, BLOCK, ObjectError, ObjectStore};

/// A file to write.
#[derive(Clone, Debug)]
pub(super) struct FileToWrite {
    pub(super) path: ManifestPath,
    pub(super) executable: bool,
    size: u64,
    id: ObjectId,
}

/// Writes a manifest below a folder, which is created if it is missing. Folders that exist are used; an existing file or link
/// is an error. Files get the time `modified`, or the present one; permissions follow the umask. After an error, what was
/// written stays: the caller removes the folder.
pub async fn materialize_tree(
    store: &dyn ObjectStore,
    manifest: &Manifest,
    folder: &Path,
    modified: Option<Time>,
) -> Result<(), TreeError> {
    let mut writer = WriterThread::start(folder, modified)?;
    let read = send_orders(store, manifest, &mut writer).await;
    // The error of the writer is the cause if both have failed.
    writer.end().await?;
    read
}

/// Links come last: while files are written there is none that windlass has made.
async fn send_orders(
    store: &dyn ObjectStore,
    manifest: &Manifest,
    writer: &mut WriterThread,
) -> Result<(), TreeError> {
    let (mut folders, mut links) = (Vec::new(), Vec::new());
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for entry in manifest.entries() {
        let path = entry.path.clone();
        match &entry.kind {
            EntryKind::Folder => folders.push(path),
            EntryKind::Symlink { target } => links.push((path, target.clone())),
            EntryKind::File { executable, size, object } => {
                let list = if *size <= BLOCK as u64 { &mut small } else { &mut large };
                list.push(FileToWrite { path, executable: *executable, size: *size, id: *object });
            }
        }
    }
    writer.send(WriteOrder::Folders(folders)).await;
    send_small(store, small, writer).await?;
    for file in large {
        send_large(store, file, writer).await?;
    }
    writer.send(WriteOrder::Links(links)).await;
    Ok(())
}

/// Reads the next batch while the thread writes the one before.
async fn send_small(
    store: &dyn ObjectStore,
    mut files: Vec<FileToWrite>,
    writer: &mut WriterThread,
) -> Result<(), TreeError> {
    while !files.is_empty() && !writer.has_failed() {
        let ids = files.iter().take(BATCH_OBJECTS_MAX).map(|file| file.id).collect();
        let bytes = store.get_batch(ids).await?;
        let rest = files.split_off(bytes.len());
        let batch = std::mem::replace(&mut files, rest);
        for (file, bytes) in batch.iter().zip(&bytes) {
            check_size(file, bytes.len() as u64)?;
        }
        writer.send(WriteOrder::Files(batch.into_iter().zip(bytes).collect())).await;
    }
    Ok(())
}

/// Reads a large file, two blocks at a time.
async fn send_large(
    store: &dyn ObjectStore,
    file: FileToWrite,
    writer: &mut WriterThread,
) -> Result<(), TreeError> {
    writer.send(WriteOrder::Begin(file.clone())).await;
    let mut at = 0;
    while at < file.size && !writer.has_failed() {
        let next = at + BLOCK as u64;
        let (first, second) = tokio::join!(
            store.read(file.id, at..file.size),
            read_more(store, file.id, next..file.size)
        );
        let first = first?;
        check_size(&file, first.size)?;
        writer.send(WriteOrder::Block(first.bytes)).await;
        writer.send(WriteOrder::Block(second?)).await;
        at = next + BLOCK as u64;
    }
    Ok(())
}

/// Reads a block that may be behind the end.
async fn read_more(
    store: &dyn ObjectStore,
    id: ObjectId,
    range: std::ops::Range<u64>,
) -> Result<Vec<u8>, ObjectError> {
    if range.is_empty() { Ok(Vec::new()) } else { Ok(store.read(id, range).await?.bytes) }
}

/// A manifest that another machine has made can be wrong about an object.
fn check_size(file: &FileToWrite, size: u64) -> Result<(), TreeError> {
    if size == file.size {
        return Ok(());
    }
    Err(TreeError::OtherSize { path: file.path.to_string(), listed: file.size, size })
}
