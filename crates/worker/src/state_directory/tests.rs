//! State directories that processes open, leave and open again.

use std::path::Path;

use tempfile::TempDir;
use windlass_core::id::{Fence, Incarnation, RunId, StepIx};
use windlass_core::outcome::{Outcome, StepOutput};
use windlass_core::session::{FinishedAttempt, FormerIncarnationProof, LeaseRef};
use windlass_core::time::{Span, Time};

use super::{
    GuardLock, GuardLockIdentity, StateDirectory, StateDirectoryError, WorkerIncarnations,
};

fn finished(fence: u64, output: StepOutput) -> FinishedAttempt {
    let lease = LeaseRef { fence: Fence(fence), run: RunId(7), step: StepIx(1), attempt: 1 };
    FinishedAttempt {
        lease,
        outcome: Outcome { output, ..Outcome::exit(0) },
        ran: Some(Span::secs(1)),
    }
}

/// Finds the one file of this name, at any depth.
fn find(folder: &Path, name: &str) -> std::path::PathBuf {
    let clusters = folder.join("clusters").read_dir().unwrap();
    let mut files = clusters.map(|cluster| cluster.unwrap().path().join(name));
    files.find(|file| file.exists()).unwrap()
}

#[test]
fn two_processes_do_not_share_a_directory() {
    let folder = TempDir::new().unwrap();
    let first = StateDirectory::open(folder.path()).unwrap();
    let refused = StateDirectory::open(folder.path()).unwrap_err();
    let pid = Some(std::process::id());
    assert_eq!(refused, StateDirectoryError::InUse { folder: folder.path().to_owned(), pid });
    assert!(refused.to_string().contains(&format!("in use by process {}", std::process::id())));
    let membership = first.join_cluster("ours").unwrap();
    drop(first);
    StateDirectory::open(folder.path()).unwrap_err();
    drop(membership);
    StateDirectory::open(folder.path()).unwrap();
}

/// Steps write there from wherever they run.
#[test]
fn paths_do_not_depend_on_where_the_worker_was_started() {
    let here = std::env::current_dir().unwrap();
    let folder = TempDir::new_in(&here).unwrap();
    let state = StateDirectory::open(folder.path().strip_prefix(&here).unwrap()).unwrap();
    assert!(state.scratch().is_absolute());
    assert!(state.join_cluster("ours").unwrap().logs().is_absolute());
}

#[test]
fn worker_keeps_one_identity_and_spool_per_cluster() {
    let folder = TempDir::new().unwrap();
    let state = StateDirectory::open(folder.path()).unwrap();
    let ours = state.join_cluster("ours").unwrap();
    let outcomes = [finished(3, StepOutput::NONE), finished(4, StepOutput::inline("{\"a\":1}"))];
    ours.keep_outcomes(&outcomes).unwrap();
    let theirs = state.join_cluster("../theirs").unwrap();
    assert_ne!(theirs.worker_id(), ours.worker_id());
    assert!(theirs.outcomes().is_empty());
    assert_ne!(theirs.logs(), ours.logs());
    assert!(theirs.logs().starts_with(folder.path().join("clusters")));
    let (id, secret) = (ours.worker_id(), ours.secret().clone());
    drop((ours, theirs, state));
    let again = StateDirectory::open(folder.path()).unwrap().join_cluster("ours").unwrap();
    assert_eq!((again.worker_id(), again.secret()), (id, &secret));
    assert_eq!(again.outcomes(), outcomes);
    again.forget_outcomes();
    assert!(again.outcomes().is_empty());
}

#[test]
fn incarnation_number_grows_even_if_the_clock_is_set_back() {
    let folder = TempDir::new().unwrap();
    let enter = || StateDirectory::open(folder.path()).unwrap().join_cluster("ours").unwrap();
    let at = |millis| {
        let now = Time::from_millis(millis);
        enter().incarnations().begin(Incarnation(0), GuardLockIdentity::default(), now).unwrap().0
    };
    let numbers = [at(5_000), at(4_000), at(5_001), at(9_000)];
    assert!(numbers.is_sorted_by(|earlier, later| earlier < later), "{numbers:?}");
}

/// Returns what a new incarnation in this directory proves of the earlier ones.
fn proven(folder: &Path) -> FormerIncarnationProof {
    let (lock, identity) = GuardLock::try_take(folder).unwrap().expect("no guard is there");
    let incarnations = WorkerIncarnations::open(&folder.join("lives")).unwrap();
    let proven = incarnations.begin(Incarnation(0), identity, Time::from_millis(1)).unwrap().1;
    drop(lock);
    proven
}

#[cfg(target_os = "linux")]
#[test]
fn incarnation_proves_earlier_guards_of_this_folder_dead() {
    let folder = TempDir::new().unwrap();
    assert_eq!(proven(folder.path()), FormerIncarnationProof::Unknown, "there was none");
    let FormerIncarnationProof::ProvenDead(one) = proven(folder.path()) else {
        panic!("its lock is free")
    };
    let FormerIncarnationProof::ProvenDead(two) = proven(folder.path()) else {
        panic!("its lock is free")
    };
    assert_eq!((one.len(), two.len()), (1, 2), "the second died before it was heard, perhaps");
    assert_eq!(one[0], two[0]);
    let copy = TempDir::new().unwrap();
    for file in ["guard.lock", "lives"] {
        std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
    }
    let (_held, _) = GuardLock::try_take(folder.path()).unwrap().unwrap();
    assert_eq!(proven(copy.path()), FormerIncarnationProof::Unknown, "the original may be alive");
}

#[cfg(target_os = "linux")]
#[test]
fn incarnation_of_another_boot_is_not_proven_dead() {
    let folder = TempDir::new().unwrap();
    proven(folder.path());
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let other: String = boot.trim().chars().rev().collect();
    let file = folder.path().join("lives");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(boot.trim(), &other)).unwrap();
    // A process that took the lock here and began no incarnation changes nothing.
    drop(GuardLock::try_take(folder.path()).unwrap().unwrap());
    assert_eq!(proven(folder.path()), FormerIncarnationProof::Unknown, "mounted on another host");
}

#[tokio::test(start_paused = true)]
async fn wait_for_a_hung_guard_is_bounded() {
    let folder = TempDir::new().unwrap();
    proven(folder.path());
    let held = GuardLock::try_take(folder.path()).unwrap().unwrap();
    assert!(GuardLock::try_take(folder.path()).unwrap().is_none());
    let (lock, _) = GuardLock::take(folder.path()).await.unwrap();
    assert!(GuardLock::try_take(folder.path()).unwrap().is_none(), "the new lock is another");
    drop(lock);
    assert_eq!(
        proven(folder.path()),
        FormerIncarnationProof::Unknown,
        "the former guard may be alive"
    );
    drop(held);
}

#[cfg(unix)]
#[test]
fn secret_is_readable_by_its_owner_only_and_never_replaced() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = TempDir::new().unwrap();
    drop(StateDirectory::open(folder.path()).unwrap().join_cluster("ours").unwrap());
    let file = find(folder.path(), "secret");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, "scribble").unwrap();
    let refused =
        StateDirectory::open(folder.path()).unwrap().join_cluster("ours").unwrap_err().to_string();
    assert!(refused.contains("secret cannot be used"), "{refused}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "scribble");
}

#[test]
fn damaged_or_excess_outcomes_are_left_out() {
    let folder = TempDir::new().unwrap();
    let state = StateDirectory::open(folder.path()).unwrap();
    let ours = state.join_cluster("ours").unwrap();
    let large = |fence| finished(fence, StepOutput::inline("x".repeat(200 * 1024)));
    ours.keep_outcomes(&[large(1), large(2), large(3), finished(4, StepOutput::NONE)]).unwrap();
    let fences: Vec<u64> = ours.outcomes().iter().map(|it| it.lease.fence.0).collect();
    assert_eq!(fences, [1, 2, 4]);
    let file = find(folder.path(), "outcomes");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert!(ours.outcomes().is_empty());
    ours.keep_outcomes(&[finished(5, StepOutput::NONE)]).unwrap();
    assert_eq!(ours.outcomes().len(), 1);
    ours.keep_outcomes(&[]).unwrap();
    assert!(!file.exists());
}
