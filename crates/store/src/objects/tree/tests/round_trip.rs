//! A folder that is written elsewhere is the same folder.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, UNIX_EPOCH};

use windlass_core::manifest::Manifest;
use windlass_core::time::Time;

use super::fixtures::{capture, copy, fill, folder, store, write};
use crate::conformance::block_on as wait;
use crate::objects::tree::{TreeError, send_tree};

#[test]
fn written_folder_is_captured_as_the_same_manifest() {
    let (from, to) = (folder(), folder());
    fill(from.path());
    copy(from.path(), &to.path().join("new/folder"), None).unwrap();
    let captured = capture(from.path()).unwrap().manifest;
    assert_eq!(capture(&to.path().join("new/folder")).unwrap().manifest, captured);
    let paths: Vec<&str> = captured.entries().iter().map(|it| it.path.as_str()).collect();
    assert!(paths.contains(&"empty/empty too") && paths.contains(&"dangling"), "{paths:?}");
}

#[test]
fn permission_to_execute_and_links_are_kept() {
    let (from, to) = (folder(), folder());
    fill(from.path());
    copy(from.path(), to.path(), None).unwrap();
    let mode = |path: &str| fs::metadata(to.path().join(path)).unwrap().permissions().mode();
    assert_eq!((mode("bin/run") & 0o100, mode("a.txt") & 0o111), (0o100, 0));
    assert_eq!(fs::read_link(to.path().join("a/link")).unwrap().to_str(), Some("../a.txt"));
    assert_eq!(fs::read(to.path().join("a/link")).unwrap(), b"xxxxx");
}

#[test]
fn written_files_have_the_time_of_the_caller() {
    let (from, to) = (folder(), folder());
    fill(from.path());
    copy(from.path(), to.path(), Some(Time::from_millis(1_790_000_000_123))).unwrap();
    for path in ["a.txt", "large", "many/7"] {
        let modified = fs::metadata(to.path().join(path)).unwrap().modified().unwrap();
        assert_eq!(modified, UNIX_EPOCH + Duration::from_millis(1_790_000_000_123), "{path}");
    }
}

#[test]
fn file_that_changed_after_the_capture_is_refused() {
    let (from, text) = (folder(), "x".repeat(3 << 20));
    for (path, before, after) in
        [("small", "one", "two"), ("large", &*text, &*text.replace('x', "y"))]
    {
        write(from.path(), path, before);
        let manifest = capture(from.path()).unwrap().manifest;
        write(from.path(), path, after);
        let error = wait(send_tree(&store(), from.path(), &manifest)).unwrap_err();
        assert!(matches!(&error, TreeError::Changed { path: it } if it == path), "{error}");
        write(from.path(), path, &after[1..]);
        let error = wait(send_tree(&store(), from.path(), &manifest)).unwrap_err();
        assert!(matches!(&error, TreeError::Changed { path: it } if it == path), "{error}");
    }
}

#[test]
fn empty_folder_is_an_empty_manifest() {
    let (from, to) = (folder(), folder());
    copy(from.path(), to.path(), None).unwrap();
    assert_eq!(capture(from.path()).unwrap().manifest, Manifest::default());
}
