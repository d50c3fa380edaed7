//! Sends the files of a manifest to a store.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::thread;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use windlass_core::manifest::{EntryKind, Manifest, ManifestPath};
use windlass_core::object::ObjectId;

use super::folder_cursor::FolderCursor;
use super::folder_handle::FolderHandle;
use super::tree_error::TreeError;
use crate::objects::interface::{BATCH_OBJECTS_MAX, BLOCK, ObjectError, ObjectStore, SEND_MAX};
use crate::objects::send::{UploadProgress, send_bytes};

/// Bytes of a batch of small files: half of the limit, because up to five are in memory at once.
const BATCH_BYTES: usize = 8 << 20;

/// What was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentTree {
    /// The object of the manifest.
    pub manifest: ObjectId,
    /// The number of files that the store did not have.
    pub objects: usize,
    /// Their size.
    pub bytes: u64,
}

/// The first file with an object.
#[derive(Clone, Debug)]
struct FileToSend {
    id: ObjectId,
    path: ManifestPath,
    size: u64,
}

type FileBatch = Vec<(ObjectId, Vec<u8>)>;

/// Sends the files of a manifest that the store does not have, and then the manifest. A file that has changed since the
/// capture is an error: its manifest describes no moment.
pub async fn send_tree(
    store: &dyn ObjectStore,
    folder: &Path,
    manifest: &Manifest,
) -> Result<SentTree, TreeError> {
    let root = Arc::new(FolderHandle::open_root(folder)?);
    let missing = missing_files(store, manifest).await?;
    let (objects, bytes) = (missing.len(), missing.iter().map(|file| file.size).sum());
    let (small, large): (Vec<FileToSend>, Vec<FileToSend>) =
        missing.into_iter().partition(|file| file.size <= BLOCK as u64);
    let sent = send_small(store, &root, small).await;
    sent.map_err(|error| with_path(error, manifest))?;
    for file in large {
        send_large(store, &root, file).await?;
    }
    let manifest = send_bytes(store, manifest.encode()).await?;
    Ok(SentTree { manifest, objects, bytes })
}

/// Returns one file for each object that the store does not have, in the order of the manifest.
async fn missing_files(
    store: &dyn ObjectStore,
    manifest: &Manifest,
) -> Result<Vec<FileToSend>, ObjectError> {
    let mut first: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for (at, entry) in manifest.entries().iter().enumerate() {
        if let EntryKind::File { object, .. } = &entry.kind {
            first.entry(*object).or_insert(at);
        }
    }
    let ids: Vec<ObjectId> = first.keys().copied().collect();
    let mut places = Vec::new();
    for ids in ids.chunks(BATCH_OBJECTS_MAX) {
        let missing = store.missing(ids.to_vec()).await?;
        places.extend(missing.iter().filter_map(|id| first.get(id).copied()));
    }
    places.sort_unstable();
    let file = |at: usize| {
        let entry = &manifest.entries()[at];
        let EntryKind::File { size, object, .. } = &entry.kind else { return None };
        Some(FileToSend { id: *object, path: entry.path.clone(), size: *size })
    };
    Ok(places.into_iter().filter_map(file).collect())
}

/// Sends small files in batches, two at a time, while a thread reads the next ones.
async fn send_small(
    store: &dyn ObjectStore,
    root: &Arc<FolderHandle>,
    files: Vec<FileToSend>,
) -> Result<(), TreeError> {
    let (sender, mut batches) = channel(1);
    let root = Arc::clone(root);
    spawn_reader(move || read_batches(&root, &files, &sender))?;
    while let Some(first) = batches.recv().await {
        let second = batches.recv().await.unwrap_or_else(|| Ok(FileBatch::new()));
        let (first, second) = (first?, second?);
        let (first, second) = tokio::join!(store.put_batch(first), store.put_batch(second));
        first?;
        second?;
    }
    Ok(())
}

/// Reads files until all are read, one fails, or the receiver is gone.
fn read_batches(
    root: &FolderHandle,
    files: &[FileToSend],
    sender: &Sender<Result<FileBatch, TreeError>>,
) {
    let (mut batch, mut bytes) = (FileBatch::new(), 0);
    let mut folders = FolderCursor::new(root);
    for file in files {
        let read = match read_small(&mut folders, file) {
            Ok(read) => read,
            Err(error) => return drop(sender.blocking_send(Err(error))),
        };
        if bytes + read.len() > BATCH_BYTES || batch.len() == BATCH_OBJECTS_MAX {
            bytes = 0;
            if sender.blocking_send(Ok(std::mem::take(&mut batch))).is_err() {
                return;
            }
        }
        bytes += read.len();
        batch.push((file.id, read));
    }
    if !batch.is_empty() {
        drop(sender.blocking_send(Ok(batch)));
    }
}

fn read_small(folders: &mut FolderCursor<'_>, file: &FileToSend) -> Result<Vec<u8>, TreeError> {
    let path = file.path.as_str();
    let failed = |error: io::Error| TreeError::system("read", path, error);
    let folder = folders.at(file.path.folder().unwrap_or_default())?;
    let open = folder.open_file(file.path.name()).map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(file.size).unwrap_or_default());
    // A file that grows is read a little too far, and then is another object.
    open.take(file.size + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 == file.size { Ok(bytes) } else { Err(changed(path)) }
}

/// Sends a large file in blocks. If another sender has continued its upload, it begins to read anew at that offset.
async fn send_large(
    store: &dyn ObjectStore,
    root: &Arc<FolderHandle>,
    file: FileToSend,
) -> Result<(), TreeError> {
    let path = file.path.as_str().to_owned();
    let mut progress = UploadProgress::begin(store, file.id, file.size).await?;
    while progress.at < file.size {
        let mut blocks = read_blocks(root, &file, progress.at)?;
        let mut expected = progress.at;
        while progress.at == expected
            && let Some(block) = blocks.recv().await
        {
            let block = block?;
            expected += block.len() as u64;
            progress.send(store, block).await?;
        }
    }
    let finished = store.finish(file.id, file.size).await;
    finished.map_err(|error| match error {
        ObjectError::Mismatch { .. } => changed(&path),
        error => error.into(),
    })
}

/// Reads a file from an offset to the end of its size on a thread.
fn read_blocks(
    root: &Arc<FolderHandle>,
    file: &FileToSend,
    at: u64,
) -> Result<Receiver<Result<Vec<u8>, TreeError>>, TreeError> {
    let (sender, blocks) = channel(1);
    let (root, file) = (Arc::clone(root), file.clone());
    spawn_reader(move || {
        if let Err(error) = send_blocks(&root, &file, at, &sender) {
            drop(sender.blocking_send(Err(error)));
        }
    })?;
    Ok(blocks)
}

fn send_blocks(
    root: &FolderHandle,
    file: &FileToSend,
    mut at: u64,
    sender: &Sender<Result<Vec<u8>, TreeError>>,
) -> Result<(), TreeError> {
    let path = file.path.as_str();
    let failed = |error: io::Error| TreeError::system("read", path, error);
    let folder = root.open_below(file.path.folder().unwrap_or_default())?;
    let mut open = folder.open_file(file.path.name()).map_err(failed)?;
    open.seek(SeekFrom::Start(at)).map_err(failed)?;
    while at < file.size {
        let most = usize::try_from(file.size - at).unwrap_or(SEND_MAX).min(SEND_MAX);
        let mut block = vec![0; most];
        open.read_exact(&mut block).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => changed(path),
            _ => failed(error),
        })?;
        at += most as u64;
        if sender.blocking_send(Ok(block)).is_err() {
            break;
        }
    }
    Ok(())
}

fn spawn_reader(read: impl FnOnce() + Send + 'static) -> Result<(), TreeError> {
    let thread = thread::Builder::new().name("tree-reader".to_owned()).spawn(read);
    thread.map(drop).map_err(|error| TreeError::system("start a thread to read", "files", error))
}

/// Names the file whose bytes are not those of its object any more.
fn with_path(error: TreeError, manifest: &Manifest) -> TreeError {
    let TreeError::Object(ObjectError::Mismatch { id, .. }) = &error else { return error };
    let is_file = |kind: &EntryKind| matches!(kind, EntryKind::File { object, .. } if object == id);
    let file = manifest.entries().iter().find(|entry| is_file(&entry.kind));
    file.map_or(error, |entry| changed(entry.path.as_str()))
}

fn changed(path: &str) -> TreeError {
    TreeError::Changed { path: path.to_owned() }
}
