//! Random work trees: a snapshot has their files, and the repository is as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use super::fixtures::{FileState, SnapshotProject, everything_in, files_in, git};
use crate::cli::snapshot::SnapshotMode;

/// Trees of a test: each runs some thirty commands of git.
const TREES: u64 = 8;

/// A small generator (the `SplitMix64` sequence).
struct TreeRng(u64);

impl TreeRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).expect("it is below a usize")
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    fn path(&mut self) -> String {
        let folder = self.pick(&["", "src/", "src/a b/", "out/", "größe/", "-u/"]);
        let name = self.pick(&["x.o", "y.c", "--all", "*", "ab cd", ".hidden", "日本", "z[1]"]);
        format!("{folder}{name}")
    }
}

/// Writes a file or link at a random path, if nothing is in the way.
fn change_something(root: &Path, rng: &mut TreeRng) {
    let path = root.join(rng.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(fs::remove_file(&path));
    match rng.below(5) {
        0 => {}
        1 => symlink("y.c", &path).unwrap(),
        at => {
            fs::write(&path, format!("{}", rng.below(4))).unwrap();
            let mode = if at == 2 { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
    }
}

/// A tree with a commit, and in a random state after it.
fn random_tree(number: u64) -> SnapshotProject {
    let (project, mut rng) = (SnapshotProject::with_git(), TreeRng(number));
    let root = project.root();
    let write_some = |rng: &mut TreeRng, times| {
        (0..times).for_each(|_| change_something(&root, rng));
    };
    write_some(&mut rng, 15);
    git(&root, &["add", "-A"]);
    project.commit(&[]);
    let rules = rng.pick(&["*.o\n", "out/\n!out/x.o\n", "/src/*\n!/src/y.c\n", "*\n", "-u\n"]);
    project.write(".gitignore", rules);
    project.write(".windlass/runs/1", "state");
    write_some(&mut rng, 6);
    // Something is in the stash, and something in the index.
    git(&root, &["stash", "-q"]);
    project.write(".gitignore", rules);
    write_some(&mut rng, 8);
    git(&root, &["add", "-u"]);
    write_some(&mut rng, 8);
    project
}

/// The files that are tracked or not ignored, by other commands than those of a snapshot.
fn expected(root: &Path, with_untracked: bool) -> BTreeMap<String, FileState> {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let tracked = text(git(root, &["ls-tree", "-r", "-z", "--name-only", &write_tree(root)]));
    let tracked: BTreeSet<&str> = tracked.split('\0').collect();
    let all = files_in(root);
    let mut asked = Command::new("git");
    asked.args(["check-ignore", "--no-index", "-z", "--stdin"]).current_dir(root);
    let mut child = asked.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let names = all.keys().map(String::as_str).collect::<Vec<_>>().join("\0");
    child.stdin.take().unwrap().write_all(names.as_bytes()).unwrap();
    let ignored = text(child.wait_with_output().unwrap().stdout);
    let ignored: BTreeSet<&str> = ignored.split('\0').collect();
    let is_selected = |path: &str| {
        let is_untracked = !ignored.contains(path) && !path.starts_with(".windlass/");
        tracked.contains(path) || with_untracked && is_untracked
    };
    all.iter()
        .filter(|(path, _)| is_selected(path))
        .map(|(path, state)| (path.clone(), state.clone()))
        .collect()
}

/// Writes the index as a tree, by means of copies of index and objects.
fn write_tree(root: &Path) -> String {
    let place = tempfile::tempdir().unwrap();
    let copied = Command::new("cp").arg("-a").arg(root.join(".git")).arg(place.path()).status();
    assert!(copied.unwrap().success());
    let written = git(place.path(), &["write-tree"]);
    // The tree is made in the repository too, so that it can be listed; that is before the state is compared.
    assert_eq!(git(root, &["write-tree"]), written);
    String::from_utf8(written).unwrap().trim().to_owned()
}

#[test]
fn snapshot_has_the_files_of_the_work_tree_and_leaves_the_repository_alone() {
    for number in 0..TREES {
        let project = random_tree(number);
        let root = project.root();
        for mode in [SnapshotMode::Files, SnapshotMode::Tracked] {
            let expected = expected(&root, mode == SnapshotMode::Files);
            let observed = || {
                let read = |arguments: &[&str]| git(&root, arguments);
                (read(&["status", "-z"]), read(&["stash", "list"]), read(&["show-ref"]))
            };
            let (state, files) = (observed(), everything_in(&root));
            let (taken, restored) = project.snapshot(mode).unwrap();
            assert_eq!(restored, expected, "tree {number}, {mode:?}");
            assert!(everything_in(&root) == files, "tree {number}: something was written");
            assert_eq!(observed(), state, "tree {number}");
            let head = String::from_utf8(git(&root, &["rev-parse", "HEAD"])).unwrap();
            assert!(taken.revision.unwrap().starts_with(head.trim()), "tree {number}");
        }
    }
}

#[test]
fn revision_says_whether_files_differ_from_the_commit() {
    let project = SnapshotProject::with_git();
    let revision = || project.snapshot(SnapshotMode::Files).unwrap().0.revision;
    project.write("a", "1");
    assert_eq!(revision(), None, "there is no commit");
    project.commit(&["a"]);
    let head = String::from_utf8(git(&project.root(), &["rev-parse", "HEAD"])).unwrap();
    let head = head.trim();
    assert_eq!(revision().as_deref(), Some(head));
    project.write("b", "untracked");
    assert_eq!(revision(), Some(format!("{head}-dirty")));
    let tracked = project.snapshot(SnapshotMode::Tracked).unwrap().0.revision;
    assert_eq!(tracked.as_deref(), Some(head));
    project.write("a", "changed");
    let tracked = project.snapshot(SnapshotMode::Tracked).unwrap().0.revision;
    assert_eq!(tracked, Some(format!("{head}-dirty")));
}
