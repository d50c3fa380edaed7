//! The paths that a manifest accepts: each is below its folder on every operating system, and has one form.

use std::cmp::Ordering;
use std::fmt;

/// Maximum bytes of a path. Linux accepts 4,096 including the folder to which it is written.
pub const PATH_BYTES_MAX: usize = 1024;

/// Maximum bytes of a name in a path, as in the file systems of Linux.
pub const NAME_BYTES_MAX: usize = 255;

/// Maximum number of names in a path: every folder above a file is open while it is written, and a process may often open
/// 256 files only.
pub const DEPTH_MAX: usize = 64;

/// A path below the folder that a manifest describes, with `/` between names.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ManifestPath(Box<str>);

/// The reason why a path is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// It is empty, or has an empty name: `a//b`, `a/`.
    #[error("has an empty name")]
    EmptyName,
    /// It begins with `/`.
    #[error("is absolute")]
    Absolute,
    /// A name is `.` or `..`.
    #[error("contains `.` or `..` as a name")]
    DotName,
    /// It contains a control character, such as NUL or a line end.
    #[error("contains a control character")]
    ControlCharacter,
    /// It contains `\`, which separates names on Windows.
    #[error("contains a backslash")]
    Backslash,
    /// It is too long.
    #[error("is longer than {PATH_BYTES_MAX} bytes")]
    TooLong,
    /// A name is too long.
    #[error("has a name of more than {NAME_BYTES_MAX} bytes")]
    NameTooLong,
    /// It has too many names.
    #[error("is in more than {} folders", DEPTH_MAX - 1)]
    TooDeep,
}

impl ManifestPath {
    /// Checks a path.
    pub fn parse(path: &str) -> Result<Self, PathProblem> {
        if path.starts_with('/') {
            return Err(PathProblem::Absolute);
        }
        if path.len() > PATH_BYTES_MAX {
            return Err(PathProblem::TooLong);
        }
        for (at, name) in path.split('/').enumerate() {
            if at == DEPTH_MAX {
                return Err(PathProblem::TooDeep);
            }
            check_name(name)?;
        }
        Ok(Self(path.into()))
    }

    /// Returns the path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the last name.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the path of its folder; `None` for an entry of the described folder itself.
    pub fn folder(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(folder, _)| folder)
    }

    /// Returns the number of folders above it.
    pub fn depth(&self) -> usize {
        self.0.bytes().filter(|byte| *byte == b'/').count()
    }
}

fn check_name(name: &str) -> Result<(), PathProblem> {
    match name {
        "" => return Err(PathProblem::EmptyName),
        "." | ".." => return Err(PathProblem::DotName),
        _ => {}
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(PathProblem::NameTooLong);
    }
    if name.chars().any(char::is_control) {
        return Err(PathProblem::ControlCharacter);
    }
    if name.contains('\\') { Err(PathProblem::Backslash) } else { Ok(()) }
}

/// Paths are ordered by their names, so a folder is followed by everything in it: `/` counts as smaller than every byte of a
/// name.
impl Ord for ManifestPath {
    fn cmp(&self, other: &Self) -> Ordering {
        let smallest = |byte: u8| if byte == b'/' { 0 } else { byte };
        self.0.bytes().map(smallest).cmp(other.0.bytes().map(smallest))
    }
}

impl PartialOrd for ManifestPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ManifestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ManifestPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that archives and artifacts were attacked with.
    #[test]
    fn attacks_are_refused() {
        use PathProblem::{
            Absolute, Backslash, ControlCharacter, DotName, EmptyName, NameTooLong, TooDeep,
            TooLong,
        };
        let (long_name, long) = ("n".repeat(256), "dir/".repeat(255) + "file.txt");
        let deep = ["d"; DEPTH_MAX + 1].join("/");
        let attacks = [
            ("", EmptyName),
            ("/", Absolute),
            ("/etc/passwd", Absolute),
            ("//host/share", Absolute),
            (".", DotName),
            ("..", DotName),
            ("../evil", DotName),
            ("a/../../evil", DotName),
            ("a/./b", DotName),
            ("a/..", DotName),
            ("a//b", EmptyName),
            ("a/", EmptyName),
            ("..\\evil", Backslash),
            ("a\\..\\..\\evil", Backslash),
            ("C:\\Windows\\evil", Backslash),
            ("\\\\host\\share", Backslash),
            ("a\0b", ControlCharacter),
            ("a\nb", ControlCharacter),
            ("a\rb", ControlCharacter),
            ("a\x1b[2Jb", ControlCharacter),
            ("a\u{7f}", ControlCharacter),
            ("a\u{85}b", ControlCharacter),
            (&long_name, NameTooLong),
            (&long, TooLong),
            (&deep, TooDeep),
        ];
        for (path, problem) in attacks {
            assert_eq!(ManifestPath::parse(path), Err(problem), "{path:?}");
        }
    }

    #[test]
    fn paths_of_real_trees_are_accepted() {
        let (name, deep) = ("n".repeat(255), ["d"; DEPTH_MAX].join("/"));
        let paths = [
            "a",
            "a/b",
            "...",
            "..a",
            "a..",
            ".git/config",
            "-rf",
            "a b",
            "größe/日本",
            "@scope/pkg",
            "aux.c",
            "a:b",
            "*",
            "~",
            "$HOME",
            &name,
            &deep,
        ];
        for path in paths {
            assert_eq!(ManifestPath::parse(path).map(|it| it.to_string()), Ok(path.to_owned()));
        }
    }

    /// Every path of up to five bytes over an alphabet of all special cases is accepted only if it has one meaning: split at
    /// `/`, it joins to itself and no name is special.
    #[test]
    fn every_short_path_is_judged_by_its_names() {
        const BYTES: [char; 6] = ['/', '.', '\\', '\0', 'a', '\n'];
        let mut paths = vec![String::new()];
        for _ in 0..5 {
            let longer = paths.iter().flat_map(|path| BYTES.map(|c| format!("{path}{c}")));
            let longer: Vec<String> = longer.collect();
            for path in &longer {
                let plain = |name: &str| {
                    !["", ".", ".."].contains(&name) && name.chars().all(|c| ".a".contains(c))
                };
                let promised = path.split('/').all(plain);
                assert_eq!(ManifestPath::parse(path).is_ok(), promised, "{path:?}");
            }
            paths = longer;
        }
    }

    #[test]
    fn folder_is_followed_by_its_content() {
        let sorted = ["a", "a/b", "a/b/c", "a/c", "a-b", "a.b", "ab"]
            .map(|path| ManifestPath::parse(path).expect("a plain path"));
        assert!(sorted.is_sorted(), "{sorted:?}");
        let path = &sorted[2];
        assert_eq!((path.name(), path.folder(), path.depth()), ("c", Some("a/b"), 2));
        assert_eq!((sorted[0].name(), sorted[0].folder(), sorted[0].depth()), ("a", None, 0));
    }
}
