//! Killed commands, damaged mirrors and deadlines.

use std::fs;
use std::time::Duration;

use windlass_core::files::WorkspaceSource;
use windlass_core::time::Time;

use super::fixtures::{GitWrapper, TestPlace, entries, lease, read};
use crate::workspaces::{GitFailureCause, WorkspaceError};

/// The file `kill` has a command of git and a moment. The limit of file sizes kills git in the middle of a write.
const KILLER: &str = "
for word in \"$@\"; do
  if [ -e $here/kill ] && read stage moment < $here/kill && [ \"$stage\" = \"$word\" ]; then
    rm $here/kill
    case $moment in
      before) kill -9 $$;;
      during) ulimit -f 4;;
      after) $real \"$@\"; kill -9 $$;;
    esac
  fi
done";

/// Bytes that git cannot compress.
fn noise() -> String {
    let mut bytes = vec![0; 100_000];
    blake3::Hasher::new().finalize_xof().fill(&mut bytes);
    bytes.iter().map(|byte| char::from(b' ' + byte % 64)).collect()
}

#[tokio::test]
async fn attempt_after_a_killed_git_works() {
    let (place, wrapper) = TestPlace::with_git(KILLER).await;
    let mut fence = 0;
    for stage in ["fetch", "for-each-ref", "reset"] {
        for moment in ["before", "during", "after"] {
            let text = format!("{stage} {moment} {}", noise());
            let commit = place.origin.commit(&[("file", &text)]);
            wrapper.write("kill", &format!("{stage} {moment}\n"));
            fence += 2;
            let killed = place.check_out(fence, &commit).await;
            assert_eq!(wrapper.read("kill"), "", "git was killed at {stage} {moment}");
            drop(killed);
            let workspace = place.check_out(fence + 1, &commit).await;
            let workspace = workspace.unwrap_or_else(|error| panic!("{stage} {moment}: {error}"));
            assert_eq!(read(&workspace, "file"), text);
            workspace.remove().await.unwrap();
        }
    }
    place.workspaces.sweep(Time::ZERO).await.unwrap();
    assert_eq!(place.attempts(), [""; 0]);
    assert_eq!(entries(&place.state().join("ws/.trash")).len(), 0);
}

#[tokio::test]
async fn killed_git_is_reported_and_its_folder_removed() {
    let (place, wrapper) = TestPlace::with_git(KILLER).await;
    let commit = place.origin.commit(&[("file", "x")]);
    wrapper.write("kill", "fetch before\n");
    let Err(WorkspaceError::Git(failure)) = place.check_out(1, &commit).await else { panic!() };
    assert_eq!(failure.cause, GitFailureCause::Signal(9));
    assert_eq!(
        failure.to_string(),
        format!("git could not fetch {}: signal 9 ended it", place.origin.url())
    );
    assert_eq!(place.attempts(), [""; 0]);
}

#[tokio::test]
async fn locks_of_a_killed_git_do_not_stop_the_next_one() {
    let place = TestPlace::new().await;
    let first = place.origin.commit(&[("file", "one")]);
    place.check_out(1, &first).await.unwrap().remove().await.unwrap();
    let second = place.origin.commit(&[("file", "two")]);
    let fetch = place.mirror(1).join("fetch.git");
    for lock in ["config.lock", "packed-refs.lock", "shallow.lock", "HEAD.lock"] {
        fs::write(fetch.join(lock), "").unwrap();
    }
    fs::write(fetch.join(format!("refs/windlass/{second}.lock")), "").unwrap();
    let entry = place.mirror(1).join("shared.git/worktrees/1.2");
    fs::create_dir_all(&entry).unwrap();
    fs::write(entry.join("locked"), "initializing").unwrap();
    let folder = place.state().join("ws/x/1.2/.git");
    fs::write(entry.join("gitdir"), folder.to_str().unwrap()).unwrap();
    assert_eq!(read(&place.check_out(2, &second).await.unwrap(), "file"), "two");
}

#[tokio::test]
async fn damaged_mirror_is_made_anew_once_and_running_steps_keep_the_old_one() {
    let place = TestPlace::new().await;
    let commit = place.origin.commit(&[("file", "one")]);
    let running = place.check_out(1, &commit).await.unwrap();
    let packs = place.mirror(1).join("shared.git/objects/pack");
    for pack in entries(&packs) {
        fs::remove_file(&pack).unwrap();
        fs::write(&pack, "damaged").unwrap();
    }
    let workspace = place.check_out(2, &commit).await.unwrap();
    assert_eq!(read(&workspace, "file"), "one");
    assert!(place.mirror(1).join("damaged").exists() && place.mirror(2).exists());
    assert!(running.path().unwrap().join(".git").exists());
    running.remove().await.unwrap();
    workspace.remove().await.unwrap();
    place.workspaces.sweep(Time::ZERO).await.unwrap();
    assert!(!place.mirror(1).exists() && place.mirror(2).exists());
}

#[tokio::test]
async fn mirror_whose_files_were_cut_heals() {
    for file in
        ["fetch.git/HEAD", "fetch.git/config", "fetch.git/refs", "shared.git/objects", "format"]
    {
        let place = TestPlace::new().await;
        let commit = place.origin.commit(&[("file", "one")]);
        place.check_out(1, &commit).await.unwrap().remove().await.unwrap();
        let path = place.mirror(1).join(file);
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else {
            fs::write(&path, "[").unwrap();
        }
        let next = place.origin.commit(&[("file", "two")]);
        let workspace = place.check_out(2, &next).await;
        let workspace = workspace.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(read(&workspace, "file"), "two");
    }
}

#[tokio::test]
async fn command_that_hangs_is_killed_at_its_deadline() {
    let hang = "case \"$*\" in *fetch*--quiet*) sleep 600;; esac";
    let place = TestPlace::with(|settings, home| {
        settings.git.program = GitWrapper::new(home, hang).program();
        settings.git.fetch_within = Duration::from_millis(300);
    })
    .await;
    let commit = place.origin.commit(&[("file", "one")]);
    let Err(WorkspaceError::Git(failure)) = place.check_out(1, &commit).await else { panic!() };
    assert_eq!(failure.cause, GitFailureCause::Deadline(Duration::from_millis(300)));
    assert_eq!(place.attempts(), [""; 0]);
}

/// The wrapper holds the lock of fetches until it is dead: another attempt that gets the lock proves the end.
#[tokio::test]
async fn dropped_preparation_kills_git_and_leaves_nothing() {
    let script = "case \"$*\" in *fetch*--quiet*) if ! [ -e $here/hung ]; then touch $here/hung; sleep 600; fi;; esac";
    let (place, wrapper) = TestPlace::with_git(script).await;
    let commit = place.origin.commit(&[("file", "one")]);
    let hung = place.home.path().join("wrapper/hung");
    let appears = async {
        while !hung.exists() {
            tokio::task::yield_now().await;
        }
    };
    let source = WorkspaceSource::Git(place.origin.source(&commit));
    let lease = lease(1, 1);
    tokio::select! {
        _ = place.workspaces.prepare(&source, &lease, None) => panic!("it hangs"),
        () = appears => {}
    }
    let workspace = place.check_out(2, &commit).await.unwrap();
    assert_eq!(read(&workspace, "file"), "one");
    place.workspaces.sweep(Time::ZERO).await.unwrap();
    assert_eq!(place.attempts(), ["1.2", "1.2.owner"]);
    drop(wrapper);
}

#[tokio::test]
async fn missing_git_is_explained() {
    let place = TestPlace::with(|settings, _| settings.git.program = "/nowhere/git".into()).await;
    let commit = place.origin.commit(&[("file", "one")]);
    let problem = place.check_out(1, &commit).await.unwrap_err().to_string();
    assert!(problem.contains("install git on this worker"), "{problem}");
}
