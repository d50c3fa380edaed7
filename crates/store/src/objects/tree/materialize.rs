//! Writes a manifest as a folder.

use std::io::Write as _;
use std::path::Path;
use std::{fs, thread};

use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry};
use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::folder_handle::FolderHandle;
use super::tree_error::TreeError;
use super::tree_writer::TreeWriter;
use super::walk::thread_count;
use crate::objects::interface::{BATCH_OBJECTS_MAX, BLOCK, ObjectError, ObjectStore};

/// A file to write.
#[derive(Clone, Copy, Debug)]
struct FileToWrite<'a> {
    entry: &'a ManifestEntry,
    executable: bool,
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
    let created = fs::create_dir_all(folder);
    created.map_err(|error| TreeError::system("create", &folder.display().to_string(), error))?;
    let root = FolderHandle::open_root(folder)?;
    write_folders(&root, manifest)?;
    let (small, large): (Vec<FileToWrite<'_>>, Vec<FileToWrite<'_>>) =
        files(manifest).partition(|file| file.size <= BLOCK as u64);
    write_small(store, &root, &small, modified).await?;
    let mut writer = TreeWriter::new(&root, modified);
    for file in &large {
        write_large(store, &mut writer, file).await?;
    }
    write_links(&root, manifest)
}

fn files(manifest: &Manifest) -> impl Iterator<Item = FileToWrite<'_>> {
    manifest.entries().iter().filter_map(|entry| match &entry.kind {
        EntryKind::File { executable, size, object } => {
            Some(FileToWrite { entry, executable: *executable, size: *size, id: *object })
        }
        EntryKind::Folder | EntryKind::Symlink { .. } => None,
    })
}

fn write_folders(root: &FolderHandle, manifest: &Manifest) -> Result<(), TreeError> {
    let mut writer = TreeWriter::new(root, None);
    let folders = manifest.entries().iter().filter(|entry| entry.kind == EntryKind::Folder);
    folders.map(|entry| &entry.path).try_for_each(|path| writer.create_folder(path))
}

/// Links come last: while files are written there is none that windlass has made.
fn write_links(root: &FolderHandle, manifest: &Manifest) -> Result<(), TreeError> {
    let mut writer = TreeWriter::new(root, None);
    for ManifestEntry { path, kind } in manifest.entries() {
        if let EntryKind::Symlink { target } = kind {
            writer.create_symlink(path, target)?;
        }
    }
    Ok(())
}

/// Fetches the next batch while threads write the one before.
async fn write_small(
    store: &dyn ObjectStore,
    root: &FolderHandle,
    files: &[FileToWrite<'_>],
    modified: Option<Time>,
) -> Result<(), TreeError> {
    let mut rest = files;
    let mut fetched = fetch(store, rest).await?;
    while !fetched.is_empty() {
        let (batch, after) = rest.split_at(fetched.len());
        rest = after;
        let bytes = std::mem::take(&mut fetched);
        let (next, written) =
            tokio::join!(fetch(store, rest), async { write_batch(root, batch, &bytes, modified) });
        written?;
        fetched = next?;
    }
    Ok(())
}

async fn fetch(
    store: &dyn ObjectStore,
    files: &[FileToWrite<'_>],
) -> Result<Vec<Vec<u8>>, ObjectError> {
    let files = &files[..files.len().min(BATCH_OBJECTS_MAX)];
    if files.is_empty() {
        return Ok(Vec::new());
    }
    store.get_batch(files.iter().map(|file| file.id).collect()).await
}

/// Writes files in parallel: most of the time of a small file is that of its creation.
fn write_batch(
    root: &FolderHandle,
    files: &[FileToWrite<'_>],
    bytes: &[Vec<u8>],
    modified: Option<Time>,
) -> Result<(), TreeError> {
    let each = files.len().div_ceil(thread_count()).max(1);
    let write = |(files, bytes): (&[FileToWrite<'_>], &[Vec<u8>])| {
        let mut writer = TreeWriter::new(root, modified);
        let mut files = files.iter().zip(bytes);
        files.try_for_each(|(file, bytes)| {
            check_size(file, bytes.len() as u64)?;
            writer.write_file(&file.entry.path, file.executable, bytes)
        })
    };
    thread::scope(|scope| {
        let parts = files.chunks(each).zip(bytes.chunks(each));
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || write(part))).collect();
        let written = threads.into_iter().map(|it| it.join().expect("writing does not panic"));
        written.collect()
    })
}

/// Writes a large file, and reads two blocks at a time.
async fn write_large(
    store: &dyn ObjectStore,
    writer: &mut TreeWriter<'_>,
    file: &FileToWrite<'_>,
) -> Result<(), TreeError> {
    let path = &file.entry.path;
    let mut open = writer.create_file(path, file.executable)?;
    let failed = |error| TreeError::system("write", path.as_str(), error);
    let mut at = 0;
    while at < file.size {
        let next = at + BLOCK as u64;
        let (first, second) = tokio::join!(
            store.read(file.id, at..file.size),
            store.read(file.id, next..file.size.max(next))
        );
        for part in [first?, second?] {
            check_size(file, part.size)?;
            open.write_all(&part.bytes).map_err(failed)?;
        }
        at = next + BLOCK as u64;
    }
    writer.end_file(path, &open)
}

/// A manifest that another machine has made can be wrong about an object.
fn check_size(file: &FileToWrite<'_>, size: u64) -> Result<(), TreeError> {
    if size == file.size {
        return Ok(());
    }
    Err(TreeError::OtherSize { path: file.entry.path.to_string(), listed: file.size, size })
}
