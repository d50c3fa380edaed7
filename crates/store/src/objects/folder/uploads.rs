//! The open uploads of this process, and the calls on them.

use std::cmp::Ordering;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::object::ObjectId;

use super::layout::{ObjectLayout, remove_file};
use super::store::ObjectFolder;
use super::upload::{FinishedUpload, Upload, UploadGuard};
use crate::objects::interface::{ObjectError, is_new_piece};

/// Maximum open uploads. Beyond it the one that was opened first is closed; when it continues, its blocks are verified again.
const OPEN_MAX: usize = 32;

/// How often an upload is opened again because another process has published or removed it at this moment.
const OPENED_MAX: usize = 4;

/// The open uploads of this process.
#[derive(Debug, Default)]
pub(super) struct OpenUploads(Mutex<Vec<(ObjectId, Arc<Mutex<Upload>>)>>);

impl OpenUploads {
    /// Runs a call on an upload, which is created if it is to begin. `None` if there is none.
    fn with<T>(
        &self,
        layout: &ObjectLayout,
        (id, begins): (ObjectId, bool),
        mut call: impl FnMut(UploadGuard<'_>) -> T,
    ) -> io::Result<Option<T>> {
        for _ in 0..OPENED_MAX {
            let Some(upload) = self.open(layout, id, begins)? else { return Ok(None) };
            let mut upload = upload.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(guard) = upload.lock(&layout.upload(id))? {
                return Ok(Some(call(guard)));
            }
            self.close(id);
        }
        Err(io::Error::other("other processes begin and remove the same upload: try again"))
    }

    fn open(
        &self,
        layout: &ObjectLayout,
        id: ObjectId,
        begins: bool,
    ) -> io::Result<Option<Arc<Mutex<Upload>>>> {
        let mut open = self.list();
        if let Some((_, upload)) = open.iter().find(|(known, _)| *known == id) {
            return Ok(Some(Arc::clone(upload)));
        }
        let Some(upload) = Upload::open(layout, id, begins)? else { return Ok(None) };
        let upload = Arc::new(Mutex::new(upload));
        if open.len() == OPEN_MAX {
            open.remove(0);
        }
        open.push((id, Arc::clone(&upload)));
        Ok(Some(upload))
    }

    fn close(&self, id: ObjectId) {
        self.list().retain(|(known, _)| *known != id);
    }

    fn list(&self) -> MutexGuard<'_, Vec<(ObjectId, Arc<Mutex<Upload>>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObjectFolder {
    /// See [`ObjectStore::uploaded`](crate::objects::ObjectStore::uploaded).
    pub(super) fn uploaded(&self, id: ObjectId) -> Result<u64, ObjectError> {
        let size = self.uploads.with(&self.layout, (id, false), |upload| upload.size());
        Ok(size.map_err(|error| self.failed(&error))?.unwrap_or_default())
    }

    /// See [`ObjectStore::append`](crate::objects::ObjectStore::append).
    pub(super) fn append(&self, id: ObjectId, at: u64, bytes: &[u8]) -> Result<u64, ObjectError> {
        // An append that is refused must not begin an upload.
        is_new_piece(id, at, at, bytes)?;
        let append = |mut upload: UploadGuard<'_>| {
            if is_new_piece(id, upload.size(), at, bytes)? {
                upload.append(bytes).map_err(|error| self.failed(&error))?;
            }
            Ok(upload.size())
        };
        let appended = self.uploads.with(&self.layout, (id, at == 0), append);
        let missing = Err(ObjectError::Offset { id, at, expected: 0 });
        appended.map_err(|error| self.failed(&error))?.unwrap_or(missing)
    }

    /// See [`ObjectStore::finish`](crate::objects::ObjectStore::finish).
    pub(super) fn finish(&self, id: ObjectId, size: u64) -> Result<(), ObjectError> {
        if self.missing(&[id])?.is_empty() {
            return self.remove_upload(id);
        }
        let finish = |upload: UploadGuard<'_>| {
            match upload.size().cmp(&size) {
                Ordering::Less => Ok(Err(upload.size())),
                Ordering::Equal => upload.finish(&self.layout, id).map(Ok),
                // It can never become the object.
                Ordering::Greater => Ok(Ok(FinishedUpload::TooLong)),
            }
        };
        let finished = self.uploads.with(&self.layout, (id, false), finish);
        let finished = finished.and_then(Option::transpose).map_err(|error| self.failed(&error))?;
        let offset = |expected| Err(ObjectError::Offset { id, at: size, expected });
        match finished {
            Some(Ok(FinishedUpload::TooLong)) => self.remove_upload(id).and_then(|()| offset(0)),
            Some(Ok(finished)) => self.conclude(id, finished),
            Some(Err(uploaded)) => offset(uploaded),
            None if size == 0 => self.put_batch(&[(id, Vec::new())]),
            // Another process may have published it since.
            None if self.missing(&[id])?.is_empty() => Ok(()),
            None => offset(0),
        }
    }

    fn conclude(&self, id: ObjectId, finished: FinishedUpload) -> Result<(), ObjectError> {
        match finished {
            FinishedUpload::Published => {
                self.uploads.close(id);
                Ok(())
            }
            FinishedUpload::Small(bytes) => {
                let put = self.put_batch(&[(id, bytes)]);
                self.remove_upload(id)?;
                put
            }
            FinishedUpload::TooLong => self.remove_upload(id),
            FinishedUpload::Other(found) => {
                self.remove_upload(id)?;
                Err(ObjectError::Mismatch { id, found })
            }
        }
    }

    fn remove_upload(&self, id: ObjectId) -> Result<(), ObjectError> {
        self.uploads.close(id);
        let removed = remove_file(&self.layout.upload(id));
        removed.map(drop).map_err(|error| self.failed(&error))
    }
}
