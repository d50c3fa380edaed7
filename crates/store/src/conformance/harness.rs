//! How the checks come to a backend's storage.

use std::sync::Arc;

use crate::archive::Archive;
use crate::journal::Journal;
use crate::logs::LogStore;

/// A journal that is open.
pub type JournalHandle = Arc<dyn Journal>;

/// Makes new, empty storage.
pub type FreshStorage<'a, S = dyn Journal> = dyn Fn() -> Box<dyn StorageHarness<S>> + 'a;

/// One storage, of journals unless another store is named, and the ways to come to it. A function that opens a handle is
/// one.
pub trait StorageHarness<S: ?Sized = dyn Journal> {
    /// Opens another handle on the same storage, beside those that are open: another candidate, or the same node after
    /// a restart if no handle is left.
    fn open(&self) -> Arc<S>;

    /// Whether what was written is still there when the last handle has gone.
    fn outlives_its_handles(&self) -> bool {
        true
    }

    /// Whether empty storage takes long to make: what is tried at random is tried less often then.
    fn is_costly(&self) -> bool {
        false
    }

    /// Lets the term of a handle that was dropped without resigning run out, where that takes time. A backend whose
    /// terms end with their process has nothing to do.
    fn let_terms_end(&self) {}
}

impl<S: ?Sized, F: Fn() -> Arc<S>> StorageHarness<S> for F {
    fn open(&self) -> Arc<S> {
        self()
    }
}

/// A store that lives in one process: everybody shares one handle, and it cannot be opened again.
#[derive(Debug)]
pub struct SharedStorage<S: ?Sized = dyn Journal>(Arc<S>);

impl SharedStorage {
    /// The journal alone.
    pub fn new(journal: impl Journal + 'static) -> Self {
        Self(Arc::new(journal))
    }
}

impl SharedStorage<dyn Archive> {
    /// The archive alone.
    pub fn archive(archive: impl Archive + 'static) -> Self {
        Self(Arc::new(archive))
    }
}

impl SharedStorage<dyn LogStore> {
    /// The logs alone.
    pub fn logs(logs: impl LogStore + 'static) -> Self {
        Self(Arc::new(logs))
    }
}

impl<S: ?Sized> SharedStorage<S> {
    /// A store behind a handle.
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
