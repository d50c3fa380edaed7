//! Trees that are too large, and trees that did not change.

use std::fs::{self, File};

use clap::Parser as _;

use super::fixtures::{SnapshotProject, store, taken};
use crate::cli::snapshot::{SnapshotArgs, SnapshotMode, SnapshotRequest};

/// The file has no blocks on disk: reading it would take a while.
#[test]
fn tree_that_is_too_large_is_refused_before_it_is_read() {
    let project = SnapshotProject::with_git();
    project.write("small", "1");
    project.write("data/x", "");
    let sparse = File::create(project.root().join("data/huge")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let error = project.snapshot(SnapshotMode::Files).unwrap_err().to_string();
    let end = "its largest parts are\n  1024.0 GiB in 1 file: data/huge\n  1 B in 1 file: small";
    assert!(error.ends_with(end), "{error}");
    project.write(".gitignore", "huge\n");
    assert_eq!(project.paths(SnapshotMode::Files), [".gitignore", "data/x", "small"]);
}

#[test]
fn unchanged_files_are_not_sent_again() {
    let project = SnapshotProject::with_git();
    project.write("a", "12345");
    project.write("b/c", "123");
    let (store, request) = (store(), project.request(SnapshotMode::Files));
    let first = taken(&request, &store).unwrap();
    assert_eq!((first.files, first.bytes, first.sent_bytes), (2, 8, 8));
    let again = taken(&request, &store).unwrap();
    assert_eq!((again.manifest, again.sent_bytes), (first.manifest, 0));
    project.write("b/c", "changed");
    assert_eq!(taken(&request, &store).unwrap().sent_bytes, 7);
}

#[test]
fn cache_of_files_is_in_the_project_or_in_the_folder_of_the_user() {
    let project = SnapshotProject::with_git();
    project.write("a", "1");
    let request = project.request(SnapshotMode::Files);
    let of_user = request.user_cache.clone().unwrap().join("snapshots");
    taken(&request, &store()).unwrap();
    assert_eq!(fs::read_dir(&of_user).unwrap().count(), 1);
    fs::remove_dir_all(&of_user).unwrap();
    fs::create_dir(project.root().join(".windlass")).unwrap();
    taken(&request, &store()).unwrap();
    assert!(project.root().join(".windlass/snapshot-files").is_file());
    assert!(!of_user.exists());
}

#[derive(Debug, clap::Parser)]
struct TestArgs {
    #[command(flatten)]
    snapshot: SnapshotArgs,
    steps: Vec<String>,
}

#[test]
fn argument_has_a_mode_only_after_an_equals_sign() {
    let parsed = |words: &[&str]| {
        let args = TestArgs::try_parse_from([&["submit"], words].concat()).unwrap();
        (args.snapshot.snapshot, args.steps)
    };
    assert_eq!(parsed(&["--snapshot", "all"]), (Some(SnapshotMode::Files), vec!["all".to_owned()]));
    assert_eq!(parsed(&["--snapshot=all"]), (Some(SnapshotMode::All), vec![]));
    assert_eq!(parsed(&["--snapshot=tracked"]).0, Some(SnapshotMode::Tracked));
    assert_eq!(parsed(&[]), (None, vec![]));
    let request = SnapshotRequest::of_project("x".into(), SnapshotMode::All);
    assert_eq!(request.git.to_str(), Some("git"));
}
