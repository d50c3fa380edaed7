//! Small files that are complete or absent, also after a crash.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use windlass_net::files::{durable_folder, private_files};

use super::directory::StateDirectoryError;

/// Returns the bytes of a file, if there is one.
pub(super) fn read(file: &Path) -> Result<Option<Vec<u8>>, StateDirectoryError> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StateDirectoryError::unusable(file, &error)),
    }
}

/// Writes a file that only its owner may read. On failure the file stays as it was.
pub(super) fn write(file: &Path, bytes: &[u8]) -> Result<(), StateDirectoryError> {
    replace(file, bytes).map_err(|error| StateDirectoryError::unusable(file, &error))
}

/// Removes a file. A missing file is not an error.
pub(super) fn remove(file: &Path) {
    drop(fs::remove_file(file));
}

fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = file.with_extension("unfinished");
    // A file that a crash left may have other permissions.
    remove(&unfinished);
    let mut writing =
        private_files::open_options().create_new(true).write(true).open(&unfinished)?;
    writing.write_all(bytes)?;
    writing.sync_all()?;
    fs::rename(&unfinished, file)?;
    durable_folder::sync(file.parent().unwrap_or(Path::new("")))
}
