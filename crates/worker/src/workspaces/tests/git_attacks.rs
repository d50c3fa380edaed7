//! Repositories and addresses that try to run programs or to write elsewhere.

use std::fs;
use std::os::unix::fs::symlink;

use windlass_core::files::{GitWorkspace, WorkspaceSource};

use super::fixtures::{TestPlace, lease};
use crate::workspaces::{Workspace, WorkspaceError};

async fn prepare(place: &TestPlace, source: GitWorkspace) -> Result<Workspace, WorkspaceError> {
    place.workspaces.prepare(&WorkspaceSource::Git(source), &lease(1, 1), None).await
}

#[tokio::test]
async fn hostile_addresses_commits_and_paths_are_refused_before_git_starts() {
    // Every start of git fails.
    let place = TestPlace::with(|settings, _| settings.git.program = "/nowhere/git".into()).await;
    let sound = place.origin.source(&"a".repeat(40));
    for url in
        ["--upload-pack=touch x", "ext::sh -c touch% x", "fd::7", "-x", "https://me:p@h/x", "a\nb"]
    {
        let source = GitWorkspace { url: url.to_owned(), ..sound.clone() };
        let refused = prepare(&place, source).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::Address(_)), "{url}: {refused}");
    }
    for commit in ["main", "--force", "", "HEAD", &"A".repeat(40), "a..b"] {
        let refused = prepare(&place, place.origin.source(commit)).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::Address(_)), "{commit}: {refused}");
    }
    for path in ["--stdin", "../x", "/etc", "", "a/../b", "!a", "#a", "a*", "a\nb", "a\\b"] {
        let source = GitWorkspace { paths: vec![path.to_owned()], ..sound.clone() };
        let refused = prepare(&place, source).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::SparsePath(_)), "{path}: {refused}");
    }
    assert_eq!(place.attempts(), [""; 0]);
}

#[tokio::test]
async fn submodules_with_hostile_addresses_are_refused() {
    for url in [
        "-u./payload",
        "ext::sh -c payload",
        "--upload-pack=payload",
        "http://h/x",
        "../../..//../../../-x:y",
    ] {
        let place = TestPlace::new().await;
        let modules = format!("[submodule \"a\"]\n\tpath = a\n\turl = {url}\n");
        place.origin.commit(&[(".gitmodules", &modules)]);
        let head = place.origin.head();
        place.origin.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},a")]);
        place.origin.git(&["commit", "--quiet", "--message=x"]);
        let source = GitWorkspace { submodules: true, ..place.origin.source(&place.origin.head()) };
        let refused = prepare(&place, source).await.unwrap_err();
        assert!(matches!(refused, WorkspaceError::Submodule { .. }), "{url}: {refused}");
        assert_eq!(place.attempts(), [""; 0]);
    }
}

/// A server on the network must not make a worker copy repositories from its own disk.
#[tokio::test]
async fn submodule_in_a_folder_is_allowed_only_for_a_repository_in_a_folder() {
    let script = "case \"$*\" in *' submodule '*) env > $here/env;; esac";
    let (place, wrapper) = TestPlace::with_git(script).await;
    let modules = "[submodule \"a\"]\n\tpath = a\n\turl = ../other\n";
    let commit = place.origin.commit(&[(".gitmodules", modules)]);
    let source = GitWorkspace { submodules: true, ..place.origin.source(&commit) };
    prepare(&place, source).await.unwrap();
    assert!(wrapper.read("env").contains("GIT_ALLOW_PROTOCOL=https:ssh:file\n"));
}

/// A link, and a folder of the same name in the commit: the tree is written with plumbing, since git refuses to add it.
#[tokio::test]
async fn checkout_does_not_write_through_a_link() {
    let place = TestPlace::new().await;
    let outside = place.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, place.origin.0.join("link")).unwrap();
    place.origin.commit(&[("link-file", "x")]);
    let blob = place.origin.git(&["rev-parse", "HEAD:link-file"]);
    fs::write(place.origin.0.join("payload"), "owned").unwrap();
    let payload = place.origin.git(&["hash-object", "-w", "payload"]);
    fs::remove_file(place.origin.0.join("link")).unwrap();
    symlink(&outside, place.origin.0.join("link")).unwrap();
    let target = place.origin.git(&["rev-parse", "HEAD:link"]);
    let listing = |lines: &str, name: &str| {
        let file = place.home.path().join(name);
        fs::write(&file, lines).unwrap();
        let command = format!("git mktree < '{}'", file.display());
        let made = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(&place.origin.0)
            .output();
        String::from_utf8(made.unwrap().stdout).unwrap().trim().to_owned()
    };
    let folder = listing(&format!("100644 blob {payload}\twritten\n"), "inner");
    let tree = listing(
        &format!("120000 blob {target}\tlink\n040000 tree {folder}\tlink\n100644 blob {blob}\tz\n"),
        "tree",
    );
    let commit = place.origin.git(&["commit-tree", "-m", "x", &tree]);
    place.origin.git(&["reset", "--quiet", "--soft", &commit]);
    // Git may refuse the commit or write one of both: nothing is written outside.
    drop(prepare(&place, place.origin.source(&commit)).await);
    assert_eq!(outside.read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn hooks_and_filters_of_a_repository_do_not_run() {
    let place = TestPlace::new().await;
    let mark = place.home.path().join("mark");
    let attributes = "* filter=evil\n";
    let commit = place.origin.commit(&[
        (".gitattributes", attributes),
        ("file", "x"),
        ("hooks/post-checkout", ""),
    ]);
    place.origin.git(&["config", "filter.evil.smudge", &format!("touch '{}'", mark.display())]);
    place.origin.git(&[
        "config",
        "uploadpack.packObjectsHook",
        &format!("touch '{}'", mark.display()),
    ]);
    fs::create_dir_all(place.origin.0.join(".git/hooks")).unwrap();
    let workspace = prepare(&place, place.origin.source(&commit)).await.unwrap();
    assert!(workspace.path().unwrap().join("file").exists());
    assert!(!mark.exists());
}
