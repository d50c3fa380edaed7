//! Files and folders by descriptors: no name is resolved through a link.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, symlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use super::stat_cache::FileStamp;
use super::tree_error::TreeError;

/// An open folder.
#[derive(Debug)]
pub(super) struct FolderHandle(OwnedFd);

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

impl FolderHandle {
    /// Opens the folder that is captured or written. The caller names it, so links on the way to it are followed.
    pub(super) fn open_root(path: &Path) -> Result<Self, TreeError> {
        let opened = openat(CWD, path, FOLDER, Mode::empty());
        let failed = |error| TreeError::system("open", &path.display().to_string(), error);
        opened.map(Self).map_err(failed)
    }

    /// Opens a folder below this one, name by name. The empty path is the folder itself.
    pub(super) fn open_below(&self, path: &str) -> Result<Self, TreeError> {
        let mut names = path.split('/');
        let first = names.next().filter(|name| !name.is_empty()).unwrap_or(".");
        let mut folder = self.open_folder(first, path)?;
        for name in names {
            folder = folder.open_folder(name, path)?;
        }
        Ok(folder)
    }

    /// Opens a folder in this one. `path` is for errors.
    pub(super) fn open_folder(&self, name: impl Arg, path: &str) -> Result<Self, TreeError> {
        match openat(&self.0, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => {
                Err(TreeError::NotAFolder { path: path.to_owned() })
            }
            opened => opened.map(Self).map_err(|error| TreeError::system("open", path, error)),
        }
    }

    /// Opens a file in this folder for reading. A named pipe in its place does not block.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Creates a file in this folder. Its permissions are limited by the umask, as those of every new file.
    pub(super) fn create_file(&self, name: &str, executable: bool) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(if executable { 0o777 } else { 0o666 });
        Ok(File::from(openat(&self.0, name, flags, mode)?))
    }

    /// Creates a folder in this one; an existing one is no error.
    pub(super) fn create_folder(&self, name: &str) -> io::Result<()> {
        match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) => Ok(()),
            created => Ok(created?),
        }
    }

    /// Creates a symbolic link in this folder.
    pub(super) fn create_symlink(&self, name: &str, target: &str) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

/// Joins the path of a folder, which is empty for the root, and a name.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        return name.to_owned();
    }
    // Without the machinery of `format!`, which is a tenth of a walk.
    [folder, "/", name].concat()
}

/// Returns the stamp of an open file; `None` if it is not a plain file.
pub(super) fn file_stamp(file: &File) -> io::Result<Option<FileStamp>> {
    let stat = fstat(file)?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    Ok(is_file.then(|| stamp(&stat)))
}

pub(super) fn stamp(stat: &Stat) -> FileStamp {
    let nanos = |secs: i64, nanos: u64| {
        let nanos = i64::try_from(nanos).unwrap_or_default();
        secs.saturating_mul(1_000_000_000).saturating_add(nanos)
    };
    FileStamp {
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
        changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
        inode: stat.st_ino,
        device: stat.st_dev,
    }
}
