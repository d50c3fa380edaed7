//! Submodules, nested repositories, work trees, and projects that are a part of a repository.

use std::fs;

use super::fixtures::{SnapshotProject, git};
use crate::cli::snapshot::SnapshotMode;

/// Makes a repository in a folder of a project, with a committed, an untracked and an ignored file.
fn add_repository(project: &SnapshotProject, folder: &str) {
    for (name, bytes) in [("in", "in"), ("new", "new"), ("ignored", "x"), (".gitignore", "ignored")]
    {
        project.write(&format!("{folder}/{name}"), bytes);
    }
    let folder = project.root().join(folder);
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "in", ".gitignore"]);
    git(&folder, &["commit", "-q", "-m", "x"]);
}

#[test]
fn submodule_has_its_own_files() {
    let project = SnapshotProject::with_git();
    add_repository(&project, "lib/sub");
    add_repository(&project, "lib/sub/deep");
    git(&project.root().join("lib/sub"), &["add", "deep"]);
    project.commit(&["lib/sub"]);
    add_repository(&project, "lib/gone");
    project.commit(&["lib/gone"]);
    // A submodule that is not initialised is an empty folder.
    fs::remove_dir_all(project.root().join("lib/gone")).unwrap();
    fs::create_dir(project.root().join("lib/gone")).unwrap();
    let tracked =
        ["lib/sub/.gitignore", "lib/sub/deep/.gitignore", "lib/sub/deep/in", "lib/sub/in"];
    assert_eq!(project.paths(SnapshotMode::Tracked), tracked);
    let mut all = tracked.to_vec();
    all.extend(["lib/sub/deep/new", "lib/sub/new"]);
    all.sort_unstable();
    assert_eq!(project.paths(SnapshotMode::Files), all);
}

#[test]
fn nested_repository_that_is_no_submodule_has_its_own_files() {
    let project = SnapshotProject::with_git();
    add_repository(&project, "nested");
    project.write("a", "1");
    project.commit(&["a"]);
    assert_eq!(project.paths(SnapshotMode::Tracked), ["a"]);
    let all = ["a", "nested/.gitignore", "nested/in", "nested/new"];
    assert_eq!(project.paths(SnapshotMode::Files), all);
}

#[test]
fn work_tree_with_a_file_in_place_of_its_repository_is_a_project() {
    let (main, project) = (SnapshotProject::with_git(), SnapshotProject::new());
    main.write("a", "1");
    main.write("b", "2");
    main.commit(&["a", "b"]);
    fs::remove_dir(project.root()).unwrap();
    git(&main.root(), &["worktree", "add", "-q", project.root().to_str().unwrap()]);
    assert!(project.root().join(".git").is_file());
    project.write("new", "3");
    fs::remove_file(project.root().join("b")).unwrap();
    assert_eq!(project.paths(SnapshotMode::Files), ["a", "new"]);
}

#[test]
fn project_can_be_a_folder_of_a_repository() {
    let outer = SnapshotProject::with_git();
    outer.write(".gitignore", "*.o\n");
    outer.write("app/a.c", "1");
    outer.write("app/a.o", "2");
    outer.write("other", "3");
    outer.commit(&["app/a.c", "other"]);
    let mut request = outer.request(SnapshotMode::Files);
    request.root = outer.root().join("app");
    let taken = super::fixtures::taken(&request, &super::fixtures::store()).unwrap();
    assert_eq!((taken.files, taken.bytes), (1, 1));
}

/// A home folder that is a repository ignores most of what is in it.
#[test]
fn project_that_the_repository_above_ignores_has_its_own_rules() {
    let outer = SnapshotProject::with_git();
    outer.write(".gitignore", "*\n");
    outer.commit(&[".gitignore"]);
    for (path, bytes) in [("app/a", "1"), ("app/out", "22"), ("app/.gitignore", "out\n")] {
        outer.write(path, bytes);
    }
    let mut request = outer.request(SnapshotMode::Files);
    request.root = outer.root().join("app");
    let taken = super::fixtures::taken(&request, &super::fixtures::store()).unwrap();
    assert_eq!((taken.files, taken.revision), (2, None));
}
