//! The selected entries of one folder.

use std::ffi::CStr;
use std::io;

use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat, readlinkat, statat};
use rustix::io::Errno;
use windlass_core::manifest::DEPTH_MAX;

use super::folder_handle::{FolderHandle, join, stamp};
use super::selection::{EntryChoice, TreeSelection};
use super::stat_cache::FileStamp;
use super::tree_error::TreeError;

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundEntry {
    pub(super) name: String,
    pub(super) kind: FoundKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FoundKind {
    /// A folder. If only paths below it can be selected, it is left out when none is.
    Folder {
        choice: EntryChoice,
    },
    File {
        executable: bool,
        stamp: FileStamp,
    },
    Symlink {
        target: String,
    },
}

/// A folder that is listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FolderListing<'a> {
    pub(super) folder: &'a FolderHandle,
    /// Its path below the root.
    pub(super) path: &'a str,
    pub(super) selection: TreeSelection<'a>,
}

impl FolderListing<'_> {
    /// Returns the selected entries, and the folders in which a path can be selected, sorted by name.
    pub(super) fn entries(&self) -> Result<Vec<FoundEntry>, TreeError> {
        let mut entries = match self.selection {
            TreeSelection::All => self.read(&|_| EntryChoice::Both)?,
            TreeSelection::Patterns(patterns) => {
                self.read(&|name| EntryChoice::by_patterns(patterns, self.path, name))?
            }
            TreeSelection::Listed(list) => {
                let names = list.names_in(self.path).into_iter();
                let found = names.map(|(name, it)| self.entry(name, FileType::Unknown, it));
                found.filter_map(Result::transpose).collect::<Result<Vec<_>, _>>()?
            }
        };
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn read(&self, choose: &dyn Fn(&str) -> EntryChoice) -> Result<Vec<FoundEntry>, TreeError> {
        let failed = |error| TreeError::system("list", self.path, error);
        let mut entries = Vec::new();
        for entry in Dir::read_from(self.folder.fd()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => entries.extend(self.entry(name, entry.file_type(), choose(name))?),
                Err(_) => {
                    let shown = entry.file_name().to_string_lossy();
                    self.check_not_utf8(entry.file_name(), &shown, choose(&shown))?;
                }
            }
        }
        Ok(entries)
    }

    /// Returns an entry; `None` if it is not selected, or was removed since it was listed. `kind` is the kind that the list
    /// has, if it has one.
    fn entry(
        &self,
        name: &str,
        kind: FileType,
        choice: EntryChoice,
    ) -> Result<Option<FoundEntry>, TreeError> {
        let can_be_folder = matches!(kind, FileType::Directory | FileType::Unknown);
        let can_be_taken = choice.takes_itself() || can_be_folder && choice.takes_below();
        if !can_be_taken {
            return Ok(None);
        }
        let path = || join(self.path, name);
        let stat = match statat(self.folder.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            stat => stat.map_err(|error| TreeError::system("read", &path(), error))?,
        };
        let special = |kind| Err(TreeError::Special { path: path(), kind });
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => FoundKind::Folder { choice },
            _ if !choice.takes_itself() => return Ok(None),
            FileType::RegularFile => {
                FoundKind::File { executable: is_executable(&stat), stamp: stamp(&stat) }
            }
            FileType::Symlink => FoundKind::Symlink { target: self.target(name, &path())? },
            FileType::Fifo => return special("a named pipe"),
            FileType::Socket => return special("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice => return special("a device"),
            FileType::Unknown => return special("of an unknown kind"),
        };
        Ok(Some(FoundEntry { name: name.to_owned(), kind }))
    }

    fn target(&self, name: &str, path: &str) -> Result<String, TreeError> {
        let target = readlinkat(self.folder.fd(), name, Vec::new());
        let target = target.map_err(|error| TreeError::system("read", path, error))?;
        target.into_string().map_err(|_| {
            let error = io::Error::other("its target is not UTF-8: make the link anew");
            TreeError::system("read the link", path, error)
        })
    }

    /// Refuses an entry whose name is not UTF-8 if it is selected, or something in it. Such names are matched as they are
    /// shown.
    fn check_not_utf8(
        &self,
        name: &CStr,
        shown: &str,
        choice: EntryChoice,
    ) -> Result<(), TreeError> {
        let path = join(self.path, shown);
        let is_selected = choice.takes_itself()
            || choice.takes_below()
                && match self.folder.open_folder(name, &path) {
                    Ok(folder) => self.below(&folder, &path).selects_any()?,
                    Err(TreeError::NotAFolder { .. }) => false,
                    Err(error) => return Err(error),
                };
        if !is_selected {
            return Ok(());
        }
        Err(TreeError::NotUtf8 { folder: self.path.to_owned(), name: shown.to_owned() })
    }

    /// Whether anything below is selected.
    fn selects_any(&self) -> Result<bool, TreeError> {
        let is_deeper_than_manifests = self.path.matches('/').count() >= DEPTH_MAX;
        if is_deeper_than_manifests {
            return Ok(false);
        }
        for FoundEntry { name, kind } in self.entries()? {
            let path = join(self.path, &name);
            let is_selected = match kind {
                FoundKind::Folder { choice } if !choice.takes_itself() => {
                    let folder = self.folder.open_folder(&*name, &path)?;
                    self.below(&folder, &path).selects_any()?
                }
                FoundKind::Folder { .. } | FoundKind::File { .. } | FoundKind::Symlink { .. } => {
                    true
                }
            };
            if is_selected {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn below<'a>(&self, folder: &'a FolderHandle, path: &'a str) -> FolderListing<'a>
    where
        Self: 'a,
    {
        FolderListing { folder, path, selection: self.selection }
    }
}

fn is_executable(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR)
}
