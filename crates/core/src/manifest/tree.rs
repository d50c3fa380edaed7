//! A valid manifest.

use super::entry::{EntryKind, ManifestEntry};
use super::path::{ManifestPath, PathProblem};
use super::portable;
use super::symlink::{self, SymlinkProblem};

/// Maximum number of entries: ten times the largest trees of sources, at about 100 MB of memory.
pub const ENTRIES_MAX: usize = 1_000_000;

/// A valid manifest: sorted, each path once, each entry in a folder that is an entry too, and every link inside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest(Vec<ManifestEntry>);

/// The reason why entries are not a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A path is invalid.
    #[error("the path {path:?} {problem}: rename it, or leave it out")]
    Path {
        /// The path.
        path: String,
        /// The problem.
        problem: PathProblem,
    },
    /// A symbolic link is invalid.
    #[error(
        "the symbolic link {path:?} {problem}: make it relative and within the folder, or leave it out"
    )]
    Symlink {
        /// The path of the link.
        path: ManifestPath,
        /// The problem.
        problem: SymlinkProblem,
    },
    /// Two entries have one path.
    #[error("the path {path:?} is listed twice")]
    Duplicate {
        /// The path.
        path: ManifestPath,
    },
    /// The folder of an entry is missing, or is not a folder.
    #[error("the entry {path:?} is in no folder of the manifest")]
    NoFolder {
        /// The path of the entry.
        path: ManifestPath,
    },
    /// There are too many entries.
    #[error("more than {ENTRIES_MAX} files and folders: leave some out")]
    TooMany,
    /// The sizes of the files do not add up in 64 bits.
    #[error("the files of the manifest are larger than any disk")]
    TooLarge,
    /// A name does not work on every operating system.
    #[error(
        "the path {path:?} does not work on every system: {reason}; rename it, or leave it out"
    )]
    NotPortable {
        /// The path.
        path: ManifestPath,
        /// The reason.
        reason: String,
    },
}

impl Manifest {
    /// Sorts entries and checks them.
    pub fn from_entries(mut entries: Vec<ManifestEntry>) -> Result<Self, ManifestError> {
        if entries.len() > ENTRIES_MAX {
            return Err(ManifestError::TooMany);
        }
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self::from_sorted(entries)
    }

    /// Checks entries that have to be sorted already.
    pub fn from_sorted(entries: Vec<ManifestEntry>) -> Result<Self, ManifestError> {
        if entries.len() > ENTRIES_MAX {
            return Err(ManifestError::TooMany);
        }
        check_order(&entries)?;
        check_folders(&entries)?;
        let manifest = Self(entries);
        manifest.checked_bytes().ok_or(ManifestError::TooLarge)?;
        Ok(manifest)
    }

    /// Returns the entries in order: a folder is followed by everything in it.
    pub fn entries(&self) -> &[ManifestEntry] {
        &self.0
    }

    /// Returns the total size of the files.
    pub fn bytes(&self) -> u64 {
        self.checked_bytes().unwrap_or(u64::MAX)
    }

    /// Checks that the manifest can be written on every operating system.
    pub fn check_portable(&self) -> Result<(), ManifestError> {
        portable::check(&self.0)
    }

    fn checked_bytes(&self) -> Option<u64> {
        self.0.iter().try_fold(0_u64, |sum, entry| match &entry.kind {
            EntryKind::File { size, .. } => sum.checked_add(*size),
            EntryKind::Folder | EntryKind::Symlink { .. } => Some(sum),
        })
    }
}

fn check_order(entries: &[ManifestEntry]) -> Result<(), ManifestError> {
    let repeated = entries.windows(2).find(|pair| pair[0].path >= pair[1].path);
    repeated.map_or(Ok(()), |pair| Err(ManifestError::Duplicate { path: pair[1].path.clone() }))
}

/// Checks that each entry follows its folder, and that no link leaves the root.
fn check_folders(entries: &[ManifestEntry]) -> Result<(), ManifestError> {
    let mut folders: Vec<&str> = Vec::new();
    for ManifestEntry { path, kind } in entries {
        let folder = path.folder();
        while folders.last().copied() != folder && folders.pop().is_some() {}
        if folders.last().copied() != folder {
            return Err(ManifestError::NoFolder { path: path.clone() });
        }
        match kind {
            EntryKind::Folder => folders.push(path.as_str()),
            EntryKind::File { .. } => {}
            EntryKind::Symlink { target } => symlink::check_target(target, path.depth())
                .map_err(|problem| ManifestError::Symlink { path: path.clone(), problem })?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectId;

    fn entry(path: &str, kind: EntryKind) -> ManifestEntry {
        ManifestEntry { path: ManifestPath::parse(path).expect("a valid path"), kind }
    }

    fn file(path: &str, size: u64) -> ManifestEntry {
        let object = ObjectId::of(path.as_bytes());
        entry(path, EntryKind::File { executable: false, size, object })
    }

    fn folder(path: &str) -> ManifestEntry {
        entry(path, EntryKind::Folder)
    }

    fn symlink(path: &str, target: &str) -> ManifestEntry {
        entry(path, EntryKind::Symlink { target: target.into() })
    }

    fn path(path: &str) -> ManifestPath {
        ManifestPath::parse(path).expect("a valid path")
    }

    #[test]
    fn order_of_the_entries_does_not_matter() {
        let entries = [folder("a"), file("a/b", 1), file("a-b", 2), symlink("a/l", "../a-b")];
        let manifest = Manifest::from_entries(entries.to_vec()).unwrap();
        let paths: Vec<&str> = manifest.entries().iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a", "a/b", "a/l", "a-b"]);
        assert_eq!(manifest.bytes(), 3);
        let reversed = entries.into_iter().rev().collect();
        assert_eq!(Manifest::from_entries(reversed), Ok(manifest));
    }

    #[test]
    fn duplicates_and_entries_outside_a_folder_are_refused() {
        let refused = |entries: Vec<ManifestEntry>| Manifest::from_entries(entries).unwrap_err();
        let twice = ManifestError::Duplicate { path: path("a") };
        assert_eq!(refused(vec![file("a", 1), folder("a")]), twice);
        for parent in [None, Some(file("a", 1)), Some(symlink("a", "b")), Some(folder("aa"))] {
            let entries = parent.into_iter().chain([file("a/b", 1)]).collect();
            assert_eq!(refused(entries), ManifestError::NoFolder { path: path("a/b") });
        }
        // The folder of a grandchild must be there too.
        let lost = ManifestError::NoFolder { path: path("a/b/c") };
        assert_eq!(refused(vec![folder("a"), file("a/b/c", 1)]), lost);
    }

    #[test]
    fn link_is_judged_where_it_is() {
        let link = |target| Manifest::from_entries(vec![folder("a"), symlink("a/l", target)]);
        assert!(link("../b").is_ok());
        let problem = SymlinkProblem::Outside;
        assert_eq!(link("../../b"), Err(ManifestError::Symlink { path: path("a/l"), problem }));
    }

    #[test]
    fn sizes_and_number_of_entries_have_a_bound() {
        let large = vec![file("a", u64::MAX), file("b", 1)];
        assert_eq!(Manifest::from_entries(large), Err(ManifestError::TooLarge));
        let many = vec![file("a", 0); ENTRIES_MAX + 1];
        assert_eq!(Manifest::from_entries(many), Err(ManifestError::TooMany));
    }
}
