//! A large object in a file of its own.
//!
//! ```text
//!  blocks │ table: for each block its offset (8) and hash (32) │ footer
//!  block:  frame │ hash of the block (32)
//!  footer: offset of the table (8) │ blocks (4) │ size of the object (8) │ "wlobj  1"
//! ```
//!
//! The hashes beside the blocks are those with which an upload continues after a crash; the table is for readers.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use windlass_core::object::ObjectId;

use super::block_tree::{BlockHash, block_hash, root};
use super::frame::{invalid, push_frame, read_frame};
use super::layout::read_exact_at;
use crate::objects::interface::{BLOCK, OBJECT_BYTES_MAX};

const MAGIC: &[u8; 8] = b"wlobj  1";
const FOOTER: usize = 8 + 4 + 8 + MAGIC.len();
const ROW: usize = 8 + 32;
const BLOCKS_MAX: u64 = OBJECT_BYTES_MAX / BLOCK as u64;

/// The blocks of an object: their offsets in the file, and their hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockTable {
    pub(super) offsets: Vec<u64>,
    pub(super) hashes: Vec<BlockHash>,
    /// The size of the object.
    pub(super) size: u64,
}

/// Appends a block to a buffer, and returns its hash. `at` is its offset in the object.
pub(super) fn push_block(buffer: &mut Vec<u8>, at: u64, plain: &[u8]) -> BlockHash {
    let hash = block_hash(at, plain);
    push_frame(buffer, plain);
    buffer.extend_from_slice(&hash);
    hash
}

/// Reads the block at an offset of the file and compares it with the hash beside it. Returns it, its hash, and the offset
/// behind it. `at` is its offset in the object.
pub(super) fn read_block(
    file: &File,
    offset: u64,
    at: u64,
) -> io::Result<(Vec<u8>, BlockHash, u64)> {
    let frame = read_frame(file, offset)?;
    let mut hash = [0; 32];
    read_exact_at(file, &mut hash, frame.end)?;
    if frame.plain.len() > BLOCK || block_hash(at, &frame.plain) != hash {
        return Err(invalid("a block does not match its hash"));
    }
    Ok((frame.plain, hash, frame.end + 32))
}

impl BlockTable {
    /// Encodes table and footer. `at` is the offset of the table.
    pub(super) fn encode(&self, at: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.hashes.len() * ROW + FOOTER);
        for (offset, hash) in self.offsets.iter().zip(&self.hashes) {
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.extend_from_slice(hash);
        }
        let count = u32::try_from(self.hashes.len()).expect("an object has few blocks");
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&count.to_le_bytes());
        bytes.extend_from_slice(&self.size.to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        bytes
    }

    fn read(file: &File, id: ObjectId) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let cut = || io::Error::from(ErrorKind::UnexpectedEof);
        let end = length.checked_sub(FOOTER as u64).ok_or_else(cut)?;
        let mut footer = [0; FOOTER];
        read_exact_at(file, &mut footer, end)?;
        let (numbers, magic) = footer.split_at(20);
        if magic != MAGIC {
            return Err(invalid("it is not an object file of version 1"));
        }
        let number = |at: usize| u64::from_le_bytes(numbers[at..at + 8].try_into().expect("eight"));
        let count = u64::from(u32::from_le_bytes(numbers[8..12].try_into().expect("four bytes")));
        let (at, size) = (number(0), number(12));
        if !(2..=BLOCKS_MAX).contains(&count) || end.checked_sub(at) != Some(count * ROW as u64) {
            return Err(invalid("its table has another size"));
        }
        if size.div_ceil(BLOCK as u64) != count {
            return Err(invalid("its size does not match its blocks"));
        }
        let mut rows = vec![0; usize::try_from(end - at).map_err(|_| cut())?];
        read_exact_at(file, &mut rows, at)?;
        let table = Self::from_rows(&rows, size);
        if root(&table.hashes) == id {
            Ok(table)
        } else {
            Err(invalid("its hashes are not its own"))
        }
    }

    fn from_rows(rows: &[u8], size: u64) -> Self {
        let rows = rows.chunks_exact(ROW).map(|row| row.split_at(8));
        let (offsets, hashes) = rows
            .map(|(offset, hash)| {
                let offset = u64::from_le_bytes(offset.try_into().expect("eight bytes"));
                (offset, <BlockHash>::try_from(hash).expect("32 bytes"))
            })
            .unzip();
        Self { offsets, hashes, size }
    }
}

/// A large object that is open for reading. Its table was compared with its id.
#[derive(Debug)]
pub(super) struct ObjectFile {
    file: File,
    table: BlockTable,
}

impl ObjectFile {
    pub(super) fn open(path: &Path, id: ObjectId) -> io::Result<Self> {
        let file = File::open(path)?;
        let table = BlockTable::read(&file, id)?;
        Ok(Self { file, table })
    }

    pub(super) fn size(&self) -> u64 {
        self.table.size
    }

    /// Reads the block that has the byte at this offset, which is before the end.
    pub(super) fn block_at(&self, at: u64) -> io::Result<Vec<u8>> {
        let number = at / BLOCK as u64;
        let index = usize::try_from(number).expect("an object has few blocks");
        let start = number * BLOCK as u64;
        let (bytes, hash, _) = read_block(&self.file, self.table.offsets[index], start)?;
        let promised = (self.table.size - start).min(BLOCK as u64);
        if hash != self.table.hashes[index] || bytes.len() as u64 != promised {
            return Err(invalid("a block is not the one of its table"));
        }
        Ok(bytes)
    }
}

/// Reads the size of a large object from the end of its file, without a look at its content.
pub(super) fn read_size(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let mut size = [0; 8];
    let at = file.metadata()?.len().checked_sub(16);
    let at = at.ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))?;
    read_exact_at(&file, &mut size, at)?;
    Ok(u64::from_le_bytes(size))
}
