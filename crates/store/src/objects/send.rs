//! Objects that are sent and read as a whole: manifests.

use windlass_core::manifest::{MANIFEST_BYTES_MAX, Manifest, ManifestFormatError};
use windlass_core::object::ObjectId;

use super::interface::{BLOCK, ObjectError, ObjectStore, SEND_MAX};

/// How often a sender follows an upload that another sender continues or removes.
const RESENT_MAX: usize = 64;

/// Stores bytes that are in memory, and returns their object.
pub async fn send_bytes(store: &dyn ObjectStore, bytes: Vec<u8>) -> Result<ObjectId, ObjectError> {
    let id = ObjectId::of(&bytes);
    if bytes.len() <= BLOCK {
        store.put_batch(vec![(id, bytes)]).await?;
        return Ok(id);
    }
    if store.missing(vec![id]).await?.is_empty() {
        return Ok(id);
    }
    let size = bytes.len() as u64;
    let mut progress = UploadProgress::begin(store, id, size).await?;
    while progress.at < size {
        let from = usize::try_from(progress.at).expect("it is in memory");
        let to = bytes.len().min(from + SEND_MAX);
        progress.send(store, bytes[from..to].to_vec()).await?;
    }
    store.finish(id, size).await?;
    Ok(id)
}

/// The progress of an upload that another sender can continue too.
#[derive(Debug)]
pub(super) struct UploadProgress {
    id: ObjectId,
    /// The offset at which the upload continues.
    pub(super) at: u64,
    resent: usize,
}

impl UploadProgress {
    /// Continues an upload where it ended.
    pub(super) async fn begin(
        store: &dyn ObjectStore,
        id: ObjectId,
        size: u64,
    ) -> Result<Self, ObjectError> {
        let at = store.uploaded(id).await?;
        Ok(Self { id, at: at.min(size), resent: 0 })
    }

    /// Sends the bytes at the offset. If the upload is elsewhere, the offset becomes its own.
    pub(super) async fn send(
        &mut self,
        store: &dyn ObjectStore,
        bytes: Vec<u8>,
    ) -> Result<(), ObjectError> {
        match store.append(self.id, self.at, bytes).await {
            Err(ObjectError::Offset { expected, .. }) if self.resent < RESENT_MAX => {
                self.at = expected;
                self.resent += 1;
            }
            size => self.at = size?,
        }
        Ok(())
    }
}

/// Reads a manifest. The inner error says that the object is not one.
pub async fn read_manifest(
    store: &dyn ObjectStore,
    id: ObjectId,
) -> Result<Result<Manifest, ManifestFormatError>, ObjectError> {
    let mut bytes = Vec::new();
    loop {
        let part = store.read(id, bytes.len() as u64..u64::MAX).await?;
        let is_first = bytes.is_empty();
        bytes.extend(part.bytes);
        let is_manifest = Manifest::is_encoded(&bytes) && part.size <= MANIFEST_BYTES_MAX as u64;
        if bytes.len() as u64 >= part.size || is_first && !is_manifest {
            return Ok(Manifest::decode(&bytes));
        }
    }
}
