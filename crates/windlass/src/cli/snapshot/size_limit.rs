//! The limits of a snapshot, and what to leave out of one that is too large.

use crate::cli::output::size_text;
use crate::cli::render::count;

/// Maximum bytes: what a usual connection sends in some minutes, and far more than sources have.
const BYTES_MAX: u64 = 256 << 20;

/// Maximum files.
const FILES_MAX: usize = 100_000;

/// The files and folders that a refusal names.
const NAMED: usize = 5;

/// A part of a tree: a file, or a folder with everything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TreePart {
    /// With `/` at the end of a folder.
    path: String,
    files: usize,
    bytes: u64,
}

/// Returns why files, in the order of a manifest, are too many or too large; `None` if they are not.
pub(super) fn size_problem(files: &[(&str, u64)]) -> Option<String> {
    let bytes: u64 = files.iter().map(|(_, size)| size).sum();
    let has_too_many = files.len() > FILES_MAX;
    if bytes <= BYTES_MAX && !has_too_many {
        return None;
    }
    let weight = |part: &TreePart| if has_too_many { part.files as u64 } else { part.bytes };
    let largest = largest_parts(files, &weight);
    let lines = largest.iter().map(|part| {
        let files = count(part.files, "file", "files");
        format!("\n  {} in {files}: {}", size_text(part.bytes), part.path)
    });
    Some(format!(
        "the snapshot would have {} of {} together: at most {FILES_MAX} files and {}; its largest parts are{}",
        count(files.len(), "file", "files"),
        size_text(bytes),
        size_text(BYTES_MAX),
        lines.collect::<String>()
    ))
}

/// Returns the heaviest parts. A folder whose weight is mostly that of one part in it is named by that part.
fn largest_parts(files: &[(&str, u64)], weight: &dyn Fn(&TreePart) -> u64) -> Vec<TreePart> {
    let heaviest_in = |folder: &str| {
        let mut parts = parts_of(folder, files);
        parts.sort_by_key(|part| std::cmp::Reverse(weight(part)));
        parts
    };
    let narrowed = |mut part: TreePart| {
        while part.path.ends_with('/')
            && let Some(inner) = heaviest_in(&part.path).into_iter().next()
            && weight(&inner) >= weight(&part) / 10 * 8
        {
            part = inner;
        }
        part
    };
    heaviest_in("").into_iter().take(NAMED).map(narrowed).collect()
}

/// Returns the files and folders in a folder, whose path ends with `/` or is empty.
fn parts_of(folder: &str, files: &[(&str, u64)]) -> Vec<TreePart> {
    let mut parts: Vec<TreePart> = Vec::new();
    for (path, bytes) in files {
        let Some(below) = path.strip_prefix(folder) else { continue };
        let end = below.find('/').map_or(path.len(), |at| folder.len() + at + 1);
        let name = &path[..end];
        match parts.last_mut() {
            Some(part) if part.path == name => {
                part.files += 1;
                part.bytes += bytes;
            }
            _ => parts.push(TreePart { path: name.to_owned(), files: 1, bytes: *bytes }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_the_largest_parts() {
        let mib = |count: u64| count << 20;
        let files = [
            ("a/deep/one/big", mib(200)),
            ("a/deep/small", 1),
            ("b/1", mib(30)),
            ("b/2", mib(30)),
            ("c", mib(7)),
            ("d", mib(6)),
            ("e", mib(5)),
            ("f", 1),
        ];
        let expected = "the snapshot would have 8 files of 278.0 MiB together: at most 100000 files and 256.0 MiB; its \
                        largest parts are\n  200.0 MiB in 1 file: a/deep/one/big\n  60.0 MiB in 2 files: b/\
                        \n  7.0 MiB in 1 file: c\n  6.0 MiB in 1 file: d\n  5.0 MiB in 1 file: e";
        assert_eq!(size_problem(&files).as_deref(), Some(expected));
        assert_eq!(size_problem(&files[1..]), None);
    }

    #[test]
    fn too_many_files_are_named_by_their_folder() {
        let names: Vec<String> = (0..=FILES_MAX).map(|at| format!("a/many/{at}")).collect();
        let files: Vec<(&str, u64)> = names.iter().map(|name| (&**name, 0)).collect();
        assert_eq!(size_problem(&files[1..]), None);
        let problem = size_problem(&files).expect("it is one file more");
        assert!(problem.ends_with("0 B in 100,001 files: a/many/"), "{problem}");
    }
}
