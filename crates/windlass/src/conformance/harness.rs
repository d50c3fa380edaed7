//! How the checks come to a backend's storage.

use std::sync::Arc;

use crate::journal::Journal;

/// A journal that is open.
pub type Handle = Arc<dyn Journal>;

/// Makes new, empty storage.
pub type Fresh<'a> = dyn Fn() -> Box<dyn Harness> + 'a;

/// One storage, and the ways to come to it. A function that opens a handle is one.
pub trait Harness {
    /// Opens another handle on the same storage, beside those that are open: another candidate, or the same node after
    /// a restart if no handle is left.
    fn open(&self) -> Handle;

    /// Whether what was written is still there when the last handle has gone.
    fn outlives_its_handles(&self) -> bool {
        true
    }

    /// Lets the term of a handle that was dropped without resigning run out, where that takes time. A backend whose
    /// terms end with their process has nothing to do.
    fn let_terms_end(&self) {}
}

impl<F: Fn() -> Handle> Harness for F {
    fn open(&self) -> Handle {
        self()
    }
}

/// A journal that lives in one process: all candidates share one handle, and it cannot be opened again.
#[derive(Debug)]
pub struct Shared(Handle);

impl Shared {
    /// The journal alone.
    pub fn new(journal: impl Journal + 'static) -> Self {
        Self(Arc::new(journal))
    }
}

impl Harness for Shared {
    fn open(&self) -> Handle {
        Arc::clone(&self.0)
    }

    fn outlives_its_handles(&self) -> bool {
        false
    }
}
