//! The interface of an object store.

use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;

use windlass_core::object::ObjectId;
use windlass_core::time::Time;

use crate::db::StoreError;

/// The unit of uploads and reads: large enough that a call costs little beside its bytes, small enough that a range of a
/// large object is verified without reading much more.
pub const BLOCK: usize = 1 << 20;

/// Maximum bytes of one call that continues an upload: some blocks, so that a store can compress them at once.
pub const SEND_MAX: usize = 4 * BLOCK;

/// Maximum bytes of a batch.
pub const BATCH_BYTES_MAX: usize = 16 << 20;

/// Maximum objects of a batch, and ids of a call.
pub const BATCH_OBJECTS_MAX: usize = 10_000;

/// Maximum bytes of an object. Beyond it the table of its blocks would be a cost of its own.
pub const OBJECT_BYTES_MAX: u64 = 64 << 30;

/// The result of a call.
pub type ObjectFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ObjectError>> + Send + 'a>>;

/// Bytes of an object, verified.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectPart {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The size of the whole object.
    pub size: u64,
}

/// An object of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// The object.
    pub id: ObjectId,
    /// Its size.
    pub size: u64,
    /// When it was last stored, stored again or reported as present, at most a minute too early.
    pub touched: Time,
}

/// The result of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovedObjects {
    /// The number of removed objects.
    pub objects: u64,
    /// Their size.
    pub bytes: u64,
}

/// Transfers objects. What a call has stored is durable when it returns, and every byte that a call returns was compared with
/// the hash of its object.
///
/// A caller sends an object in three steps: it asks which objects are [missing](Self::missing), sends small ones in
/// [batches](Self::put_batch) and large ones in [blocks](Self::append), and then names them where a sweep sees it.
pub trait ObjectStore: Send + Sync + fmt::Debug {
    /// Returns the objects that are not in the store, of at most [`BATCH_OBJECTS_MAX`]. The others are *touched*: no sweep
    /// that has not begun yet removes them within its grace period.
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>>;

    /// Stores objects of at most [`BLOCK`] bytes each: at most [`BATCH_OBJECTS_MAX`], of [`BATCH_BYTES_MAX`] bytes together.
    /// Bytes that are not those of their id are refused with [`ObjectError::Mismatch`], and then nothing is stored. Objects
    /// that are there already are touched.
    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()>;

    /// Returns objects of at most [`BLOCK`] bytes each, in the order of the ids: as many of the first ones as have
    /// [`BATCH_BYTES_MAX`] bytes together, and at least one.
    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>>;

    /// Returns the verified size of an unfinished upload, which can continue there, after a crash too; 0 if there is none.
    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64>;

    /// Continues an upload at `at`, a multiple of [`BLOCK`], with at most [`SEND_MAX`] bytes, and returns the new size. All
    /// blocks but the last of the object are whole. Bytes that are there already are not written again, so a sender without
    /// an answer can resend, and two senders of one object share its upload. Bytes after a gap are refused with
    /// [`ObjectError::Offset`]. Readers do not see an upload before it is finished.
    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64>;

    /// Publishes an upload of this size; an object that is there already is touched. If the bytes are not those of the id,
    /// the upload is removed.
    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()>;

    /// Reads bytes of a range, at most to the end of the block in which it begins; bytes beyond the end are left out.
    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart>;
}

/// Lists and removes the objects of a store, for sweeps and checks. Only a process with the storage at hand does that: a client
/// over the network has an [`ObjectStore`].
pub trait ObjectInventory: ObjectStore {
    /// Returns at most `limit` objects after `after`, in the order of their ids.
    fn list(&self, after: Option<ObjectId>, limit: usize) -> ObjectFuture<'_, Vec<StoredObject>>;

    /// Removes those of the objects that were not touched at `untouched_since` or later, and unfinished uploads that were
    /// not continued since. The comparison and the removal are one: a touch in between is seen. A store can keep objects
    /// whose removal would cost more than their space, and remove them with others later.
    fn remove(&self, ids: Vec<ObjectId>, untouched_since: Time)
    -> ObjectFuture<'_, RemovedObjects>;

    /// Returns the time of the clock by which objects are touched.
    fn clock(&self) -> ObjectFuture<'_, Time>;
}

/// An error of an object store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The object is not in the store.
    #[error("the object {id} is not in the store {place}: run the step that made it again")]
    Missing {
        /// The object.
        id: ObjectId,
        /// The address of the store.
        place: String,
    },
    /// The stored bytes are not those of the object.
    #[error(
        "the object {id} is damaged in {place}: {reason}; it was set aside, and is stored again when the step that made it runs again"
    )]
    Corrupt {
        /// The object.
        id: ObjectId,
        /// The file, or the address of the store.
        place: String,
        /// The damage.
        reason: String,
    },
    /// The sent bytes are those of another object.
    #[error(
        "the bytes sent as object {id} are those of {found}: the file changed meanwhile, or the connection changed it; send it again"
    )]
    Mismatch {
        /// The announced object.
        id: ObjectId,
        /// The object of the bytes.
        found: ObjectId,
    },
    /// An upload is not at this offset.
    #[error("the upload of object {id} continues at byte {expected}, not at {at}")]
    Offset {
        /// The object.
        id: ObjectId,
        /// The offset of the call.
        at: u64,
        /// The size of the upload.
        expected: u64,
    },
    /// A call exceeds a limit.
    #[error("{0}")]
    Limit(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Checks the limits of a batch, and that its bytes are those of its ids. Every backend uses this rule.
pub fn check_batch(objects: &[(ObjectId, Vec<u8>)]) -> Result<(), ObjectError> {
    check_count(objects.len())?;
    let bytes: usize = objects.iter().map(|(_, bytes)| bytes.len()).sum();
    if bytes > BATCH_BYTES_MAX {
        let limit = format!("a batch of {bytes} bytes is too large: at most {BATCH_BYTES_MAX}");
        return Err(ObjectError::Limit(limit));
    }
    for (id, bytes) in objects {
        if bytes.len() > BLOCK {
            return Err(too_large(*id, bytes.len() as u64));
        }
        let found = ObjectId::of(bytes);
        if found != *id {
            return Err(ObjectError::Mismatch { id: *id, found });
        }
    }
    Ok(())
}

/// Checks the number of objects of a call.
pub fn check_count(count: usize) -> Result<(), ObjectError> {
    if count > BATCH_OBJECTS_MAX {
        let limit =
            format!("{count} objects in one call are too many: at most {BATCH_OBJECTS_MAX}");
        return Err(ObjectError::Limit(limit));
    }
    Ok(())
}

/// The error for an object that is too large for a batch.
pub(super) fn too_large(id: ObjectId, size: u64) -> ObjectError {
    ObjectError::Limit(format!(
        "the object {id} of {size} bytes is too large for a batch: at most {BLOCK}"
    ))
}

/// Returns whether the bytes of an append are new to an upload of this size. Every backend's append uses this rule.
pub fn is_new_piece(id: ObjectId, size: u64, at: u64, bytes: &[u8]) -> Result<bool, ObjectError> {
    let end = at.saturating_add(bytes.len() as u64);
    if bytes.is_empty() || bytes.len() > SEND_MAX || !at.is_multiple_of(BLOCK as u64) {
        let limit = format!(
            "an upload continues at a multiple of {BLOCK} bytes, with 1 to {SEND_MAX} bytes, not at {at} with {}",
            bytes.len()
        );
        return Err(ObjectError::Limit(limit));
    }
    if end > OBJECT_BYTES_MAX {
        let limit = format!("the object {id} is too large: at most {OBJECT_BYTES_MAX} bytes");
        return Err(ObjectError::Limit(limit));
    }
    if end <= size {
        return Ok(false);
    }
    if at == size { Ok(true) } else { Err(ObjectError::Offset { id, at, expected: size }) }
}
