//! Folders that are still there after a crash.

use std::path::Path;
use std::{fs, io};

use super::private_files;

/// Makes the folder and those above it, durably: SQLite syncs its files and their folder, but nothing above. Only its owner
/// may use it, also if it was there.
pub fn create_durably(folder: &Path) -> io::Result<()> {
    make_missing(folder)?;
    if folder.as_os_str().is_empty() { Ok(()) } else { private_files::restrict_permissions(folder) }
}

fn make_missing(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    make_missing(above)?;
    match private_files::create_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => {
            Err(error)
        }
        _ => sync(above),
    }
}

/// Makes what was created, renamed or removed in a folder durable.
#[cfg(unix)]
pub fn sync(folder: &Path) -> io::Result<()> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::File::open(here)?.sync_all()
}

/// Elsewhere a folder cannot be opened to be synced.
#[cfg(not(unix))]
pub fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}
