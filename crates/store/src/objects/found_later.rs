//! Object stores that are found or opened when a call needs them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use windlass_core::object::ObjectId;

use super::interface::{ObjectFuture, ObjectPart, ObjectStore};

/// Finds the store that answers a call. Each call asks again, so a store can be opened late, and another one can take its place.
pub trait FindObjects: Send + Sync + fmt::Debug {
    /// The store.
    type Store: ObjectStore + 'static;

    /// Returns the store for a call, or why there is none now.
    fn find_objects(&self) -> ObjectFuture<'_, Arc<Self::Store>>;
}

impl<T: FindObjects> ObjectStore for T {
    fn missing(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<ObjectId>> {
        Box::pin(async move { self.find_objects().await?.missing(ids).await })
    }

    fn put_batch(&self, objects: Vec<(ObjectId, Vec<u8>)>) -> ObjectFuture<'_, ()> {
        Box::pin(async move { self.find_objects().await?.put_batch(objects).await })
    }

    fn get_batch(&self, ids: Vec<ObjectId>) -> ObjectFuture<'_, Vec<Vec<u8>>> {
        Box::pin(async move { self.find_objects().await?.get_batch(ids).await })
    }

    fn uploaded(&self, id: ObjectId) -> ObjectFuture<'_, u64> {
        Box::pin(async move { self.find_objects().await?.uploaded(id).await })
    }

    fn append(&self, id: ObjectId, at: u64, bytes: Vec<u8>) -> ObjectFuture<'_, u64> {
        Box::pin(async move { self.find_objects().await?.append(id, at, bytes).await })
    }

    fn finish(&self, id: ObjectId, size: u64) -> ObjectFuture<'_, ()> {
        Box::pin(async move { self.find_objects().await?.finish(id, size).await })
    }

    fn read(&self, id: ObjectId, range: Range<u64>) -> ObjectFuture<'_, ObjectPart> {
        Box::pin(async move { self.find_objects().await?.read(id, range).await })
    }
}
