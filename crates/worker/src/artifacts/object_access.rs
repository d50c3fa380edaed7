//! The object store of a worker, or the reason why it has none.

use std::sync::Arc;

use windlass_store::objects::ObjectStore;

/// The object store of a worker, or the reason why its steps cannot use files, and what to do.
#[derive(Clone, Debug)]
pub struct ObjectAccess(Result<Arc<dyn ObjectStore>, Arc<str>>);

impl ObjectAccess {
    /// A store.
    pub const fn to(store: Arc<dyn ObjectStore>) -> Self {
        Self(Ok(store))
    }

    /// No store, for this reason.
    pub fn unavailable(reason: &str) -> Self {
        Self(Err(reason.into()))
    }

    /// A store if there is one, and otherwise the reason.
    pub fn or_unavailable(store: Option<Arc<dyn ObjectStore>>, reason: &str) -> Self {
        store.map_or_else(|| Self::unavailable(reason), Self::to)
    }

    /// Returns the store, or why there is none.
    pub fn store(&self) -> Result<Arc<dyn ObjectStore>, String> {
        self.0.clone().map_err(|reason| reason.to_string())
    }
}
