//! A pack: many small objects in one file, which never changes.
//!
//! ```text
//!  frames │ index: entries sorted by id │ footer
//!  entry:  id (32) │ offset of the frame (4) │ offset in its plain bytes (4) │ size (4)
//!  footer: offset of the index (8) │ entries (4) │ BLAKE3 of index, offset and count (32) │ "wlpack 1"
//! ```

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use windlass_core::object::ObjectId;

use super::frame::{invalid, read_frame};
use super::layout::read_exact_at;
use crate::objects::interface::BATCH_OBJECTS_MAX;

const MAGIC: &[u8; 8] = b"wlpack 1";
const FOOTER: usize = 8 + 4 + 32 + MAGIC.len();
const ENTRY: usize = ObjectId::BYTES + 12;

/// The location of an object in a pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackEntry {
    pub(super) id: ObjectId,
    pub(super) frame: u32,
    pub(super) start: u32,
    pub(super) size: u32,
}

/// Encodes index and footer. `at` is the offset of the index.
pub(super) fn encode_index(entries: &[PackEntry], at: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY + FOOTER);
    for PackEntry { id, frame, start, size } in entries {
        bytes.extend_from_slice(id.as_bytes());
        for number in [frame, start, size] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let count = u32::try_from(entries.len()).expect("a batch has few objects");
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(&count.to_le_bytes());
    let hash = ObjectId::of(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes.extend_from_slice(MAGIC);
    bytes
}

/// Reads the index of a pack. Errors of kind `InvalidData` and `UnexpectedEof` are damage.
pub(super) fn read_index(path: &Path) -> io::Result<Vec<PackEntry>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let cut = || io::Error::from(ErrorKind::UnexpectedEof);
    let mut footer = [0; FOOTER];
    read_exact_at(&file, &mut footer, length.checked_sub(FOOTER as u64).ok_or_else(cut)?)?;
    let (numbers, rest) = footer.split_at(12);
    let (hash, magic) = rest.split_at(32);
    if magic != MAGIC {
        return Err(invalid("it is not a pack of version 1"));
    }
    let at = u64::from_le_bytes(numbers[..8].try_into().expect("eight bytes"));
    let count = u32::from_le_bytes(numbers[8..].try_into().expect("four bytes")) as usize;
    let size = length.checked_sub(FOOTER as u64).and_then(|end| end.checked_sub(at));
    if count > BATCH_OBJECTS_MAX || size != Some((count * ENTRY) as u64) {
        return Err(invalid("its index has another size"));
    }
    let mut index = vec![0; count * ENTRY];
    read_exact_at(&file, &mut index, at)?;
    if ObjectId::of(&[&index, numbers].concat()).as_bytes() != hash {
        return Err(invalid("its index does not match its checksum"));
    }
    Ok(index.chunks_exact(ENTRY).map(decode_entry).collect())
}

fn decode_entry(bytes: &[u8]) -> PackEntry {
    let (id, numbers) = bytes.split_at(ObjectId::BYTES);
    let number =
        |at: usize| u32::from_le_bytes(numbers[4 * at..4 * at + 4].try_into().expect("four bytes"));
    let id = ObjectId::new(id.try_into().expect("32 bytes"));
    PackEntry { id, frame: number(0), start: number(1), size: number(2) }
}

/// Reads objects of a pack. It keeps the last frame: objects that were stored together are read together.
#[derive(Debug)]
pub(super) struct PackReader {
    file: File,
    frame: Option<(u32, Result<Vec<u8>, String>)>,
}

impl PackReader {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, frame: None })
    }

    /// Reads an object and compares it with its id. The inner error describes damage.
    pub(super) fn read(&mut self, entry: &PackEntry) -> io::Result<Result<Vec<u8>, String>> {
        if entry.size == 0 {
            // A pack of empty objects has no frame.
            return Ok(slice(&[], &PackEntry { start: 0, ..*entry }));
        }
        if self.frame.as_ref().is_none_or(|(at, _)| *at != entry.frame) {
            let plain = match read_frame(&self.file, entry.frame.into()) {
                Err(error) if super::frame::is_damage(&error) => Err(error.to_string()),
                frame => Ok(frame?.plain),
            };
            self.frame = Some((entry.frame, plain));
        }
        let (_, plain) = self.frame.as_ref().expect("it was read");
        Ok(plain.as_ref().map_err(Clone::clone).and_then(|plain| slice(plain, entry)))
    }
}

fn slice(plain: &[u8], entry: &PackEntry) -> Result<Vec<u8>, String> {
    let start = entry.start as usize;
    let bytes = plain.get(start..start + entry.size as usize);
    let bytes = bytes.ok_or("its frame is too short")?;
    if ObjectId::of(bytes) == entry.id {
        Ok(bytes.to_vec())
    } else {
        Err("its bytes do not match its hash".to_owned())
    }
}
