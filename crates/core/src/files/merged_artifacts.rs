//! Combines the artifacts that a step gets into one manifest, and refuses those that contradict each other.

use std::collections::BTreeMap;

use crate::manifest::{EntryKind, Manifest, ManifestEntry, ManifestError, ManifestPath};

/// Names of folders that belong to git and windlass.
const RESERVED_NAMES: [&str; 2] = [".git", ".windlass"];

/// The artifacts of one step, and the folder in which they are written.
#[derive(Clone, Debug)]
pub struct FetchedArtifacts {
    /// The name of the step or cell that made them.
    pub step: String,
    /// The folder below the root of the workspace; empty for the root itself.
    pub folder: String,
    /// The files.
    pub manifest: Manifest,
}

/// Why artifacts cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// Two steps made different files with the same path.
    #[error(
        "`{first}` and `{second}` both made `{path}`, with different content: give each a folder of its own: `fetch: {{ {hint} }}`"
    )]
    Conflict {
        /// The path.
        path: String,
        /// The first step.
        first: String,
        /// The second step.
        second: String,
        /// The entries of `fetch` that keep them apart.
        hint: String,
    },
    /// A path is in a folder that belongs to git or windlass.
    #[error("`{step}` made `{path}`: artifacts never write to `.git` or `.windlass`")]
    Reserved {
        /// The step.
        step: String,
        /// The path.
        path: String,
    },
    /// The combined paths are no valid folder.
    #[error("the artifacts of `{step}` cannot be written: {error}")]
    Manifest {
        /// The step.
        step: String,
        /// The error.
        error: ManifestError,
    },
}

/// Returns all files in one manifest. Equal files with equal paths are one.
pub fn merge_artifacts(fetched: &[FetchedArtifacts]) -> Result<Manifest, MergeError> {
    let mut merged: BTreeMap<String, (&EntryKind, &str)> = BTreeMap::new();
    for artifacts in fetched {
        for folder in folders_of(&artifacts.folder) {
            add(&mut merged, folder, (&EntryKind::Folder, &artifacts.step))?;
        }
        for entry in artifacts.manifest.entries() {
            let path = match &*artifacts.folder {
                "" => entry.path.as_str().to_owned(),
                folder => format!("{folder}/{}", entry.path.as_str()),
            };
            add(&mut merged, path, (&entry.kind, &artifacts.step))?;
        }
    }
    let last = fetched.last().map(|artifacts| artifacts.step.clone()).unwrap_or_default();
    let refused = |step: &str, error| MergeError::Manifest { step: step.to_owned(), error };
    let mut entries = Vec::with_capacity(merged.len());
    for (path, (kind, step)) in merged {
        let parsed = ManifestPath::parse(&path)
            .map_err(|problem| refused(step, ManifestError::Path { path, problem }))?;
        entries.push(ManifestEntry { path: parsed, kind: kind.clone() });
    }
    Manifest::from_entries(entries).map_err(|error| refused(&last, error))
}

fn add<'a>(
    merged: &mut BTreeMap<String, (&'a EntryKind, &'a str)>,
    path: String,
    (kind, step): (&'a EntryKind, &'a str),
) -> Result<(), MergeError> {
    if is_reserved_path(&path) {
        return Err(MergeError::Reserved { step: step.to_owned(), path });
    }
    match merged.get(&path) {
        Some((known, _)) if *known == kind => Ok(()),
        Some((_, first)) => Err(MergeError::Conflict {
            path,
            first: (*first).to_owned(),
            second: step.to_owned(),
            hint: separate_folders(first, step),
        }),
        None => {
            merged.insert(path, (kind, step));
            Ok(())
        }
    }
}

/// Returns the entries of `fetch` that keep the files of two steps apart.
fn separate_folders(first: &str, second: &str) -> String {
    let name = |step: &str| step.split('[').next().unwrap_or_default().to_owned();
    let folder = |step: &str| {
        let name = name(step);
        let cell = if step.contains('[') { "/${{ cell }}" } else { "" };
        format!("{name}: \"in/{name}{cell}\"")
    };
    if name(first) == name(second) {
        return folder(second);
    }
    format!("{}, {}", folder(first), folder(second))
}

/// Whether a path is in a folder of git or windlass, also on file systems that do not tell capital letters. A file there
/// could run with the user's next command.
pub fn is_reserved_path(path: &str) -> bool {
    let is_reserved =
        |name: &str| RESERVED_NAMES.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
    path.split('/').any(is_reserved)
}

/// Returns a folder and all folders that contain it: `a/b` gives `a` and `a/b`.
fn folders_of(folder: &str) -> impl Iterator<Item = String> {
    let ends = folder.match_indices('/').map(|(at, _)| at).chain([folder.len()]);
    ends.filter(|end| *end > 0).map(|end| folder[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectId;

    fn artifacts(step: &str, folder: &str, files: &[(&str, &str)]) -> FetchedArtifacts {
        let entry = |(path, content): &(&str, &str)| ManifestEntry {
            path: ManifestPath::parse(path).expect("a valid path"),
            kind: EntryKind::File {
                executable: false,
                size: content.len() as u64,
                object: ObjectId::of(content.as_bytes()),
            },
        };
        let manifest = Manifest::from_entries(files.iter().map(entry).collect());
        let manifest = manifest.expect("a valid manifest");
        FetchedArtifacts { step: step.to_owned(), folder: folder.to_owned(), manifest }
    }

    fn paths(merged: &Manifest) -> Vec<&str> {
        merged.entries().iter().map(|entry| entry.path.as_str()).collect()
    }

    #[test]
    fn equal_files_are_one_and_folders_contain_what_is_fetched_into_them() {
        let merged = merge_artifacts(&[
            artifacts("a", "", &[("x", "1")]),
            artifacts("b", "", &[("x", "1"), ("y", "2")]),
            artifacts("t[1]", "in/1", &[("x", "3")]),
        ]);
        assert_eq!(paths(&merged.expect("no conflict")), ["in", "in/1", "in/1/x", "x", "y"]);
    }

    #[test]
    fn different_files_with_one_path_are_refused_with_both_steps() {
        let cells = [artifacts("t[1]", "", &[("x", "1")]), artifacts("t[2]", "", &[("x", "2")])];
        let error = merge_artifacts(&cells).expect_err("a conflict").to_string();
        assert!(error.contains("`t[1]` and `t[2]` both made `x`"), "{error}");
        assert!(error.contains("fetch: { t: \"in/t/${{ cell }}\" }"), "{error}");
        let steps = [artifacts("a", "", &[("x", "1")]), artifacts("b", "", &[("x", "2")])];
        let error = merge_artifacts(&steps).expect_err("a conflict").to_string();
        assert!(error.contains("fetch: { a: \"in/a\", b: \"in/b\" }"), "{error}");
    }

    #[test]
    fn path_in_a_folder_of_git_is_refused() {
        for path in [".git", ".GIT", ".windlass"] {
            let merged = merge_artifacts(&[artifacts("a", "", &[(path, "1")])]);
            assert!(matches!(merged, Err(MergeError::Reserved { .. })), "{path}");
        }
    }

    #[test]
    fn a_file_in_place_of_a_folder_is_refused() {
        let cells = [artifacts("a", "", &[("x", "1")]), artifacts("b", "x", &[("y", "2")])];
        assert!(matches!(merge_artifacts(&cells), Err(MergeError::Conflict { .. })));
    }
}
