//! Files and folders that only their owner may use, whatever the umask: stores, logs, spools and state hold output, tokens
//! and secrets of workers. A file that others may open could also be locked by them.

#[cfg(unix)]
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::Path;
use std::{fs, io};

/// What others may not do with a file or a folder.
#[cfg(unix)]
const GROUP_AND_OTHERS: u32 = 0o077;

/// Options to open a file; one that is created is for its owner only.
pub fn open_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    options.mode(0o600);
    options
}

/// Writes a whole file. One that is there is written over.
pub fn write(file: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    use std::io::Write as _;
    open_options().write(true).create(true).truncate(true).open(file)?.write_all(bytes.as_ref())
}

/// Makes one folder.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    builder.create(folder)
}

/// Makes a folder and those above it that are missing.
pub fn create_folders(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    builder.mode(0o700);
    builder.recursive(true).create(folder)
}

/// Whether this user owns what is at a path.
#[cfg(unix)]
pub fn is_owned_by_user(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.uid() == rustix::process::geteuid().as_raw())
}

/// Takes the rights of others away from what this user owns. What belongs to another user, such as the root of a mounted
/// volume, stays as it is: what windlass makes in it is private by itself.
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

/// Elsewhere rights are inherited from the folder above.
#[cfg(not(unix))]
pub fn restrict_permissions(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Makes an empty file unless there is one, and never opens one that is there: to close it would take the locks away that
/// this process holds on it.
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
    fn what_others_may_use_is_tightened() {
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
