//! Names that not every operating system has: a tree that is made on Linux and read elsewhere is checked for them.

use super::entry::ManifestEntry;
use super::path::ManifestPath;
use super::tree::ManifestError;

/// Names of devices on Windows, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Names of devices on Windows that a digit from 1 to 9 follows.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Characters that no name on Windows has. `\` and control characters are in no manifest.
const RESERVED: &str = "<>:\"|?*";

/// Checks that every entry has a name on every operating system, and that no two are one file where case does not count.
pub(super) fn check(entries: &[ManifestEntry]) -> Result<(), ManifestError> {
    let refuse = |path: &ManifestPath, reason: String| {
        Err(ManifestError::NotPortable { path: path.clone(), reason })
    };
    for entry in entries {
        if let Some(reason) = name_problem(entry.path.name()) {
            return refuse(&entry.path, reason.to_owned());
        }
    }
    let mut folded: Vec<(String, &ManifestPath)> =
        entries.iter().map(|entry| (entry.path.as_str().to_lowercase(), &entry.path)).collect();
    folded.sort_unstable();
    match folded.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => refuse(pair[1].1, format!("it differs from {:?} by case only", pair[0].1)),
        None => Ok(()),
    }
}

fn name_problem(name: &str) -> Option<&'static str> {
    if name.contains(|c| RESERVED.contains(c)) {
        return Some("Windows has no names with < > : \" | ? *");
    }
    if name.ends_with(['.', ' ']) {
        return Some("Windows drops a dot or space at the end of a name");
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let numbered = |device: &str| {
        let number = stem.strip_prefix(device).unwrap_or_default();
        matches!(number.as_bytes(), [b'1'..=b'9'])
    };
    let is_device = DEVICES.contains(&&*stem) || NUMBERED_DEVICES.into_iter().any(numbered);
    is_device.then_some("it is the name of a device on Windows")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::entry::EntryKind;

    fn checked(paths: &[&str]) -> Result<(), String> {
        let entry = |path: &&str| ManifestEntry {
            path: ManifestPath::parse(path).expect("a valid path"),
            kind: EntryKind::Folder,
        };
        let entries: Vec<ManifestEntry> = paths.iter().map(entry).collect();
        check(&entries).map_err(|error| error.to_string())
    }

    #[test]
    fn names_that_windows_does_not_have_are_found() {
        let names = [
            "a:b",
            "C:",
            "a?",
            "a*",
            "<a>",
            "a|b",
            "a\"b",
            "a.",
            "a ",
            "...",
            "CON",
            "nul",
            "aux.c",
            "Prn.tar.gz",
            "com1",
            "LPT9.txt",
            "con .txt",
        ];
        for name in names {
            assert!(checked(&[name]).is_err(), "{name}");
        }
        for name in ["console", "com", "com0", "com10", "auxiliary.c", "a.con", "größe", ".git"] {
            assert_eq!(checked(&[name]), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_differ_by_case_only_are_found() {
        assert_eq!(checked(&["a", "a/README", "b", "b/readme"]), Ok(()));
        let message = "the path \"a/readme\" does not work on every system: it differs from \"a/README\" by case only; \
                       rename it, or leave it out";
        assert_eq!(checked(&["a", "a/README", "a/readme"]), Err(message.to_owned()));
        assert!(checked(&["GRÖSSE", "grösse"]).is_err());
    }
}
