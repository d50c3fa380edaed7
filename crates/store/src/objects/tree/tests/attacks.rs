//! Folders and manifests that want to leave their folder.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use windlass_core::manifest::{EntryKind, Manifest, ManifestEntry, ManifestPath};
use windlass_core::object::ObjectId;

use super::fixtures::{capture, copy, folder, store, write};
use crate::conformance::block_on as wait;
use crate::objects::tree::{TreeError, materialize_tree};
use crate::objects::{MemoryObjects, ObjectError, send_bytes};

fn entry(path: &str, kind: EntryKind) -> ManifestEntry {
    ManifestEntry { path: ManifestPath::parse(path).expect("a valid path"), kind }
}

fn file(path: &str, bytes: &[u8]) -> ManifestEntry {
    let (size, object) = (bytes.len() as u64, ObjectId::of(bytes));
    entry(path, EntryKind::File { executable: false, size, object })
}

/// Writes a manifest of `dir/sub/evil`, whose bytes are in the store.
fn write_evil(to: &Path) -> Result<(), TreeError> {
    let store = store();
    wait(send_bytes(&store, b"evil".to_vec())).unwrap();
    let folders = ["dir", "dir/sub"].map(|path| entry(path, EntryKind::Folder));
    let entries = folders.into_iter().chain([file("dir/sub/evil", b"evil")]).collect();
    let manifest = Manifest::from_entries(entries).unwrap();
    wait(materialize_tree(&store, &manifest, to, None))
}

#[test]
fn special_files_are_refused_by_name() {
    let home = folder();
    write(home.path(), "fine/file", "x");
    let _listener = UnixListener::bind(home.path().join("fine/socket")).unwrap();
    let error = capture(home.path()).unwrap_err().to_string();
    let message =
        "\"fine/socket\" is a socket, which no other machine can have: remove it, or leave it out";
    assert_eq!(error, message);
    fs::remove_file(home.path().join("fine/socket")).unwrap();
    let pipe = home.path().join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    let error = capture(home.path()).unwrap_err();
    assert!(matches!(&error, TreeError::Special { path, .. } if path == "pipe"), "{error}");
}

#[test]
fn names_and_links_that_no_manifest_has_are_refused_by_name() {
    let names = [("new\nline", "control character"), ("back\\slash", "backslash")];
    for (name, reason) in names {
        let home = folder();
        write(home.path(), name, "x");
        let error = capture(home.path()).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
    for target in ["/etc/passwd", "../outside", "a/../../outside"] {
        let home = folder();
        symlink(target, home.path().join("link")).unwrap();
        let error = capture(home.path()).unwrap_err().to_string();
        assert!(error.starts_with("the symbolic link \"link\""), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn name_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let home = folder();
    fs::write(home.path().join(std::ffi::OsStr::from_bytes(b"a\xff")), "x").unwrap();
    let error = capture(home.path()).unwrap_err();
    assert!(matches!(error, TreeError::NotUtf8 { .. }), "{error}");
}

/// A link in place of a folder is never followed, wherever it leads.
#[test]
fn link_in_place_of_a_folder_is_not_followed() {
    for (link, target) in [("dir", "outside"), ("dir/sub", "../outside"), ("dir/sub", "..")] {
        let home = folder();
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(root.join(link).parent().unwrap()).unwrap();
        symlink(home.path().join(target), root.join(link)).unwrap();
        let error = write_evil(&root).unwrap_err();
        assert!(matches!(error, TreeError::NotAFolder { .. }), "{error}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}

#[test]
fn existing_file_is_not_overwritten_and_existing_link_is_not_followed() {
    let home = folder();
    let (root, victim) = (home.path().join("root"), home.path().join("victim"));
    fs::write(&victim, "victim").unwrap();
    for is_link in [false, true] {
        fs::create_dir_all(root.join("dir/sub")).unwrap();
        let evil = root.join("dir/sub/evil");
        if is_link {
            symlink(&victim, &evil).unwrap();
        } else {
            fs::write(&evil, "mine").unwrap();
        }
        let error = write_evil(&root).unwrap_err();
        assert!(matches!(&error, TreeError::Exists { path } if path == "dir/sub/evil"), "{error}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "victim");
        fs::remove_file(evil).unwrap();
    }
}

/// Another process exchanges a folder for a link and back, while a manifest is written again and again.
#[test]
fn race_with_a_link_never_writes_outside() {
    let home = folder();
    let (root, outside) = (home.path().join("root"), home.path().join("outside"));
    fs::create_dir_all(&outside).unwrap();
    let ends = AtomicBool::new(false);
    let (mut written, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                drop(fs::rename(root.join("dir/sub"), root.join("dir/moved")));
                drop(symlink(&outside, root.join("dir/sub")));
                drop(fs::remove_file(root.join("dir/sub")));
            }
        });
        for _ in 0..500 {
            match write_evil(&root) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
            drop(fs::remove_dir_all(&root));
        }
        ends.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{written} written, {refused} refused");
    assert!(written > 0 && refused > 0, "no race: {written} written, {refused} refused");
}

/// Another process exchanges a folder for a link while the folder is captured: nothing outside is read.
#[test]
fn race_with_a_link_never_reads_outside() {
    let home = folder();
    let (root, outside) = (home.path().join("root"), home.path().join("outside"));
    write(&outside, "secret", "secret");
    write(&root, "dir/sub/file", "x");
    let ends = AtomicBool::new(false);
    let secret = ObjectId::of(b"secret");
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                drop(fs::rename(root.join("dir/sub"), root.join("moved")));
                drop(symlink("../../outside", root.join("dir/sub")));
                drop(fs::remove_file(root.join("dir/sub")));
                drop(fs::rename(root.join("moved"), root.join("dir/sub")));
            }
        });
        for _ in 0..300 {
            let Ok(captured) = capture(&root) else { continue };
            let is_secret = |entry: &ManifestEntry| matches!(&entry.kind, EntryKind::File { object, .. } if *object == secret);
            assert!(!captured.manifest.entries().iter().any(is_secret));
        }
        ends.store(true, Ordering::Relaxed);
    });
}

#[test]
fn manifest_that_lies_about_an_object_is_refused() {
    let store: MemoryObjects = store();
    let id = wait(send_bytes(&store, b"five!".to_vec())).unwrap();
    let large = wait(send_bytes(&store, vec![1; 3 << 20])).unwrap();
    for (object, size) in [(id, 4), (id, 0), (id, 2 << 20), (large, 3), (large, 2 << 20)] {
        let home = folder();
        let lie = entry("a", EntryKind::File { executable: false, size, object });
        let manifest = Manifest::from_entries(vec![lie]).unwrap();
        let error = wait(materialize_tree(&store, &manifest, home.path(), None)).unwrap_err();
        let refused =
            matches!(error, TreeError::OtherSize { .. } | TreeError::Object(ObjectError::Limit(_)));
        assert!(refused, "{size}: {error}");
    }
}

#[test]
fn folder_that_is_too_deep_is_refused() {
    let home = folder();
    let deep = ["d"; 70].join("/");
    fs::create_dir_all(home.path().join(deep)).unwrap();
    let error = capture(home.path()).unwrap_err().to_string();
    assert!(error.contains("is in more than 63 folders"), "{error}");
    assert!(copy(home.path(), home.path(), None).is_err());
}
