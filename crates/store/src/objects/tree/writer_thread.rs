//! The thread that writes a folder: files block, and a future must not.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::{self, Builder};

use tokio::sync::{mpsc, oneshot};
use windlass_core::manifest::ManifestPath;
use windlass_core::time::Time;

use super::folder_handle::FolderHandle;
use super::materialize::FileToWrite;
use super::tree_error::TreeError;
use super::tree_writer::TreeWriter;
use super::walk::thread_count;

/// Orders that wait: each is a block or a batch of up to 16 MiB.
const WAITING_MAX: usize = 1;

/// What the thread writes next.
#[derive(Debug)]
pub(super) enum WriteOrder {
    Folders(Vec<ManifestPath>),
    Files(Vec<(FileToWrite, Vec<u8>)>),
    /// A large file begins; blocks follow.
    Begin(FileToWrite),
    Block(Vec<u8>),
    Links(Vec<(ManifestPath, Box<str>)>),
}

/// A running thread. It ends at the first error, or when this is dropped.
#[derive(Debug)]
pub(super) struct WriterThread {
    orders: mpsc::Sender<WriteOrder>,
    ended: oneshot::Receiver<Result<(), TreeError>>,
}

impl WriterThread {
    pub(super) fn start(folder: &Path, modified: Option<Time>) -> Result<Self, TreeError> {
        let (orders, waiting) = mpsc::channel(WAITING_MAX);
        let (end, ended) = oneshot::channel();
        let folder = folder.to_owned();
        let write = move || drop(end.send(write_all(&folder, modified, waiting)));
        let started = Builder::new().name("tree-writer".to_owned()).spawn(write);
        started.map_err(|error| TreeError::system("start a thread to write", "files", error))?;
        Ok(Self { orders, ended })
    }

    /// Sends an order. After an error of the thread it has no effect; [`end`](Self::end) returns the error.
    pub(super) async fn send(&mut self, order: WriteOrder) {
        drop(self.orders.send(order).await);
    }

    /// Whether the thread has ended with an error.
    pub(super) fn has_failed(&self) -> bool {
        self.orders.is_closed()
    }

    /// Waits until all orders are done, and returns the first error.
    pub(super) async fn end(self) -> Result<(), TreeError> {
        drop(self.orders);
        self.ended.await.expect("the thread does not panic")
    }
}

fn write_all(
    folder: &PathBuf,
    modified: Option<Time>,
    mut orders: mpsc::Receiver<WriteOrder>,
) -> Result<(), TreeError> {
    let created = fs::create_dir_all(folder);
    created.map_err(|error| TreeError::system("create", &folder.display().to_string(), error))?;
    let root = FolderHandle::open_root(folder)?;
    let mut writer = TreeWriter::new(&root, modified);
    let mut large: Option<(ManifestPath, File)> = None;
    while let Some(order) = orders.blocking_recv() {
        if !matches!(order, WriteOrder::Block(_)) {
            end_large(&writer, large.take())?;
        }
        match order {
            WriteOrder::Folders(paths) => {
                paths.iter().try_for_each(|path| writer.create_folder(path))?;
            }
            WriteOrder::Files(files) => write_files(&root, &files, modified)?,
            WriteOrder::Begin(file) => {
                let open = writer.create_file(&file.path, file.executable)?;
                large = Some((file.path, open));
            }
            WriteOrder::Block(bytes) => write_block(large.as_mut(), &bytes)?,
            WriteOrder::Links(links) => {
                let mut links = links.iter();
                links.try_for_each(|(path, target)| writer.create_symlink(path, target))?;
            }
        }
    }
    end_large(&writer, large)
}

fn write_block(large: Option<&mut (ManifestPath, File)>, bytes: &[u8]) -> Result<(), TreeError> {
    let (path, file) = large.expect("a block follows the beginning of its file");
    let written = file.write_all(bytes);
    written.map_err(|error| TreeError::system("write", path.as_str(), error))
}

fn end_large(
    writer: &TreeWriter<'_>,
    large: Option<(ManifestPath, File)>,
) -> Result<(), TreeError> {
    large.map_or(Ok(()), |(path, file)| writer.end_file(&path, &file))
}

/// Writes files in parallel: most of the time of a small file is that of its creation.
fn write_files(
    root: &FolderHandle,
    files: &[(FileToWrite, Vec<u8>)],
    modified: Option<Time>,
) -> Result<(), TreeError> {
    let write = |files: &[(FileToWrite, Vec<u8>)]| {
        let mut writer = TreeWriter::new(root, modified);
        let mut files = files.iter();
        files.try_for_each(|(file, bytes)| writer.write_file(&file.path, file.executable, bytes))
    };
    let each = files.len().div_ceil(thread_count()).max(1);
    thread::scope(|scope| {
        let parts = files.chunks(each);
        let threads: Vec<_> = parts.map(|part| scope.spawn(move || write(part))).collect();
        let written = threads.into_iter().map(|it| it.join().expect("writing does not panic"));
        written.collect()
    })
}
