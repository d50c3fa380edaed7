//! The stat cache: files that did not change are not read, and no change is missed.

use std::fs::{self, File};

use windlass_core::time::{Span, Time};

use super::fixtures::{LATE, fill, folder, write};
use crate::objects::tree::{StatCache, capture_tree};

#[test]
fn unchanged_files_are_not_read() {
    let (home, folder) = (folder(), folder());
    fill(home.path());
    let first = capture_tree(home.path(), &StatCache::default(), LATE).unwrap();
    assert_eq!((first.hashed, first.cache.len()), (308, 308));
    let path = folder.path().join("cache");
    first.cache.save(&path).unwrap();
    let cache = StatCache::load(&path);
    assert_eq!(cache, first.cache);
    let again = capture_tree(home.path(), &cache, LATE).unwrap();
    assert_eq!((again.hashed, again.manifest), (0, first.manifest));
}

/// Each change makes the file unknown, even one that keeps size and time of modification.
#[test]
fn every_change_is_found() {
    let home = folder();
    fill(home.path());
    let first = capture_tree(home.path(), &StatCache::default(), LATE).unwrap();
    let path = home.path().join("a.txt");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, "yyyyy").unwrap();
    File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
    fs::remove_file(home.path().join("many/0")).unwrap();
    write(home.path(), "many/new", "new");
    fs::rename(home.path().join("many/1"), home.path().join("many/2")).unwrap();
    let second = capture_tree(home.path(), &first.cache, LATE).unwrap();
    // The written, the new and the renamed file.
    assert_eq!((second.hashed, second.cache.len()), (3, 307));
    let plain = capture_tree(home.path(), &StatCache::default(), LATE).unwrap();
    assert_eq!(second.manifest, plain.manifest);
    assert_eq!(second.cache, plain.cache);
}

/// A file that changed a moment ago could change again at the same time of its file system.
#[test]
fn file_that_has_not_settled_is_not_remembered() {
    let home = folder();
    fill(home.path());
    let modified = fs::metadata(home.path().join("a.txt")).unwrap().modified().unwrap();
    let millis = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let now = Time::from_millis(u64::try_from(millis).unwrap());
    let captured = |at| capture_tree(home.path(), &StatCache::default(), at).unwrap().cache;
    assert!(captured(now).is_empty());
    assert!(captured(now + Span::secs(1)).is_empty());
    assert_eq!(captured(now + Span::mins(1)).len(), 308);
}

#[test]
fn damaged_cache_is_an_empty_one() {
    let (home, folder) = (folder(), folder());
    fill(home.path());
    let cache = capture_tree(home.path(), &StatCache::default(), LATE).unwrap().cache;
    let path = folder.path().join("cache");
    assert!(StatCache::load(&path).is_empty(), "it is missing");
    cache.save(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    for at in [0, 30, 60, bytes.len() / 2, bytes.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&path, damaged).unwrap();
        assert!(StatCache::load(&path).is_empty(), "byte {at}");
    }
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(StatCache::load(&path).is_empty());
}
