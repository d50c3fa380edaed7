//! Checkouts of commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::files::{GitWorkspace, WorkspaceSource};

use super::fixtures::{GitWrapper, Origin, TestPlace, entries, git, lease, read};
use crate::workspaces::{CommitQuery, GitCredentials, WorkspaceError, resolve_commit};

#[tokio::test]
async fn commit_is_checked_out_detached_and_removed_without_a_trace() {
    let place = TestPlace::new().await;
    let first = place.origin.commit(&[("größe/日本 x", "one"), ("a", "a")]);
    let second = place.origin.commit(&[("größe/日本 x", "two")]);
    let (old, new) =
        (place.check_out(1, &first).await.unwrap(), place.check_out(2, &second).await.unwrap());
    assert_eq!(
        (read(&old, "größe/日本 x"), read(&new, "größe/日本 x")),
        ("one".into(), "two".into())
    );
    let path = old.path().unwrap();
    assert_eq!(git(path, &["rev-parse", "HEAD"]), first);
    assert_eq!(git(path, &["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
    assert_eq!(git(path, &["status", "--porcelain"]), "");
    for workspace in [old, new] {
        workspace.remove().await.unwrap();
    }
    assert_eq!(place.attempts(), [""; 0]);
    assert_eq!(entries(&place.mirror(1).join("shared.git/worktrees")).len(), 0);
}

/// Eight at once, without a mirror, while the branch moves and the origin removes what no ref reaches.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn eight_attempts_share_a_mirror_while_the_branch_is_force_pushed() {
    let place = Arc::new(TestPlace::new().await);
    let commits: Vec<String> = (0..4)
        .map(|number| {
            let commit = place.origin.commit(&[("file", &format!("{number}"))]);
            place.origin.git(&["tag", &format!("v{number}")]);
            commit
        })
        .collect();
    let over = Arc::new(AtomicBool::new(false));
    let (origin, until) = (place.origin.clone(), Arc::clone(&over));
    let pusher = std::thread::spawn(move || {
        while !until.load(Ordering::Relaxed) {
            origin.git(&["reset", "--quiet", "--hard", "v0"]);
            origin.commit(&[("file", "moved")]);
            origin.git(&["reflog", "expire", "--expire=now", "--all"]);
            origin.git(&["gc", "--quiet", "--prune=now"]);
        }
    });
    for round in 0..2 {
        let attempts: Vec<_> = (0..8_usize)
            .map(|number| {
                let (place, commit) = (Arc::clone(&place), commits[number % 4].clone());
                tokio::spawn(async move {
                    let fence = (round * 8 + number) as u64;
                    let workspace = place.check_out(fence, &commit).await.unwrap();
                    assert_eq!(read(&workspace, "file"), (number % 4).to_string());
                    assert_eq!(git(workspace.path().unwrap(), &["status", "--porcelain"]), "");
                    workspace.remove().await.unwrap();
                })
            })
            .collect();
        for attempt in attempts {
            attempt.await.unwrap();
        }
    }
    over.store(true, Ordering::Relaxed);
    pusher.join().unwrap();
    assert_eq!(place.attempts(), [""; 0]);
}

#[tokio::test]
async fn commit_that_was_force_pushed_away_is_found_while_the_mirror_has_it() {
    let place = TestPlace::new().await;
    let base = place.origin.commit(&[("file", "base")]);
    let between = place.origin.commit(&[("file", "between")]);
    let gone = place.origin.commit(&[("file", "gone")]);
    place.check_out(1, &gone).await.unwrap().remove().await.unwrap();
    place.origin.git(&["reset", "--quiet", "--hard", &base]);
    place.origin.git(&["reflog", "expire", "--expire=now", "--all"]);
    place.origin.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(read(&place.check_out(2, &gone).await.unwrap(), "file"), "gone");
    assert_eq!(read(&place.check_out(3, &between).await.unwrap(), "file"), "between");
    let never = "0123456789".repeat(4);
    let problem = place.check_out(4, &never).await.unwrap_err();
    assert!(matches!(problem, WorkspaceError::NoCommit { .. }), "{problem}");
    assert!(problem.to_string().contains(&never));
}

/// Servers with protocol version 0 refuse commits that no ref names.
#[tokio::test]
async fn server_that_refuses_commits_by_hash_is_asked_for_all_branches() {
    let refuse = "case \"$*\" in *:refs/windlass/*) \
        echo 'error: Server does not allow request for unadvertised object' >&2; exit 1;; esac";
    let place = TestPlace::with(|settings, home| {
        settings.git.program = GitWrapper::new(home, refuse).program();
    })
    .await;
    let first = place.origin.commit(&[("file", "first")]);
    place.origin.commit(&[("file", "second")]);
    assert_eq!(read(&place.check_out(1, &first).await.unwrap(), "file"), "first");
    // A branch takes the place of a folder of branches.
    place.origin.git(&["checkout", "--quiet", "-b", "x/y"]);
    let third = place.origin.commit(&[("file", "third")]);
    assert_eq!(read(&place.check_out(2, &third).await.unwrap(), "file"), "third");
    place.origin.git(&["branch", "--quiet", "-m", "x"]);
    let fourth = place.origin.commit(&[("file", "fourth")]);
    assert_eq!(read(&place.check_out(3, &fourth).await.unwrap(), "file"), "fourth");
}

#[tokio::test]
async fn only_named_folders_are_checked_out() {
    let place = TestPlace::new().await;
    let commit =
        place.origin.commit(&[("top", ""), ("a b/x", ""), ("größe/y/z", ""), ("other/w", "")]);
    let source = GitWorkspace {
        paths: vec!["a b".to_owned(), "größe/y".to_owned()],
        ..place.origin.source(&commit)
    };
    let source = WorkspaceSource::Git(source);
    let workspace = place.workspaces.prepare(&source, &lease(1, 1), None).await.unwrap();
    let path = workspace.path().unwrap();
    let there = |name: &str| path.join(name).exists();
    assert!(there("top") && there("a b/x") && there("größe/y/z") && !there("other"));
    assert_eq!(git(path, &["status", "--porcelain"]), "");
    // The other worktrees of the mirror have all files.
    let whole = place.check_out(2, &commit).await.unwrap();
    assert!(whole.path().unwrap().join("other/w").exists());
}

#[tokio::test]
async fn submodules_are_checked_out_if_they_are_wanted() {
    let place = TestPlace::new().await;
    let inner = Origin::new(&place.home.path().join("inner"));
    inner.commit(&[("inner", "inner")]);
    let outer = Origin::new(&place.home.path().join("outer"));
    outer.commit(&[("outer", "outer")]);
    outer.git(&["submodule", "--quiet", "add", "../inner", "nested"]);
    outer.commit(&[]);
    place.origin.commit(&[("file", "")]);
    place.origin.git(&["submodule", "--quiet", "add", "--name", "a name", "../outer", "sub"]);
    let commit = place.origin.commit(&[]);
    let without = place.check_out(1, &commit).await.unwrap();
    assert_eq!(entries(&without.path().unwrap().join("sub")).len(), 0);
    let source = GitWorkspace { submodules: true, ..place.origin.source(&commit) };
    let source = WorkspaceSource::Git(source);
    let prepare = async |fence| place.workspaces.prepare(&source, &lease(1, fence), None).await;
    let (one, two) = tokio::join!(prepare(2), prepare(3));
    for workspace in [one.unwrap(), two.unwrap()] {
        assert_eq!(read(&workspace, "sub/outer"), "outer");
        assert_eq!(read(&workspace, "sub/nested/inner"), "inner");
        workspace.remove().await.unwrap();
    }
    without.remove().await.unwrap();
    assert_eq!(entries(&place.mirror(1).join("shared.git/worktrees")).len(), 0);
}

#[tokio::test]
async fn repositories_with_sha256_are_checked_out() {
    let place = TestPlace::new().await;
    let origin = Origin::with_format(&place.home.path().join("sha256"), "sha256");
    let commit = origin.commit(&[("file", "long")]);
    assert_eq!(commit.len(), 64);
    let source = WorkspaceSource::Git(origin.source(&commit));
    let workspace = place.workspaces.prepare(&source, &lease(1, 1), None).await.unwrap();
    assert_eq!(read(&workspace, "file"), "long");
}

/// Settings, hooks and branches of a step are gone when the mirror was idle; objects are not removed by its `git gc`.
#[tokio::test]
async fn step_leaves_nothing_to_the_next_user_of_the_mirror() {
    let place = TestPlace::new().await;
    let commit = place.origin.commit(&[("file", "x")]);
    let workspace = place.check_out(1, &commit).await.unwrap();
    let path = workspace.path().unwrap();
    git(path, &["config", "core.hooksPath", ".hooks"]);
    git(path, &["config", "url./nowhere.insteadOf", &place.origin.url()]);
    git(path, &["checkout", "--quiet", "-b", "fix"]);
    git(path, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    git(path, &["gc", "--quiet", "--prune=now"]);
    let common = place.mirror(1).join("shared.git");
    std::fs::create_dir_all(common.join("hooks")).unwrap();
    std::fs::write(common.join("hooks/post-checkout"), "#!/bin/sh\nexit 1\n").unwrap();
    // While it runs, a new commit is fetched without its settings.
    let next = place.origin.commit(&[("file", "y")]);
    let other = place.check_out(2, &next).await.unwrap();
    assert_eq!(read(&other, "file"), "y");
    workspace.remove().await.unwrap();
    other.remove().await.unwrap();
    let workspace = place.check_out(3, &commit).await.unwrap();
    let path = workspace.path().unwrap();
    git(path, &["checkout", "--quiet", "-b", "fix"]);
    let config = git(path, &["config", "--list"]);
    assert!(!config.contains("hookspath") && !config.contains("insteadof"), "{config}");
    assert!(!common.join("hooks").exists());
}

#[tokio::test]
async fn branch_or_tag_is_resolved_to_its_commit() {
    let place = TestPlace::new().await;
    let first = place.origin.commit(&[("file", "one")]);
    place.origin.git(&["tag", "--annotate", "--message=x", "v1"]);
    let second = place.origin.commit(&[("file", "two")]);
    place.origin.git(&["branch", "x/main", &first]);
    let resolve = async |reference: &str| {
        let query = CommitQuery {
            url: place.origin.url(),
            reference: reference.to_owned(),
            within: Duration::from_mins(1),
            credentials: None,
        };
        resolve_commit(Path::new("git"), &query).await
    };
    for (reference, commit) in [
        ("main", &second),
        ("HEAD", &second),
        ("v1", &first),
        ("refs/heads/x/main", &first),
        (&first, &first),
    ] {
        assert_eq!(&resolve(reference).await.unwrap(), commit, "{reference}");
    }
    let problem = resolve("missing").await.unwrap_err().to_string();
    assert!(problem.contains("no branch, tag or ref `missing`"), "{problem}");
    let refused = resolve("--upload-pack=touch x").await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::Address(_)));
}

/// Arguments and settings of git never contain a secret; only commands that reach the server get it.
#[tokio::test]
async fn credentials_are_only_in_the_environment_of_commands_that_reach_the_server() {
    let script = "printf '%s\\n' \"$*\" >> $here/args; env >> $here/env; echo --- >> $here/env\n\
        case \"$*\" in *fetch*) echo \"fatal: https://me:t0ken@h/ t0ken\" >&2; exit 128;; esac";
    let (place, wrapper) = TestPlace::with_git(script).await;
    let source = GitWorkspace {
        url: "https://git.example:8443/x".to_owned(),
        commit: "a".repeat(40),
        paths: Vec::new(),
        submodules: false,
    };
    let credentials = GitCredentials::new("me".to_owned(), "t0ken".to_owned());
    assert!(!format!("{credentials:?}").contains("t0ken"));
    let source = WorkspaceSource::Git(source);
    let problem = place.workspaces.prepare(&source, &lease(1, 1), credentials).await.unwrap_err();
    assert!(problem.to_string().ends_with("fatal: https://***@h/ ***"), "{problem}");
    assert!(!wrapper.read("args").contains("t0ken"));
    let environments = wrapper.read("env");
    let with_token: Vec<&str> =
        environments.split("---\n").filter(|env| env.contains("t0ken")).collect();
    assert_eq!(with_token.len(), 1, "the search in the mirror does not get it");
    assert!(with_token[0].contains("GIT_TOKEN=t0ken\n"));
    assert!(with_token[0].contains("=credential.https://git.example:8443.helper\n"));
    assert!(with_token[0].contains("GIT_ALLOW_PROTOCOL=https:ssh\n"));
    assert_eq!(with_token[0].matches("t0ken").count(), 1);
}

/// The fastest of several runs on either side: other work on the machine only adds time.
#[tokio::test]
async fn checkout_takes_little_longer_than_git_itself() {
    let place = TestPlace::new().await;
    let files: Vec<(String, String)> =
        (0..100).map(|number| (format!("{}/{number}", number % 17), "x".repeat(number))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    let commit = place.origin.commit(&files);
    place.check_out(1, &commit).await.unwrap().remove().await.unwrap();
    let (mut plain, mut ours) = (Duration::MAX, Duration::MAX);
    let plain_folder = place.home.path().join("plain");
    let plain_folder = plain_folder.to_str().unwrap();
    for _ in 0..15 {
        let begun = Instant::now();
        place.origin.git(&["worktree", "add", "--quiet", "--detach", plain_folder, &commit]);
        plain = plain.min(begun.elapsed());
        place.origin.git(&["worktree", "remove", plain_folder]);
        let begun = Instant::now();
        let workspace = place.check_out(2, &commit).await.unwrap();
        ours = ours.min(begun.elapsed());
        workspace.remove().await.unwrap();
        if ours < plain + Duration::from_millis(20) {
            break;
        }
    }
    println!("git worktree add: {plain:?}, prepare: {ours:?}");
    assert!(ours < plain + Duration::from_millis(20), "{plain:?} {ours:?}");
}
