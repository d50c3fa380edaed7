//! The objects of files that did not change since the last capture.

use windlass_core::object::ObjectId;
use windlass_core::time::{Span, Time};

/// A file that changed within this time before a capture is not remembered: it could change again without another time. Two
/// seconds is the coarsest time of a file system in use (FAT).
const SETTLED: Span = Span::secs(2);

/// The properties of a file that change with its bytes. A process cannot set the time of the last change of an inode, so
/// restoring the time of the last modification hides nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) size: u64,
    /// Time of the last modification, in nanoseconds.
    pub(super) modified: i64,
    /// Time of the last change of the inode, in nanoseconds.
    pub(super) changed: i64,
    pub(super) inode: u64,
    pub(super) device: u64,
}

impl FileStamp {
    /// Whether the file had rested when a capture began.
    pub(super) fn is_settled(&self, began: Time) -> bool {
        let limit = (began - SETTLED).as_millis().saturating_mul(1_000_000);
        let is_before = |nanos: i64| u64::try_from(nanos).is_ok_and(|nanos| nanos < limit);
        is_before(self.modified) && is_before(self.changed)
    }
}

/// A file whose object is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) path: Box<str>,
    pub(super) stamp: FileStamp,
    pub(super) object: ObjectId,
}

/// The objects of the files of one folder, in the order of a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatCache(pub(super) Vec<KnownFile>);

impl StatCache {
    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no file is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns a cursor, which finds files in the order of a manifest.
    pub(super) fn cursor(&self) -> StatCacheCursor<'_> {
        StatCacheCursor(&self.0)
    }
}

/// The files that were not compared yet.
#[derive(Debug)]
pub(super) struct StatCacheCursor<'a>(&'a [KnownFile]);

impl StatCacheCursor<'_> {
    /// Returns the object of a file if it did not change. Each path must follow the one before in the order of a manifest.
    pub(super) fn find(&mut self, path: &str, stamp: &FileStamp) -> Option<ObjectId> {
        let smallest = |byte: u8| if byte == b'/' { 0 } else { byte };
        while let [known, rest @ ..] = self.0 {
            // Almost always equal, which is compared fast.
            if *known.path == *path {
                self.0 = rest;
                return (known.stamp == *stamp).then_some(known.object);
            }
            if known.path.bytes().map(smallest).gt(path.bytes().map(smallest)) {
                return None;
            }
            self.0 = rest;
        }
        None
    }
}
