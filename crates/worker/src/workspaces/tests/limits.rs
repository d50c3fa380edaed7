//! Limits of the disk and of mirrors.

use std::fs::File;
use std::time::{Duration, SystemTime};

use windlass_core::files::WorkspaceSource;
use windlass_core::time::{Span, Time};

use super::fixtures::{Origin, TestPlace, entries, lease};
use crate::workspaces::WorkspaceError;

#[tokio::test]
async fn full_disk_is_reported_after_kept_folders_and_mirrors_were_removed() {
    let place = TestPlace::new().await;
    let commit = place.origin.commit(&[("file", "x")]);
    place.check_out(1, &commit).await.unwrap().keep().await.unwrap();
    let mut settings = super::fixtures::settings(&place.state());
    settings.limits.min_free = Some(u64::MAX);
    let full = crate::workspaces::Workspaces::open(settings).await.unwrap();
    assert_eq!(place.attempts(), ["1.1", "1.1.kept"]);
    assert!(full.disk_room().await.unwrap().is_low());
    let refused = full.prepare(&WorkspaceSource::None, &lease(1, 2), None).await.unwrap_err();
    assert!(matches!(refused, WorkspaceError::DiskLow { .. }), "{refused}");
    assert!(refused.to_string().contains("must stay free: remove files there"), "{refused}");
    assert_eq!(place.attempts(), [""; 0]);
    let left = entries(&place.state().join("git"));
    assert!(left.iter().all(|path| path.ends_with(".trash")), "{left:?}");
    // A folder of the user needs no room.
    full.prepare(&WorkspaceSource::Here, &lease(1, 3), None).await.unwrap();
}

#[tokio::test]
async fn default_minimum_is_at_most_a_twentieth_of_the_disk() {
    let place = TestPlace::with(|settings, _| settings.limits.min_free = None).await;
    let room = place.workspaces.disk_room().await.unwrap();
    assert!(room.min_free > 0 && room.min_free <= 5 << 30, "{room:?}");
}

#[tokio::test]
async fn least_recently_used_mirrors_are_removed_unless_an_attempt_uses_them() {
    let place = TestPlace::with(|settings, _| settings.limits.mirrors_max = 2).await;
    let mut used = None;
    for number in 1..=4 {
        let origin = Origin::new(&place.home.path().join(format!("origin{number}")));
        let commit = origin.commit(&[("file", "x")]);
        let source = WorkspaceSource::Git(origin.source(&commit));
        let workspace = place.workspaces.prepare(&source, &lease(1, number), None).await.unwrap();
        if number == 1 {
            used = Some(workspace);
        } else {
            workspace.remove().await.unwrap();
        }
        // The time of the last use of the mirror that is new.
        for lock in entries(&place.state().join("git")) {
            let file = File::open(&lock).unwrap();
            let recent = file.metadata().unwrap().modified().unwrap() > time(100);
            if lock.extension().is_some_and(|it| it == "lock") && recent {
                file.set_modified(time(number)).unwrap();
            }
        }
    }
    let mirrors = || {
        let entries = entries(&place.state().join("git"));
        entries.iter().filter(|path| path.extension().is_some_and(|it| it == "lock")).count()
    };
    place.workspaces.sweep(Time::ZERO).await.unwrap();
    assert_eq!(mirrors(), 3, "the latest two, and the one in use");
    used.take().unwrap().remove().await.unwrap();
    place.workspaces.sweep(Time::ZERO).await.unwrap();
    assert_eq!(mirrors(), 2);
    place.workspaces.sweep(Time::ZERO + Span::hours(24 * 40)).await.unwrap();
    assert_eq!(mirrors(), 0);
}

fn time(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Fetches that follow each other leave a pack each.
#[tokio::test]
async fn sweep_packs_the_objects_of_a_mirror_and_its_commits_stay() {
    let place = TestPlace::new().await;
    let commits: Vec<String> =
        (0..23).map(|number| place.origin.commit(&[("file", &format!("{number}"))])).collect();
    for (fence, commit) in commits.iter().enumerate() {
        place.check_out(fence as u64, commit).await.unwrap().remove().await.unwrap();
    }
    let packs = || {
        let packs = entries(&place.mirror(1).join("shared.git/objects/pack"));
        packs.iter().filter(|path| path.extension().is_some_and(|it| it == "pack")).count()
    };
    assert!(packs() > 20);
    place.workspaces.sweep(Time::ZERO).await.unwrap();
    assert!(packs() < 5, "{}", packs());
    std::fs::remove_dir_all(&place.origin.0).unwrap();
    for (fence, commit) in commits.iter().enumerate().step_by(6) {
        let workspace = place.check_out(1000 + fence as u64, commit).await.unwrap();
        assert_eq!(super::fixtures::read(&workspace, "file"), fence.to_string());
    }
}
