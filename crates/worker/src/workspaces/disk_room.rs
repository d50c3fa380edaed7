//! The space that must stay free on the disk of the workspaces.

use std::path::Path;

use super::workspace_error::WorkspaceError;

/// The default of the space that must stay free: enough for the outputs and logs of the steps that run.
const MIN_FREE: u64 = 5 << 30;

/// A small disk is not blocked: there, a twentieth must stay free.
const MIN_FREE_DIVISOR: u64 = 20;

/// The space on a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskRoom {
    /// The space that this user can still take.
    pub free: u64,
    /// The space that must stay free.
    pub min_free: u64,
}

impl DiskRoom {
    /// Reads the space on the disk of a folder. It blocks.
    pub(super) fn read(folder: &Path, min_free: Option<u64>) -> Result<Self, WorkspaceError> {
        let disk = rustix::fs::statvfs(folder).map_err(|error| {
            WorkspaceError::system("read the free space of", folder, error.into())
        })?;
        let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
        let default = MIN_FREE.min(bytes(disk.f_blocks) / MIN_FREE_DIVISOR);
        Ok(Self { free: bytes(disk.f_bavail), min_free: min_free.unwrap_or(default) })
    }

    /// Returns whether less is free than must stay free.
    pub const fn is_low(&self) -> bool {
        self.free < self.min_free
    }
}
