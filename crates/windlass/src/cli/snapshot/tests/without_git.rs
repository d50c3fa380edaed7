//! Projects in no repository, and machines without git.

use std::fs;

use super::fixtures::{SnapshotProject, git, store, taken};
use crate::cli::error::CliError;
use crate::cli::snapshot::{SnapshotMode, SnapshotRequest};

fn project() -> SnapshotProject {
    let project = SnapshotProject::new();
    for path in ["a", "src/b", "out/c", "src/d.o", ".env", "src/.windlass/x", ".windlass/runs/1"] {
        project.write(path, "1");
    }
    project.write(".gitignore", "out\n");
    project.write("src/.gitignore", "*.o\n");
    project
}

#[test]
fn ignore_files_count_without_a_repository() {
    let project = project();
    let (taken, files) = project.snapshot(SnapshotMode::Files).unwrap();
    let paths: Vec<String> = files.into_keys().collect();
    assert_eq!(paths, [".gitignore", "a", "src/.gitignore", "src/b"]);
    assert_eq!(
        (taken.left_out, taken.notes, taken.revision),
        (vec![".env".to_owned()], vec![], None)
    );
    assert!(!project.root().join(".git").exists());
}

#[test]
fn nested_repository_of_a_folder_without_one_has_its_own_files() {
    let project = project();
    project.write("nested/in", "1");
    project.write("nested/.gitignore", "x");
    project.write("nested/x", "1");
    git(&project.root().join("nested"), &["init", "-q"]);
    git(&project.root().join("nested"), &["add", "in"]);
    git(&project.root().join("nested"), &["commit", "-q", "-m", "x"]);
    let paths = project.paths(SnapshotMode::Files);
    assert!(paths.ends_with(&["src/.gitignore".to_owned(), "src/b".to_owned()]), "{paths:?}");
    assert!(paths.contains(&"nested/in".to_owned()) && !paths.contains(&"nested/x".to_owned()));
}

#[test]
fn tracked_files_need_a_repository() {
    let error = project().snapshot(SnapshotMode::Tracked).unwrap_err();
    assert!(error.to_string().contains("is in no git repository"), "{error}");
    assert!(matches!(CliError::from(error), CliError::Usage(_)));
}

#[test]
fn everything_is_taken_and_said_if_there_is_no_git() {
    let project = project();
    git(&project.root(), &["init", "-q"]);
    let git = project.root().join("no such program");
    let request = SnapshotRequest { git, ..project.request(SnapshotMode::Files) };
    let taken = taken(&request, &store()).unwrap();
    // `a`, `src/b`, `out/c`, `src/d.o` and two of `.gitignore`.
    assert_eq!((taken.files, &*taken.left_out), (6, &[".env".to_owned()][..]));
    assert!(taken.messages()[0].starts_with("there is no program `git`"), "{:?}", taken.messages());
}

#[test]
fn failure_of_git_is_reported_with_its_message() {
    let project = project();
    fs::write(project.root().join(".git"), "gitdir: /no/such/place\n").unwrap();
    let error = project.snapshot(SnapshotMode::Files).unwrap_err().to_string();
    assert!(error.contains("/no/such/place"), "{error}");
}
