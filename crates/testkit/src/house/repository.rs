//! The text files of a repository, and the part of each that is production code.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::rust_text::{TextKind, segments};

/// Folders that hold nothing that was written here.
const SKIPPED_FOLDERS: [&str; 5] = [".git", ".venv", ".windlass", "node_modules", "target"];
const EXTENSIONS: [&str; 5] = [".md", ".rs", ".sh", ".toml", ".yml"];

/// A text file: its path from the root of the repository, and its content.
#[derive(Clone, Debug)]
pub struct RepositoryFile {
    /// The path from the root, with forward slashes.
    pub path: String,
    /// The content.
    pub text: String,
}

impl RepositoryFile {
    /// Whether the name ends in this extension.
    pub fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, end)| end == extension)
    }

    /// The text, or nothing if the file is not at or below this path.
    pub fn text_below(&self, path: &str) -> &str {
        if self.path.starts_with(path) { &self.text } else { "" }
    }

    /// The Rust code up to its inline tests; empty for every other file and for files of tests.
    pub fn production(&self) -> &str {
        if !self.is("rs") || self.path.contains("/tests/") || self.path.ends_with("tests.rs") {
            return "";
        }
        &self.text[..inline_tests(&self.text).unwrap_or(self.text.len())]
    }

    /// The production code of a crate of the workspace; empty for programs beside it, such as `bench`.
    pub fn crate_source(&self) -> &str {
        let of_crate = self.path.starts_with("crates/") && self.path.contains("/src/");
        if of_crate { self.production() } else { "" }
    }

    /// The comments of `crate_source`, in full.
    pub fn crate_comments(&self) -> String {
        let source = self.crate_source();
        let comments = segments(source).into_iter().filter(|(kind, _)| *kind == TextKind::Comment);
        comments.map(|(_, comment)| comment.to_owned() + "\n").collect()
    }
}

/// Where the first module begins that is compiled for tests only, on whatever platform or with whatever features.
fn inline_tests(text: &str) -> Option<usize> {
    let attributes = ["#[cfg(test)]\n", "#[cfg(all(test, "];
    let starts = attributes.iter().flat_map(|start| text.match_indices(start));
    let modules = starts.map(|(start, _)| start).filter(|start| {
        let item = text[*start..].lines().nth(1).unwrap_or_default();
        item.starts_with("mod ") && item.ends_with('{')
    });
    modules.min()
}

/// The root of the checkout that this crate was built in.
pub fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads every text file below this folder, ordered by path.
pub fn repository_files(root: &Path) -> io::Result<Vec<RepositoryFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let below_root = path.strip_prefix(root).unwrap_or(&path);
            let name = below_root.to_string_lossy().replace('\\', "/");
            let last = name.rsplit('/').next().unwrap_or_default();
            if path.is_dir() && !SKIPPED_FOLDERS.contains(&last) {
                folders.push(path);
            } else if EXTENSIONS.iter().any(|end| name.ends_with(end)) && path.is_file() {
                files.push(RepositoryFile { text: fs::read_to_string(&path)?, path: name });
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn production_ends_at_the_first_inline_test_module() {
        let text = "#[cfg(test)]\nmod fixtures;\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n";
        let file = |path: &str| RepositoryFile { path: path.to_owned(), text: text.to_owned() };
        let production = "#[cfg(test)]\nmod fixtures;\nfn a() {}\n";
        assert_eq!(file("crates/a/src/b.rs").crate_source(), production);
        assert_eq!(file("bench/src/b.rs").production(), production);
        assert_eq!(file("bench/src/b.rs").crate_source(), "");
        assert_eq!(file("crates/a/src/b_tests.rs").production(), "");
        let of_unix = "fn a() {}\n#[cfg(all(test, unix))]\nmod tests {";
        assert_eq!(inline_tests(of_unix), Some(10));
        assert_eq!(file("crates/a/tests/it/b.rs").production(), "");
    }
}
