//! Names that attack commands and terminals, and files that cannot be sent.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::fixtures::{SnapshotProject, git};
use crate::cli::snapshot::SnapshotMode;

fn error_of(project: &SnapshotProject) -> String {
    project.snapshot(SnapshotMode::Files).expect_err("it cannot be sent").to_string()
}

#[test]
fn names_like_options_and_patterns_are_names() {
    let project = SnapshotProject::with_git();
    let names = ["\"quoted\"", "*", "--all", "-u", ":(glob)x", "[a]", "a b", "~", "日本"];
    for name in names {
        project.write(name, "1");
    }
    assert_eq!(project.paths(SnapshotMode::Files), names);
    git(&project.root(), &["add", "-A"]);
    assert_eq!(project.paths(SnapshotMode::Tracked), names);
}

#[test]
fn names_that_no_manifest_has_are_refused_unless_they_are_ignored() {
    let project = SnapshotProject::with_git();
    project.write("a\nb/c", "1");
    let error = error_of(&project);
    assert!(error.contains(r#""a\nb" contains a control character"#), "{error}");
    project.write(".gitignore", "a?b\n");
    assert_eq!(project.paths(SnapshotMode::Files), [".gitignore"]);
}

#[cfg(target_os = "linux")]
#[test]
fn name_that_is_not_text_is_refused_unless_it_is_ignored_or_deleted() {
    let project = SnapshotProject::with_git();
    let odd = project.root().join(OsStr::from_bytes(b"a\xff.c"));
    fs::write(&odd, "1").unwrap();
    let error = error_of(&project);
    assert!(error.contains("is not UTF-8"), "{error}");
    git(&project.root(), &["add", "-A"]);
    assert!(error_of(&project).contains("is not UTF-8"));
    fs::remove_file(&odd).unwrap();
    assert!(project.paths(SnapshotMode::Files).is_empty());
    fs::write(&odd, "1").unwrap();
    git(&project.root(), &["rm", "-q", "--cached", "-r", "."]);
    project.write(".gitignore", "*.c\n");
    assert_eq!(project.paths(SnapshotMode::Files), [".gitignore"]);
}

#[test]
fn link_that_leads_out_is_refused_by_name() {
    let project = SnapshotProject::with_git();
    symlink("/etc/passwd", project.root().join("link")).unwrap();
    let error = error_of(&project);
    assert!(error.starts_with("the symbolic link \"link\" has an absolute target"), "{error}");
}

/// The place of a tracked folder has a link, and that of a tracked file a folder.
#[test]
fn paths_of_another_kind_than_in_the_index_are_as_on_disk() {
    let project = SnapshotProject::with_git();
    for path in ["folder/a", "file", "target/a"] {
        project.write(path, "1");
    }
    project.commit(&["folder/a", "file", "target/a"]);
    fs::remove_dir_all(project.root().join("folder")).unwrap();
    symlink("target", project.root().join("folder")).unwrap();
    fs::remove_file(project.root().join("file")).unwrap();
    project.write("file/new", "1");
    assert_eq!(project.paths(SnapshotMode::Files), ["file/new", "folder", "target/a"]);
}

#[test]
fn file_that_cannot_be_read_is_refused_by_name() {
    let project = SnapshotProject::with_git();
    project.write("a", "1");
    fs::set_permissions(project.root().join("a"), fs::Permissions::from_mode(0o0)).unwrap();
    match project.snapshot(SnapshotMode::Files) {
        // The superuser reads every file.
        Ok(_) => assert!(rustix::process::geteuid().is_root()),
        Err(error) => assert!(error.to_string().starts_with("cannot read \"a\""), "{error}"),
    }
}

#[test]
fn untracked_files_that_look_like_secrets_are_left_out_and_listed() {
    let project = SnapshotProject::with_git();
    for path in [".env", ".env.example", "deploy/server.key", "tracked.pem", "a"] {
        project.write(path, "1");
    }
    project.commit(&["tracked.pem"]);
    let (taken, files) = project.snapshot(SnapshotMode::Files).unwrap();
    assert_eq!(files.into_keys().collect::<Vec<_>>(), [".env.example", "a", "tracked.pem"]);
    let message = "not in the snapshot, because they look like secrets: .env, deploy/server.key; send them with \
                   --snapshot=all";
    assert_eq!(taken.messages(), [message]);
    assert_eq!(project.paths(SnapshotMode::All).len(), 5);
}
