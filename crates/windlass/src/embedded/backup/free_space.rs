//! The space that a backup needs.

use std::path::Path;

use super::error::StoreBackupError;
use crate::embedded::transfer::StoreSize;

/// Refuses a backup that does not fit. The size is an estimate, so a backup can still fail for want of space.
pub(super) fn check(folder: &Path, place: &str, size: StoreSize) -> Result<(), StoreBackupError> {
    let (Some(available), needed) = (available(folder), size.bytes) else { return Ok(()) };
    if needed <= available {
        return Ok(());
    }
    Err(StoreBackupError::Space { place: place.to_owned(), needed, available })
}

/// Returns the free space of the file system; `None` if it is not known.
fn available(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}
