//! The stat cache as a file. It only saves work: a missing or damaged one is an empty one.
//!
//! ```text
//!  "windlass stat cache 1\n" │ BLAKE3 of the rest (32) │ files
//!  file: length (2) │ path │ size, modified, changed, inode, device (8 each) │ object (32)
//! ```

use std::path::Path;
use std::{fs, io};

use windlass_core::object::ObjectId;
use windlass_net::files::private_files;
use windlass_net::random::random_hex;

use super::stat_cache::{FileStamp, KnownFile, StatCache};

const HEADER: &[u8] = b"windlass stat cache 1\n";

impl StatCache {
    /// Reads a cache.
    pub fn load(path: &Path) -> Self {
        let read = || decode(&fs::read(path).ok()?);
        read().unwrap_or_default()
    }

    /// Writes the cache over an older one. It is not synced: after a crash it is read as empty.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let new = path.with_file_name(format!("{name}.{}.new", random_hex()));
        private_files::write(&new, self.encode())?;
        fs::rename(&new, path)
    }

    fn encode(&self) -> Vec<u8> {
        let mut body = Vec::with_capacity(self.0.len() * 140);
        for KnownFile { path, stamp, object } in &self.0 {
            let length = u16::try_from(path.len()).expect("a path of a manifest is short");
            body.extend_from_slice(&length.to_le_bytes());
            body.extend_from_slice(path.as_bytes());
            let FileStamp { size, modified, changed, inode, device } = stamp;
            let times = [*modified, *changed].map(i64::cast_unsigned);
            for number in [*size, times[0], times[1], *inode, *device] {
                body.extend_from_slice(&number.to_le_bytes());
            }
            body.extend_from_slice(object.as_bytes());
        }
        [HEADER, ObjectId::of(&body).as_bytes(), &body].concat()
    }
}

fn decode(bytes: &[u8]) -> Option<StatCache> {
    let (hash, mut rest) = bytes.strip_prefix(HEADER)?.split_first_chunk::<32>()?;
    if ObjectId::of(rest).as_bytes() != hash {
        return None;
    }
    let mut files = Vec::new();
    while !rest.is_empty() {
        files.push(decode_file(&mut rest)?);
    }
    Some(StatCache(files))
}

fn decode_file(rest: &mut &[u8]) -> Option<KnownFile> {
    let length = take::<2>(rest).map(u16::from_le_bytes)?;
    let (path, after) = rest.split_at_checked(length.into())?;
    *rest = after;
    let mut number = || take::<8>(rest).map(u64::from_le_bytes);
    let (size, modified, changed) = (number()?, number()?, number()?);
    let (inode, device) = (number()?, number()?);
    let (modified, changed) = (modified.cast_signed(), changed.cast_signed());
    let stamp = FileStamp { size, modified, changed, inode, device };
    let object = ObjectId::new(take::<32>(rest)?);
    Some(KnownFile { path: str::from_utf8(path).ok()?.into(), stamp, object })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (array, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*array)
}
