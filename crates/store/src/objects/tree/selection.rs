//! The paths that a capture takes.

use windlass_core::files::{PathPatterns, is_reserved_path};
use windlass_core::manifest::{ManifestError, PathProblem};

use super::folder_handle::join;

/// The paths that a capture takes. It enters only folders in which one of them can be. The folders that contain a selected
/// path are in the manifest too; an empty folder is only if it is selected by itself.
#[derive(Clone, Copy, Debug)]
pub enum TreeSelection<'a> {
    /// Everything.
    All,
    /// The paths that patterns select, without `.git` and `.windlass` and everything in them.
    Patterns(&'a PathPatterns),
    /// The paths of a list that exist.
    Listed(&'a PathList),
}

/// What a selection takes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryChoice {
    Nothing,
    /// The entry, without what is in it.
    Itself,
    /// Paths below it can be selected; the entry is not by itself.
    Below,
    Both,
}

impl EntryChoice {
    const fn new(itself: bool, below: bool) -> Self {
        match (itself, below) {
            (false, false) => Self::Nothing,
            (true, false) => Self::Itself,
            (false, true) => Self::Below,
            (true, true) => Self::Both,
        }
    }

    /// Returns what patterns take of an entry of this folder.
    pub(super) fn by_patterns(patterns: &PathPatterns, folder: &str, name: &str) -> Self {
        if is_reserved_path(name) {
            return Self::Nothing;
        }
        let path = join(folder, name);
        Self::new(patterns.select(&path), patterns.can_select_below(&path))
    }

    pub(super) const fn takes_itself(self) -> bool {
        matches!(self, Self::Itself | Self::Both)
    }

    pub(super) const fn takes_below(self) -> bool {
        matches!(self, Self::Below | Self::Both)
    }
}

/// A list of files, links and folders. A listed folder is taken without its content, which has to be listed too. Paths that do
/// not exist are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList {
    /// With NUL instead of `/`, so that their order as bytes is that of a manifest: a folder is followed by its content.
    paths: Vec<String>,
}

impl PathList {
    /// Makes a list of paths in any order, with `/` between names. A path that leads out of the folder is refused.
    pub fn new<T: Into<String>>(paths: impl IntoIterator<Item = T>) -> Result<Self, ManifestError> {
        let keys = paths.into_iter().map(|path| path_key(path.into()));
        let mut paths = keys.collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        paths.dedup();
        Ok(Self { paths })
    }

    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether no path is listed.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the names in a folder that are listed or have a listed path below them. The root has the empty path.
    pub(super) fn names_in(&self, folder: &str) -> Vec<(&str, EntryChoice)> {
        let above = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let above = above.replace('/', "\0");
        let mut rest = &self.paths[self.paths.partition_point(|path| **path < *above)..];
        let mut names: Vec<(&str, EntryChoice)> = Vec::new();
        while let Some(below) = rest.first().and_then(|path| path.strip_prefix(&*above)) {
            let (name, choice) = match below.split_once('\0') {
                Some((name, _)) => (name, EntryChoice::Below),
                None => (below, EntryChoice::Itself),
            };
            match names.last_mut() {
                // The folder itself is listed too, and comes before its content.
                Some((last, choice)) if *last == name => {
                    *choice = EntryChoice::new(choice.takes_itself(), true);
                }
                _ => names.push((name, choice)),
            }
            rest = &rest[1..];
        }
        names
    }
}

fn path_key(path: String) -> Result<String, ManifestError> {
    let problem = path.split('/').find_map(|name| match name {
        "" => Some(PathProblem::EmptyName),
        "." | ".." => Some(PathProblem::DotName),
        name => name.contains('\0').then_some(PathProblem::ControlCharacter),
    });
    match problem {
        Some(problem) => Err(ManifestError::Path { path, problem }),
        None => Ok(path.replace('/', "\0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_names_the_entries_of_each_folder() {
        let list = PathList::new(["b/c/d", "a-b", "a", "b/c/e", "b/c", "a/x", "a"]).unwrap();
        assert_eq!(list.len(), 6);
        let root =
            [("a", EntryChoice::Both), ("a-b", EntryChoice::Itself), ("b", EntryChoice::Below)];
        assert_eq!(list.names_in(""), root);
        assert_eq!(list.names_in("b"), [("c", EntryChoice::Both)]);
        assert_eq!(list.names_in("b/c"), ["d", "e"].map(|name| (name, EntryChoice::Itself)));
        assert_eq!(list.names_in("a-b"), []);
    }

    #[test]
    fn list_has_no_path_that_leads_out() {
        for path in ["", "/etc/passwd", "../x", "a/../x", "a//b", "a/", "./a", "a\0b"] {
            assert!(PathList::new([path]).is_err(), "{path:?}");
        }
    }
}
