//! Captures that take a part of a folder.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use windlass_core::files::PathPatterns;

use super::fixtures::{LATE, capture, fill, folder, write};
use crate::objects::tree::{
    CapturedTree, PathList, StatCache, TreeError, TreeSelection, capture_selected, find_tree,
};

fn by_patterns(root: &Path, patterns: &[&str]) -> Result<CapturedTree, TreeError> {
    let patterns = PathPatterns::parse(patterns).expect("valid patterns");
    capture_selected(root, TreeSelection::Patterns(&patterns), &StatCache::default(), LATE)
}

fn by_list(root: &Path, paths: &[&str]) -> Result<CapturedTree, TreeError> {
    let list = PathList::new(paths.iter().copied()).expect("valid paths");
    capture_selected(root, TreeSelection::Listed(&list), &StatCache::default(), LATE)
}

fn paths(captured: &CapturedTree) -> Vec<&str> {
    captured.manifest.entries().iter().map(|it| it.path.as_str()).collect()
}

#[test]
fn patterns_take_files_with_their_folders_only() {
    let home = folder();
    fill(home.path());
    for path in [".git/config", ".windlass/runs", "a/.windlass/x", "a/b/.git"] {
        write(home.path(), path, "x");
    }
    for (patterns, expected) in [
        (
            &["a/**", "!**/block"][..],
            &["a", "a/b", "a/b/c", "a/b/c/deep", "a/copy of a.txt", "a/link"][..],
        ),
        (&["**/deep", "bin/*"], &["a", "a/b", "a/b/c", "a/b/c/deep", "bin", "bin/run"]),
        // A folder without content is taken if it is selected by itself.
        (&["empty/*"], &["empty", "empty/empty too"]),
        (&["empty/*/x"], &[]),
        (&["empty", "!empty/*"], &["empty"]),
        (&["**/.windlass", "**/.git/**", ".git/config"], &[]),
        (&["nothing"], &[]),
    ] {
        let captured = by_patterns(home.path(), patterns).unwrap();
        assert_eq!(paths(&captured), expected, "{patterns:?}");
    }
}

/// For every pattern, the entered folders make no difference to what is selected.
#[test]
fn patterns_take_the_selected_part_of_everything() {
    let home = folder();
    fill(home.path());
    let all = capture(home.path()).unwrap();
    for patterns in [
        &["**"][..],
        &["**", "!a"],
        &["**/b/**"],
        &["many/1?", "many/*7", "!many/17"],
        &["*"],
        &["a*", "!a/b", "a/b/c/d*"],
        &["{a,größe}/**/*[!p]"],
    ] {
        let captured = by_patterns(home.path(), patterns).unwrap();
        let rules = PathPatterns::parse(patterns).unwrap();
        let selected = paths(&all).into_iter().filter(|path| rules.select(path));
        let expected: BTreeSet<&str> = selected.flat_map(with_folders).collect();
        assert_eq!(paths(&captured).into_iter().collect::<BTreeSet<_>>(), expected, "{patterns:?}");
    }
}

fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain([path])
}

#[test]
fn list_takes_its_paths_that_exist() {
    let home = folder();
    fill(home.path());
    let listed = ["a.txt", "a/link", "many/7", "empty/empty too", "gone", "gone/too", "a.txt/x"];
    let captured = by_list(home.path(), &listed).unwrap();
    let expected = ["a", "a/link", "a.txt", "empty", "empty/empty too", "many", "many/7"];
    assert_eq!(paths(&captured), expected);
    // A listed folder is taken without its content.
    assert_eq!(paths(&by_list(home.path(), &["a", "many"]).unwrap()), ["a", "many"]);
    // A link in the place of a folder is not followed.
    symlink("a", home.path().join("to a")).unwrap();
    assert!(paths(&by_list(home.path(), &["to a/block"]).unwrap()).is_empty());
}

#[test]
fn list_of_everything_takes_everything() {
    let home = folder();
    fill(home.path());
    let all = capture(home.path()).unwrap();
    let listed = by_list(home.path(), &paths(&all)).unwrap();
    assert_eq!((listed.manifest, listed.cache), (all.manifest, all.cache));
}

#[test]
fn entries_that_no_manifest_has_are_refused_only_if_they_are_selected() {
    let home = folder();
    for path in ["src/fine", "src/new\nline/x.o", "src/back\\slash.o"] {
        write(home.path(), path, "x");
    }
    symlink("/etc/passwd", home.path().join("src/link.o")).unwrap();
    let _listener = UnixListener::bind(home.path().join("src/socket.o")).unwrap();
    assert_eq!(paths(&by_patterns(home.path(), &["src/f*"]).unwrap()), ["src", "src/fine"]);
    assert_eq!(paths(&by_patterns(home.path(), &["**/fine"]).unwrap()), ["src", "src/fine"]);
    assert_eq!(paths(&by_list(home.path(), &["src/fine"]).unwrap()), ["src", "src/fine"]);
    for (path, reason) in [
        ("src/new\nline/x.o", "control character"),
        ("src/back\\slash.o", "a backslash"),
        ("src/link.o", "the symbolic link \"src/link.o\" has an absolute target"),
        ("src/socket.o", "\"src/socket.o\" is a socket"),
    ] {
        let pattern = path.replace(['\n', '\\'], "?");
        for captured in [by_patterns(home.path(), &[&pattern]), by_list(home.path(), &[path])] {
            let error = captured.unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn name_that_is_not_text_is_refused_only_if_something_in_it_is_selected() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let home = folder();
    let odd = home.path().join("in").join(OsStr::from_bytes(b"a\xff"));
    write(&odd, "x/deep.c", "x");
    fs::write(home.path().join("in").join(OsStr::from_bytes(b"b\xff.c")), "x").unwrap();
    for patterns in [&["**/*.h"][..], &["**/x/*.h"], &["**/*.c", "!in"]] {
        assert!(paths(&by_patterns(home.path(), patterns).unwrap()).is_empty(), "{patterns:?}");
    }
    for (pattern, name) in
        [("**/deep.c", "a\u{fffd}"), ("in/a?", "a\u{fffd}"), ("in/*.c", "b\u{fffd}.c")]
    {
        let error = by_patterns(home.path(), &[pattern]).unwrap_err();
        assert!(matches!(&error, TreeError::NotUtf8 { name: it, .. } if it == name), "{error}");
    }
}

/// A folder that is deeper than a manifest is an error only if something in it can be selected.
#[test]
fn folders_that_cannot_be_selected_are_not_entered() {
    let home = folder();
    write(home.path(), "src/a", "x");
    fs::create_dir_all(home.path().join("deep").join(["d"; 70].join("/"))).unwrap();
    assert!(by_patterns(home.path(), &["**/x"]).is_err(), "it is deeper than a manifest");
    assert_eq!(paths(&by_patterns(home.path(), &["src"]).unwrap()), ["src", "src/a"]);
    assert_eq!(paths(&by_patterns(home.path(), &["**/a", "!deep"]).unwrap()), ["src", "src/a"]);
}

#[test]
fn unchanged_selected_files_are_not_read() {
    let home = folder();
    fill(home.path());
    let patterns = PathPatterns::parse(&["many", "a/b"]).unwrap();
    let selection = TreeSelection::Patterns(&patterns);
    let first = capture_selected(home.path(), selection, &StatCache::default(), LATE).unwrap();
    assert_eq!((first.hashed, first.cache.len()), (301, 301));
    let again = capture_selected(home.path(), selection, &first.cache, LATE).unwrap();
    assert_eq!((again.hashed, again.manifest), (0, first.manifest));
    // The cache of a part serves a capture of everything.
    let all = capture_selected(home.path(), TreeSelection::All, &first.cache, LATE).unwrap();
    assert_eq!((all.hashed, all.cache.len()), (7, 308));
}

#[test]
fn sizes_are_known_before_files_are_read() {
    let home = folder();
    write(home.path(), "a/small", "123");
    write(home.path(), "unreadable", "12345");
    fs::set_permissions(home.path().join("unreadable"), fs::Permissions::from_mode(0o0)).unwrap();
    let found = find_tree(home.path(), TreeSelection::All).unwrap();
    assert_eq!(found.files().collect::<Vec<_>>(), [("a/small", 3), ("unreadable", 5)]);
}
