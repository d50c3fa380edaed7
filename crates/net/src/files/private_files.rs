//! Files and folders that only their owner can use, whatever the umask: stores, logs, spools and state contain output, tokens
//! and worker secrets. If another user could open a file, that user could also lock it.

#[cfg(unix)]
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::{fs, io};

/// The permissions that other users do not get.
#[cfg(unix)]
const GROUP_AND_OTHERS: u32 = 0o077;

/// Returns options to open a file; a new file is private to its owner.
pub fn open_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// Writes a whole file, over an existing one.
pub fn write(file: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    use std::io::Write as _;
    open_options().write(true).create(true).truncate(true).open(file)?.write_all(bytes.as_ref())
}

/// Creates one folder.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder)
}

/// Creates a folder and its missing parents.
pub fn create_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    builder.recursive(true).create(folder)
}

/// Returns whether this user owns the file or folder.
#[cfg(unix)]
pub fn is_owned_by_user(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.uid() == rustix::process::geteuid().as_raw())
}

/// Removes the permissions of other users if this user owns the file. What another user owns, such as the root of a mounted
/// volume, is left alone: what windlass creates in it is private anyway.
#[cfg(unix)]
pub fn restrict_permissions(path: &Path) -> io::Result<()> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    let mode = metadata.permissions().mode();
    if mode & GROUP_AND_OTHERS == 0 || !is_owned_by_user(path) {
        return Ok(());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode & !GROUP_AND_OTHERS & 0o7777))
}

/// On other systems permissions are inherited from the parent.
#[cfg(not(unix))]
pub fn restrict_permissions(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates an empty file unless it exists, and never opens an existing one: closing it would release the locks that this
/// process holds on it.
pub fn create_empty(file: &Path) -> io::Result<()> {
    if file.try_exists()? {
        return restrict_permissions(file);
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = file.with_file_name(format!("{name}.{}.new", crate::random::random_number()));
    drop(open_options().write(true).create_new(true).open(&unfinished)?);
    let linked = fs::hard_link(&unfinished, file);
    fs::remove_file(&unfinished)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    }

    #[test]
    fn permissions_of_other_users_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let (folder, file) = (home.path().join("store"), home.path().join("store/journal.db"));
        create_folder(&folder).unwrap();
        create_empty(&file).unwrap();
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        restrict_permissions(&folder).unwrap();
        create_empty(&file).unwrap();
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
