//! The access of checks to the storage of a backend.

use std::sync::Arc;

use crate::archive::Archive;
use crate::journal::Journal;
use crate::logs::LogStore;
use crate::objects::ObjectInventory;

/// An open journal.
pub type JournalHandle = Arc<dyn Journal>;

/// Creates new, empty storage.
pub type FreshStorage<'a, S = dyn Journal> = dyn Fn() -> Box<dyn StorageHarness<S>> + 'a;

/// The storage of a kind of store (default: journals), and its handles. A function that opens a handle
/// implements it.
pub trait StorageHarness<S: ?Sized = dyn Journal> {
    /// Opens another handle on the same storage: another candidate, or the same node after a restart if all other
    /// handles are closed.
    fn open(&self) -> Arc<S>;

    /// Whether the content remains after the last handle is closed.
    fn outlives_its_handles(&self) -> bool {
        true
    }

    /// Whether creating empty storage is slow; if so, random checks run fewer sequences.
    fn is_costly(&self) -> bool {
        false
    }

    /// Waits until the term of a handle that was dropped without resigning has expired. If terms end with their
    /// process, this does nothing.
    fn let_terms_end(&self) {}
}

impl<S: ?Sized, F: Fn() -> Arc<S>> StorageHarness<S> for F {
    fn open(&self) -> Arc<S> {
        self()
    }
}

/// A store within one process: all users share one handle, and it cannot be opened again.
#[derive(Debug)]
pub struct SharedStorage<S: ?Sized = dyn Journal>(Arc<S>);

impl SharedStorage {
    /// Shares a journal.
    pub fn new(journal: impl Journal + 'static) -> Self {
        Self(Arc::new(journal))
    }
}

impl SharedStorage<dyn Archive> {
    /// Shares an archive.
    pub fn archive(archive: impl Archive + 'static) -> Self {
        Self(Arc::new(archive))
    }
}

impl SharedStorage<dyn LogStore> {
    /// Shares a log store.
    pub fn logs(logs: impl LogStore + 'static) -> Self {
        Self(Arc::new(logs))
    }
}

impl SharedStorage<dyn ObjectInventory> {
    /// Shares an object store.
    pub fn objects(objects: impl ObjectInventory + 'static) -> Self {
        Self(Arc::new(objects))
    }
}

impl<S: ?Sized> SharedStorage<S> {
    /// Shares a store behind a handle.
    pub fn of(store: Arc<S>) -> Self {
        Self(store)
    }
}

impl<S: ?Sized> StorageHarness<S> for SharedStorage<S> {
    fn open(&self) -> Arc<S> {
        Arc::clone(&self.0)
    }

    fn outlives_its_handles(&self) -> bool {
        false
    }
}
