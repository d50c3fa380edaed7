//! The object store in a folder.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::layout::ObjectLayout;
use super::object_threads::ObjectThreads;
use super::pack_index::PackIndex;
use super::reads::OpenObjectFiles;
use super::uploads::OpenUploads;
use crate::db::{StoreError, failure};
use crate::objects::interface::{
    ObjectError, ObjectFuture, ObjectInventory, ObjectPart, ObjectStore, RemovedObjects,
    StoredObject,
};

/// The folder of the objects below that of their store.
pub(super) const FOLDER: &str = "objects";

/// Objects in a folder. Several processes can have them open.
///
/// A call that has begun takes effect even if its future is dropped. Dropping the store waits for calls in progress.
#[derive(Debug)]
pub struct FolderObjects {
    threads: ObjectThreads,
    folder: Arc<ObjectFolder>,
}

/// The state of an open folder, shared by its threads.
#[derive(Debug)]
pub(super) struct ObjectFolder {
    pub(super) layout: ObjectLayout,
    pub(super) place: String,
    pub(super) index: Mutex<PackIndex>,
    pub(super) uploads: OpenUploads,
    pub(super) files: OpenObjectFiles,
}

impl FolderObjects {
    /// Opens the objects of the store in a folder, and creates them if needed: they are in `objects` below it.
    pub fn open(store: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_at(store.as_ref().join(FOLDER))
    }

    /// Opens the objects of a store in an existing folder, which may be read-only. Only calls that read succeed.
    pub fn read(store: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(store.as_ref().join(FOLDER), |root| Ok(ObjectLayout::existing(root)))
    }

    /// Opens the objects in a folder of their own, and creates it if needed.
    pub fn open_at(folder: PathBuf) -> Result<Self, StoreError> {
        Self::open_with(folder, ObjectLayout::create)
    }

    fn open_with(
        folder: PathBuf,
        layout: impl FnOnce(PathBuf) -> io::Result<ObjectLayout>,
    ) -> Result<Self, StoreError> {
        let place = folder.display().to_string();
        let failed = |error| failure::from_io(&place, &error);
        let folder = Arc::new(ObjectFolder {
            layout: layout(folder).map_err(failed)?,
            place: place.clone(),
            index: Mutex::default(),
            uploads: OpenUploads::default(),
            files: OpenObjectFiles::default(),
        });
        let threads = ObjectThreads::start(&folder).map_err(failed)?;
        Ok(Self { threads, folder })
    }

    /// Whether there are objects in a folder, without creating it.
    pub fn exist_in(folder: impl AsRef<Path>) -> bool {
        folder.as_ref().join(FOLDER).is_dir()
    }

    /// Returns the packs that cannot be read, with the reason: their objects are not in the store.
    pub fn unreadable_packs(&self) -> Result<Vec<String>, ObjectError> {
        let index = self.folder.refreshed().map_err(|error| self.folder.failed(&error))?;
        let line = |(name, reason): (&String, &String)| {
            format!("{}: {reason}", self.folder.layout.pack(name).display())
        };
        Ok(index.unreadable().iter().map(line).collect())
    }
}

impl ObjectFolder {
    /// Locks the index. A panic under the lock leaves packs out, which the next refresh finds.
    pub(super) fn index(&self) -> MutexGuard<'_, PackIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the index and reads new packs.
    pub(super) fn refreshed(&self) -> io::Result<MutexGuard<'_, PackIndex>> {
        let mut index = self.index();
        index.refresh(&self.layout)?;
        Ok(index)
    }

    pub(super) fn failed(&self, error: &io::Error) -> ObjectError {
        failure::from_io(&self.place, error).into()
    }
}

impl ObjectStore for FolderObjects {
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>> {
        self.threads.call(move |folder| folder.missing(&ids))
    }

    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()> {
        self.threads.call(move |folder| folder.put_batch(&objects))
    }

    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>> {
        self.threads.call(move |folder| folder.get_batch(&ids))
    }

    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64> {
        self.threads.call(move |folder| folder.uploaded(id))
    }

    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64> {
        self.threads.call(move |folder| folder.append(id, at, &bytes))
    }

    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()> {
        self.threads.call(move |folder| folder.finish(id, size))
    }

    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart> {
        self.threads.call(move |folder| folder.read(id, &range))
    }
}

impl ObjectInventory for FolderObjects {
    fn list(&self, after: Option<ObjectId>, limit: usize) -> ObjectFuture<'_, Vec<StoredObject>> {
        self.threads.call(move |folder| folder.list(after, limit))
    }

    fn remove(&self, ids: Vec<ObjectId>, since: Time) -> ObjectFuture<'_, RemovedObjects> {
        self.threads.call(move |folder| folder.remove(ids, since))
    }

    fn clock(&self) -> ObjectFuture<'_, Time> {
        self.threads.call(|folder| folder.layout.clock().map_err(|error| folder.failed(&error)))
    }
}
