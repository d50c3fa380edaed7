//! An upload: the blocks of a large object that have arrived.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;

use windlass_core::object::ObjectId;
use windlass_net::files::private_files;

use super::block_tree::{BlockHash, root};
use super::frame::is_damage;
use super::layout::{ObjectLayout, publish};
use super::object_file::{BlockTable, push_block, read_block};
use crate::objects::interface::BLOCK;

/// An open upload. Its file has blocks only; the table follows when it is whole.
#[derive(Debug)]
pub(super) struct Upload {
    file: File,
    blocks: BlockTable,
    /// The offset in the file behind the last block.
    end: u64,
}

/// The result of finishing an upload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FinishedUpload {
    /// It was published.
    Published,
    /// It has one block or none: it is too small for a file of its own.
    Small(Vec<u8>),
    /// There are more bytes than the object has.
    TooLong,
    /// The bytes are those of another object.
    Other(ObjectId),
}

impl Upload {
    /// Opens an upload, and creates it if it is to begin; otherwise `None` if there is none.
    pub(super) fn open(
        layout: &ObjectLayout,
        id: ObjectId,
        begins: bool,
    ) -> io::Result<Option<Self>> {
        let mut options = private_files::open_options();
        options.read(true).write(true).create(begins);
        match options.open(layout.upload(id)) {
            Err(error) if error.kind() == ErrorKind::NotFound && !begins => Ok(None),
            file => Ok(Some(Self { file: file?, blocks: BlockTable::default(), end: 0 })),
        }
    }

    /// Takes the upload for this call, and verifies blocks that another process has written or that were there before.
    /// `None` if the file was removed or published meanwhile: cutting off what follows its blocks would damage an object.
    pub(super) fn lock(&mut self, path: &Path) -> io::Result<Option<UploadGuard<'_>>> {
        self.file.lock()?;
        let guard = UploadGuard { upload: self };
        if !is_file_at(&guard.upload.file, path)? {
            return Ok(None);
        }
        guard.upload.verify_new_blocks()?;
        Ok(Some(guard))
    }

    /// Reads blocks behind the known ones as far as they are whole, and cuts off what follows: a crash leaves half a block.
    fn verify_new_blocks(&mut self) -> io::Result<()> {
        let length = self.file.metadata()?.len();
        if length < self.end {
            (self.blocks, self.end) = (BlockTable::default(), 0);
        }
        while self.end < length && self.blocks.size.is_multiple_of(BLOCK as u64) {
            match read_block(&self.file, self.end, self.blocks.size) {
                Ok((bytes, hash, end)) => self.add(bytes.len(), hash, end),
                Err(error) if is_damage(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.end < length { self.file.set_len(self.end) } else { Ok(()) }
    }

    fn add(&mut self, size: usize, hash: BlockHash, end: u64) {
        self.blocks.offsets.push(self.end);
        self.blocks.hashes.push(hash);
        self.blocks.size += size as u64;
        self.end = end;
    }
}

/// An upload that no other process and no other call changes.
#[derive(Debug)]
pub(super) struct UploadGuard<'a> {
    upload: &'a mut Upload,
}

impl UploadGuard<'_> {
    pub(super) fn size(&self) -> u64 {
        self.upload.blocks.size
    }

    /// Writes blocks, compressed in parallel.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let upload = &mut *self.upload;
        let blocks = pack_blocks(upload.blocks.size, bytes);
        for (plain, (packed, hash)) in bytes.chunks(BLOCK).zip(blocks) {
            if let Err(error) = write_all_at(&upload.file, &packed, upload.end) {
                // A full disk may have taken a part.
                drop(upload.file.set_len(upload.end));
                return Err(error);
            }
            upload.add(plain.len(), hash, upload.end + packed.len() as u64);
        }
        Ok(())
    }

    /// Publishes the upload as an object if its bytes are those of the object.
    pub(super) fn finish(self, layout: &ObjectLayout, id: ObjectId) -> io::Result<FinishedUpload> {
        let Upload { file, blocks, end } = &*self.upload;
        if let [] | [_] = blocks.hashes[..] {
            let read = blocks.hashes.first().map(|_| read_block(file, 0, 0)).transpose()?;
            return Ok(FinishedUpload::Small(read.map(|(bytes, ..)| bytes).unwrap_or_default()));
        }
        let found = root(&blocks.hashes);
        if found != id {
            return Ok(FinishedUpload::Other(found));
        }
        write_all_at(file, &blocks.encode(*end), *end)?;
        let folder = layout.file_folder(id);
        windlass_net::files::durable_folder::create_durably(&folder)?;
        publish(file, &layout.upload(id), &layout.file(id))?;
        Ok(FinishedUpload::Published)
    }
}

impl Drop for UploadGuard<'_> {
    fn drop(&mut self) {
        // The lock ends with the process at the latest.
        drop(self.upload.file.unlock());
    }
}

/// Hashes and compresses blocks, each on a thread of its own: there are at most four.
fn pack_blocks(size: u64, bytes: &[u8]) -> Vec<(Vec<u8>, BlockHash)> {
    let pack = |at: u64, plain: &[u8]| {
        let mut packed = Vec::new();
        let hash = push_block(&mut packed, at, plain);
        (packed, hash)
    };
    let blocks = (size..).step_by(BLOCK).zip(bytes.chunks(BLOCK));
    if bytes.len() <= BLOCK {
        return blocks.map(|(at, plain)| pack(at, plain)).collect();
    }
    thread::scope(|scope| {
        let threads: Vec<_> =
            blocks.map(|(at, plain)| scope.spawn(move || pack(at, plain))).collect();
        let packed = threads.into_iter().map(thread::ScopedJoinHandle::join);
        packed.map(|packed| packed.expect("hashing and compressing do not panic")).collect()
    })
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(windows)]
fn write_all_at(mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    use std::io::{Seek as _, Write as _};
    file.seek(io::SeekFrom::Start(at))?;
    file.write_all(bytes)
}

/// Whether the path still names this file.
fn is_file_at(file: &File, path: &Path) -> io::Result<bool> {
    let named = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let open = file.metadata()?;
        Ok((named.dev(), named.ino()) == (open.dev(), open.ino()))
    }
    // Other systems neither remove nor rename an open file.
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(named.is_file())
    }
}
