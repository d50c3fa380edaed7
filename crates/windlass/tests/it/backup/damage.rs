//! Backups that are damaged, newer, or not wanted where they are to go.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use windlass_store::conformance::block_on;
use windlass_store::objects::{
    BLOCK, FolderObjects, ObjectInventory as _, ObjectStore as _, send_bytes,
};

use super::restored_store::{back_up, is_sound};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::random_below;

/// A project with a run and two objects, one of them large, and its backup `to`.
fn backed_up() -> ProjectFolder {
    let project = ProjectFolder::with("name: p\nsteps: { s: { run: 'echo ran' } }\n");
    assert_eq!(project.run("run").code, Some(0));
    let objects = FolderObjects::open(project.path().join(".windlass")).expect("it opens");
    for bytes in [b"small".to_vec(), large_object()] {
        block_on(send_bytes(&objects, bytes)).expect("it is stored");
    }
    drop(objects);
    back_up(&project, "to");
    project
}

fn large_object() -> Vec<u8> {
    (0..3 * BLOCK).map(|at| u8::try_from(at % 251).expect("it is small")).collect()
}

/// Every file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it is a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn objects_are_in_the_backup_and_in_the_restored_store() {
    let project = backed_up();
    is_sound(&project, "to");
    project.data("store restore to --store other");
    let objects = FolderObjects::open(project.path().join("other")).expect("it opens");
    let stored = block_on(objects.list(None, 9)).expect("they are listed");
    assert_eq!(stored.len(), 2);
    let large = stored.iter().find(|it| it.size > BLOCK as u64).expect("it is there");
    let read = block_on(objects.read(large.id, 0..9)).expect("it is sound");
    assert_eq!(read.bytes, large_object()[..9]);
    let checked = project.data("store check other");
    assert!(
        checked.contains("2 objects of 3145733 bytes")
            && checked.ends_with("; nothing is damaged\n")
    );
}

#[test]
fn a_flipped_bit_in_any_file_of_a_backup_is_named_by_check_and_by_restore() {
    let project = backed_up();
    let backup = project.path().join("to");
    let all = files(&backup);
    assert!(all.len() >= 7, "{all:?}");
    for file in all {
        let sound = fs::read(&file).expect("it can be read");
        let mut bytes = sound.clone();
        if bytes.is_empty() {
            continue;
        }
        let at = random_below(bytes.len());
        bytes[at] ^= 1 << random_below(8);
        fs::write(&file, bytes).expect("it can be written");
        let restored = project.run("store restore to --store other");
        let name = file.file_name().and_then(|it| it.to_str()).expect("it is UTF-8");
        assert_eq!(restored.code, Some(5), "byte {at} of {name}: {restored:?}");
        let newer = name == "backup.json" && restored.err.contains("newer windlass");
        assert!(newer || restored.err.contains(name), "byte {at} of {name}: {restored:?}");
        assert!(!project.path().join("other").exists(), "{name}");
        let checked = project.run("store check to");
        assert!(matches!(checked.code, Some(1 | 5)), "byte {at} of {name}: {checked:?}");
        fs::write(file, sound).expect("it can be written");
    }
    project.data("store restore to --store other");
}

#[test]
fn restore_refuses_what_is_no_backup_and_a_store_that_is_not_empty() {
    let project = backed_up();
    project.run("store restore nothing --store other").expect_error(2, "there is no backup in");
    project.run("store restore .windlass --store other").expect_error(2, "there is no backup in");
    project.run("store restore to --store .windlass").expect_error(2, "name an empty one");
    let manifest = project.read("to/backup.json");
    project.file("to/backup.json", manifest.replace("\"version\": 1", "\"version\": 9"));
    project.run("store restore to --store other").expect_error(5, "newer windlass");
    assert!(!project.path().join("other").exists());
}

#[test]
fn backup_refuses_a_folder_with_content_and_is_private() {
    let project = backed_up();
    project.run("store backup to").expect_error(2, "is not empty");
    project.file("third.partial/theirs", "text");
    project.run("store backup third").expect_error(2, "third.partial is not empty");
    project.run("store backup other --store nothing").expect_error(2, "there is no store in");
    fs::create_dir(project.path().join("empty")).expect("it is new");
    back_up(&project, "empty");
    let lock = project.path().join("fourth.partial/backup.lock");
    project.file("fourth.partial/backup.lock", "");
    let held = fs::File::open(lock).expect("it is there");
    held.lock().expect("it is free");
    project.run("store backup fourth").expect_error(5, "another process writes a backup");
    drop(held);
    back_up(&project, "fourth");
    let private = |path: &Path| {
        let mode = fs::metadata(path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
    };
    private(&project.path().join("fourth"));
    for file in files(&project.path().join("fourth")) {
        private(&file);
    }
}

#[test]
fn backup_is_no_store_to_run_in_and_can_be_read() {
    let project = backed_up();
    let before = files(&project.path().join("to"));
    for line in ["run --store to", "serve --store to --listen 127.0.0.1:0"] {
        let refused = project.run(line);
        assert_eq!(refused.code, Some(5), "{line}: {refused:?}");
        assert!(refused.err.contains("windlass store restore"), "{line}: {refused:?}");
    }
    assert_eq!(project.data("runs --json --store to"), project.data("runs --json"));
    assert_eq!(project.data("logs --store to"), project.data("logs"));
    assert_eq!(files(&project.path().join("to")), before);
    is_sound(&project, "to");
}
