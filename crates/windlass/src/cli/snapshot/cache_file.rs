//! Where the stat cache of a project is: in its `.windlass`, or in the user's cache folder.

use std::path::{Path, PathBuf};

use windlass_net::files::private_files;
use windlass_store::objects::tree::StatCache;

use crate::cli::project::STORE;

/// The name of the cache in `.windlass`.
const NAME: &str = "snapshot-files";

/// Returns the file of the stat cache of a project; `None` if there is no place for it.
pub(super) fn cache_file(root: &Path, user_cache: Option<&Path>) -> Option<PathBuf> {
    let store = root.join(STORE);
    if store.is_dir() {
        return Some(store.join(NAME));
    }
    let root = root.canonicalize().ok()?;
    let id = blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex();
    Some(user_cache?.join("snapshots").join(&id[..32]))
}

/// Saves a cache. It only saves work, so an error is no reason to fail.
pub(super) fn save_cache(cache: &StatCache, file: &Path) {
    let folder = file.parent().unwrap_or(file);
    let saved = private_files::create_folders(folder).and_then(|()| cache.save(file));
    drop(saved);
}
