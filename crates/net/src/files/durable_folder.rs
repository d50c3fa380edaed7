//! Folders that survive a crash.

use std::path::Path;
use std::{fs, io};

use super::private_files;

/// Creates the folder and its parents durably: SQLite syncs its files and their folder, but no parent. Only the owner can use
/// the folder, even if it existed before.
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

/// Makes everything below a folder durable. One call for the file system takes less time than one for each of many files.
#[cfg(target_os = "linux")]
pub fn sync_tree(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(folder)?)?)
}

/// Other systems sync each file.
#[cfg(not(target_os = "linux"))]
pub fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_tree(&entry.path())?;
        } else {
            fs::OpenOptions::new().write(true).open(entry.path())?.sync_all()?;
        }
    }
    sync(folder)
}

/// Makes creations, renames and removals in a folder durable.
#[cfg(unix)]
pub fn sync(folder: &Path) -> io::Result<()> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::File::open(here)?.sync_all()
}

/// Other systems cannot open a folder to sync it.
#[cfg(not(unix))]
pub fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}
