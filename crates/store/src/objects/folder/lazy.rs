//! Objects in a folder that is opened at the first call: most runs have no files, and need neither folders nor threads.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use tokio::sync::oneshot;
use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use super::store::{FOLDER, FolderObjects};
use crate::db::StoreError;
use crate::db::failure::{self, unavailable};
use crate::objects::found_later::FindObjects;
use crate::objects::interface::{
    ObjectError, ObjectFuture, ObjectInventory, RemovedObjects, StoredObject,
};

/// Objects in a folder that is opened at the first call. A call that cannot open it fails, and the next one tries again.
#[derive(Clone, Debug)]
pub struct LazyObjects {
    folder: Arc<PathBuf>,
    opened: Arc<Mutex<Option<Arc<FolderObjects>>>>,
}

impl LazyObjects {
    /// The objects of the store in a folder.
    pub fn of_store(store: &Path) -> Self {
        Self { folder: Arc::new(store.join(FOLDER)), opened: Arc::default() }
    }

    /// Opens them now. It waits for the disk.
    pub fn open(&self) -> Result<Arc<FolderObjects>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*opened {
            return Ok(Arc::clone(opened));
        }
        let objects = Arc::new(FolderObjects::open_at(self.folder.to_path_buf())?);
        Ok(Arc::clone(opened.insert(objects)))
    }

    /// Opens them on a thread of its own, unless they are open.
    async fn objects(&self) -> Result<Arc<FolderObjects>, ObjectError> {
        if let Ok(opened) = self.opened.try_lock()
            && let Some(opened) = &*opened
        {
            return Ok(Arc::clone(opened));
        }
        let place = self.folder.display().to_string();
        let (answer, answered) = oneshot::channel();
        let lazy = self.clone();
        let open = move || drop(answer.send(lazy.open()));
        let thread = Builder::new().name("objects".to_owned()).spawn(open);
        thread.map_err(|error| failure::from_io(&place, &error))?;
        let ended = |_| unavailable(&place, "the thread that opens it has failed");
        Ok(answered.await.map_err(ended)??)
    }
}

impl FindObjects for LazyObjects {
    type Store = FolderObjects;

    fn find_objects(&self) -> ObjectFuture<'_, Arc<FolderObjects>> {
        Box::pin(self.objects())
    }
}

impl ObjectInventory for LazyObjects {
    fn list(&self, after: Option<ObjectId>, limit: usize) -> ObjectFuture<'_, Vec<StoredObject>> {
        Box::pin(async move { self.objects().await?.list(after, limit).await })
    }

    fn remove(&self, ids: Vec<ObjectId>, since: Time) -> ObjectFuture<'_, RemovedObjects> {
        Box::pin(async move { self.objects().await?.remove(ids, since).await })
    }

    fn clock(&self) -> ObjectFuture<'_, Time> {
        Box::pin(async move { self.objects().await?.clock().await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{block_on, check_object_store};
    use crate::objects::ObjectStore as _;

    #[test]
    fn folder_is_created_by_the_first_call() {
        let store = tempfile::tempdir().unwrap();
        let objects = LazyObjects::of_store(store.path());
        assert!(!FolderObjects::exist_in(store.path()));
        assert_eq!(block_on(objects.uploaded(ObjectId::of(b"a"))), Ok(0));
        assert!(FolderObjects::exist_in(store.path()));
    }

    #[test]
    fn folder_that_cannot_be_opened_fails_each_call_until_it_can() {
        let store = tempfile::tempdir().unwrap();
        std::fs::write(store.path().join(FOLDER), "a file").unwrap();
        let objects = LazyObjects::of_store(store.path());
        let id = ObjectId::of(b"a");
        assert!(matches!(block_on(objects.uploaded(id)), Err(ObjectError::Store(_))));
        std::fs::remove_file(store.path().join(FOLDER)).unwrap();
        assert_eq!(block_on(objects.uploaded(id)), Ok(0));
    }

    #[test]
    fn folder_that_is_opened_late_conforms() {
        check_object_store("lazy", || {
            let folder = tempfile::tempdir().expect("a folder");
            move || -> Arc<dyn ObjectInventory> { Arc::new(LazyObjects::of_store(folder.path())) }
        });
    }
}
