//! Writes a batch of objects as a pack.

use std::fs::{self, File};
use std::io::{self, Write as _};

use windlass_core::object::ObjectId;

use super::frame::push_frame;
use super::layout::{ObjectLayout, publish};
use super::pack_file::{PackEntry, encode_index};

/// Plain bytes of a frame, unless it is one larger object: small files compress well only together, and reading one of them
/// unpacks all of its frame, which takes 50 µs.
const FRAME: usize = 128 << 10;

/// A pack that was written.
#[derive(Debug)]
pub(super) struct WrittenPack {
    pub(super) name: String,
    pub(super) entries: Vec<PackEntry>,
}

/// Writes the objects, of which there is at least one, each once, and publishes the pack. Its name is the hash of its index:
/// two processes that write the same pack write the same file.
pub(super) fn write_pack(
    layout: &ObjectLayout,
    objects: &[(ObjectId, &[u8])],
) -> io::Result<WrittenPack> {
    let (file, path) = layout.create_new()?;
    let written = write_frames(&file, objects).and_then(|pack| {
        publish(&file, &path, &layout.pack(&pack.name))?;
        Ok(pack)
    });
    if written.is_err() {
        // What remains of it after a crash, or if this fails too, is removed by a sweep.
        drop(fs::remove_file(&path));
    }
    written
}

fn write_frames(mut file: &File, objects: &[(ObjectId, &[u8])]) -> io::Result<WrittenPack> {
    let (mut entries, mut plain, mut frame) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = 0_usize;
    let number = |size: usize| u32::try_from(size).expect("a pack has few megabytes");
    for (index, (id, bytes)) in objects.iter().enumerate() {
        let (start, size) = (number(plain.len()), number(bytes.len()));
        entries.push(PackEntry { id: *id, frame: number(at), start, size });
        plain.extend_from_slice(bytes);
        let next = objects.get(index + 1).map_or(usize::MAX, |(_, bytes)| bytes.len());
        if plain.len().saturating_add(next) > FRAME && !plain.is_empty() {
            push_frame(&mut frame, &plain);
            file.write_all(&frame)?;
            at += frame.len();
            (plain, frame) = (cleared(plain), cleared(frame));
        }
    }
    entries.sort_unstable_by_key(|entry| entry.id);
    let index = encode_index(&entries, at as u64);
    file.write_all(&index)?;
    Ok(WrittenPack { name: ObjectId::of(&index).to_string(), entries })
}

/// Keeps the memory of a buffer.
fn cleared(mut buffer: Vec<u8>) -> Vec<u8> {
    buffer.clear();
    buffer
}
