//! Folders without git: their permissions, owners and removal.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use windlass_core::files::WorkspaceSource;
use windlass_core::object::ObjectId;
use windlass_core::time::{Span, Time};
use windlass_store::objects::tree::{StatCache, capture_tree, send_tree};
use windlass_store::objects::{ObjectInventory, send_bytes};

use super::fixtures::{TestPlace, entries, lease, objects, read, settings};
use crate::workspaces::{Workspace, WorkspaceError, Workspaces};

async fn empty(workspaces: &Workspaces, fence: u64) -> Workspace {
    workspaces.prepare(&WorkspaceSource::None, &lease(1, fence), None).await.unwrap()
}

fn system_time_now() -> Time {
    let file = tempfile::tempfile().unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap())
}

#[tokio::test]
async fn each_attempt_gets_an_empty_private_folder_that_is_removed() {
    let place = TestPlace::new().await;
    let workspace = empty(&place.workspaces, 3).await;
    let path = workspace.path().unwrap().to_owned();
    assert!(path.ends_with("1.3") && path.starts_with(place.state().canonicalize().unwrap()));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(entries(&path).len(), 0);
    fs::write(path.join("made"), "by the step").unwrap();
    workspace.remove().await.unwrap();
    assert_eq!(place.attempts(), [""; 0]);
    assert!(!path.parent().unwrap().exists(), "the folder of the run is removed too");
    assert_eq!(entries(&place.state().join("ws/.trash")).len(), 0);
}

#[tokio::test]
async fn folders_of_the_user_are_neither_made_nor_removed() {
    let place = TestPlace::new().await;
    let here = place.workspaces.prepare(&WorkspaceSource::Here, &lease(1, 1), None).await.unwrap();
    assert_eq!(here.path(), None);
    here.remove().await.unwrap();
    let shared = place.home.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let prepare = async |path: &Path| {
        let source = WorkspaceSource::Shared(path.to_str().unwrap().to_owned());
        place.workspaces.prepare(&source, &lease(1, 1), None).await
    };
    let workspace = prepare(&shared).await.unwrap();
    assert_eq!(workspace.path(), Some(&*shared));
    workspace.remove().await.unwrap();
    assert!(shared.is_dir());
    let problem = prepare(&place.home.path().join("missing")).await.unwrap_err().to_string();
    assert!(problem.contains("missing does not exist: create or mount it"), "{problem}");
    fs::write(place.home.path().join("file"), "").unwrap();
    let problem = prepare(&place.home.path().join("file")).await.unwrap_err().to_string();
    assert!(problem.contains("is not a folder"), "{problem}");
    let problem = prepare(Path::new("relative")).await.unwrap_err().to_string();
    assert!(problem.contains("is not an absolute path"), "{problem}");
}

#[tokio::test]
async fn snapshot_is_written_or_its_missing_object_is_named() {
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("größe"), "content").unwrap();
    let store = Arc::new(objects());
    let captured = capture_tree(source.path(), &StatCache::default(), Time::ZERO).unwrap();
    send_tree(&*store, source.path(), &captured.manifest).await.unwrap();
    let id = send_bytes(&*store, captured.manifest.encode()).await.unwrap();
    let kept = Arc::clone(&store);
    let place = TestPlace::with(move |settings, _| settings.objects = kept).await;
    let prepare = async |id| {
        place.workspaces.prepare(&WorkspaceSource::Snapshot(id), &lease(1, 1), None).await
    };
    let workspace = prepare(id).await.unwrap();
    assert_eq!(read(&workspace, "größe"), "content");
    workspace.remove().await.unwrap();
    let file = ObjectId::of(b"content");
    store.remove(vec![file], Time::from_millis(u64::MAX)).await.unwrap();
    let problem = prepare(id).await.unwrap_err();
    assert!(problem.to_string().contains(&file.to_string()), "{problem}");
    assert_eq!(place.attempts(), [""; 0], "no half a folder is left");
    let unknown = ObjectId::of(b"unknown");
    assert!(matches!(prepare(unknown).await, Err(WorkspaceError::Manifest { .. })));
    let wrong = send_bytes(&*store, b"no manifest".to_vec()).await.unwrap();
    assert!(matches!(prepare(wrong).await, Err(WorkspaceError::NotAManifest { .. })));
}

#[tokio::test]
async fn trees_that_a_step_has_made_unreadable_are_removed() {
    let place = TestPlace::new().await;
    let outside = place.home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "").unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o500)).unwrap();
    let workspace = empty(&place.workspaces, 1).await;
    let path = workspace.path().unwrap().to_owned();
    fs::create_dir_all(path.join("a/b/c")).unwrap();
    fs::write(path.join("a/b/c/file"), "").unwrap();
    symlink(&outside, path.join("a/link")).unwrap();
    for folder in ["a/b/c", "a/b", "a", ""] {
        fs::set_permissions(path.join(folder), Permissions::from_mode(0o000)).unwrap();
    }
    workspace.remove().await.unwrap();
    assert!(!path.exists());
    assert_eq!(entries(&place.state().join("ws/.trash")).len(), 0);
    assert!(outside.join("precious").exists(), "a link is not followed");
    assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o777, 0o500);
}

#[tokio::test]
async fn folder_of_a_killed_process_is_removed_at_the_next_start_and_that_of_a_living_one_is_not() {
    let place = TestPlace::new().await;
    let ours = empty(&place.workspaces, 1).await;
    let owners = place.state().join("ws/.owners");
    let run = ours.path().unwrap().parent().unwrap().to_owned();
    let mut children = ["living", "killed"].map(|name| {
        let lock = File::create(owners.join(name)).unwrap();
        lock.lock().unwrap();
        // The child has the lock when this process has closed its file.
        Command::new("sleep").arg("600").stdin(Stdio::from(lock)).spawn().unwrap()
    });
    for (fence, owner) in [(2, "living"), (3, "killed"), (4, "unknown"), (5, "")] {
        fs::write(run.join(format!("1.{fence}.owner")), owner).unwrap();
        fs::create_dir(run.join(format!("1.{fence}"))).unwrap();
    }
    fs::create_dir(run.join("1.6")).unwrap();
    children[1].kill().unwrap();
    children[1].wait().unwrap();
    let second = Workspaces::open(settings(&place.state())).await.unwrap();
    assert_eq!(place.attempts(), ["1.1", "1.1.owner", "1.2", "1.2.owner"]);
    let refused = second.prepare(&WorkspaceSource::None, &lease(1, 2), None).await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::InUse { .. }), "{refused}");
    let refused = second.prepare(&WorkspaceSource::None, &lease(1, 1), None).await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::InUse { .. }), "{refused}");
    children[0].kill().unwrap();
    children[0].wait().unwrap();
    second.sweep(system_time_now()).await.unwrap();
    assert_eq!(place.attempts(), ["1.1", "1.1.owner"]);
    assert!(ours.path().unwrap().is_dir());
}

#[tokio::test]
async fn dropped_workspace_is_removed_by_the_next_sweep() {
    let place = TestPlace::new().await;
    drop(empty(&place.workspaces, 1).await);
    let used = empty(&place.workspaces, 2).await;
    assert_eq!(place.attempts(), ["1.1", "1.1.owner", "1.2", "1.2.owner"]);
    place.workspaces.sweep(system_time_now()).await.unwrap();
    assert_eq!(place.attempts(), ["1.2", "1.2.owner"]);
    used.remove().await.unwrap();
}

#[tokio::test]
async fn kept_folders_are_removed_when_they_are_old_or_too_many() {
    let place = TestPlace::with(|settings, _| settings.limits.kept_max = 2).await;
    for fence in 1..=3 {
        let workspace = empty(&place.workspaces, fence).await;
        let path = workspace.path().unwrap().to_owned();
        workspace.keep().await.unwrap();
        // The first one is the oldest.
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000 + fence);
        let record = File::open(path.with_file_name(format!("1.{fence}.kept"))).unwrap();
        record.set_modified(since).unwrap();
    }
    let kept = Time::from_millis(1_000_000_003_000);
    place.workspaces.sweep(kept + Span::hours(23)).await.unwrap();
    assert_eq!(place.attempts(), ["1.2", "1.2.kept", "1.3", "1.3.kept"]);
    drop(Workspaces::open(settings(&place.state())).await.unwrap());
    assert_eq!(place.attempts(), ["1.2", "1.2.kept", "1.3", "1.3.kept"]);
    place.workspaces.sweep(kept + Span::hours(24)).await.unwrap();
    assert_eq!(place.attempts(), ["1.3", "1.3.kept"]);
    place.workspaces.sweep(kept + Span::hours(25)).await.unwrap();
    assert_eq!(place.attempts(), [""; 0]);
}
