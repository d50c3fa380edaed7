//! The conformance suite in a folder.

use std::sync::Arc;

use tempfile::TempDir;

use crate::conformance::{StorageHarness, check_object_store};
use crate::objects::{FolderObjects, ObjectInventory};

/// A folder that is removed with its last handle.
struct TempStorage(TempDir);

impl StorageHarness<dyn ObjectInventory> for TempStorage {
    fn open(&self) -> Arc<dyn ObjectInventory> {
        Arc::new(FolderObjects::open(self.0.path()).expect("a new folder takes objects"))
    }
}

#[test]
fn folder_conforms() {
    check_object_store("folder", || TempStorage(tempfile::tempdir().expect("a folder")));
}
