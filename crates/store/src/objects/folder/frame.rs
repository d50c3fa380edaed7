//! A frame: some bytes of a file, compressed if that is worth it.
//!
//! ```text
//!  method (1: 0 plain, 1 LZ4) │ stored size (4) │ plain size (4) │ bytes
//! ```
//!
//! LZ4 and not zstd: on sources zstd takes 28 % less space than LZ4, at a fifth of its speed and a ninth when reading, and
//! needs a C compiler and four packages. A frame names its method, so that another one can be added.

use std::fs::File;
use std::io;

use super::layout::read_exact_at;
use crate::objects::interface::BLOCK;

pub(super) const FRAME_HEADER: usize = 9;

const PLAIN: u8 = 0;
const LZ4: u8 = 1;

/// Appends a frame to a buffer. Bytes that hardly shrink are stored plain: reading them costs nothing then.
pub(super) fn push_frame(buffer: &mut Vec<u8>, plain: &[u8]) {
    let begin = buffer.len();
    let most = lz4_flex::block::get_maximum_output_size(plain.len());
    buffer.resize(begin + FRAME_HEADER + most, 0);
    let packed = lz4_flex::block::compress_into(plain, &mut buffer[begin + FRAME_HEADER..]);
    let packed = packed.expect("the buffer has the maximum size");
    let (method, stored) = if packed < plain.len() - plain.len() / 16 {
        (LZ4, packed)
    } else {
        buffer.truncate(begin + FRAME_HEADER);
        buffer.extend_from_slice(plain);
        (PLAIN, plain.len())
    };
    buffer.truncate(begin + FRAME_HEADER + stored);
    let size = |size: usize| u32::try_from(size).expect("a frame has few megabytes").to_le_bytes();
    buffer[begin] = method;
    buffer[begin + 1..begin + 5].copy_from_slice(&size(stored));
    buffer[begin + 5..begin + 9].copy_from_slice(&size(plain.len()));
}

/// A frame that was read, and the offset behind it.
#[derive(Debug)]
pub(super) struct ReadFrame {
    pub(super) plain: Vec<u8>,
    pub(super) end: u64,
}

/// Reads the frame at an offset. An error of kind `InvalidData` or `UnexpectedEof` is damage. The caller compares the bytes
/// with a hash.
pub(super) fn read_frame(file: &File, at: u64) -> io::Result<ReadFrame> {
    let mut header = [0; FRAME_HEADER];
    read_exact_at(file, &mut header, at)?;
    let size = |from: usize| {
        let bytes = header[from..from + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    };
    let (stored, plain) = (size(1), size(5));
    let is_possible = plain > 0 && plain <= BLOCK && stored <= plain;
    if !is_possible {
        return Err(invalid("a frame has an impossible size"));
    }
    let mut bytes = vec![0; stored];
    read_exact_at(file, &mut bytes, at + FRAME_HEADER as u64)?;
    let end = at + (FRAME_HEADER + stored) as u64;
    let plain = match header[0] {
        PLAIN if stored == plain => bytes,
        LZ4 => unpack(&bytes, plain)?,
        _ => return Err(invalid("a frame has an unknown method")),
    };
    Ok(ReadFrame { plain, end })
}

fn unpack(bytes: &[u8], size: usize) -> io::Result<Vec<u8>> {
    let plain = lz4_flex::block::decompress(bytes, size);
    let plain =
        plain.map_err(|error| invalid(&format!("a frame cannot be decompressed: {error}")))?;
    if plain.len() == size { Ok(plain) } else { Err(invalid("a frame has another size")) }
}

pub(super) fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Whether an error means that the bytes of a file are wrong, and not that the disk fails.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn stored(plain: &[u8]) -> (Vec<u8>, File) {
        let mut bytes = b"before".to_vec();
        push_frame(&mut bytes, plain);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        (bytes, file)
    }

    #[test]
    fn frames_round_trip_and_shrink_if_they_can() {
        let text = b"windlass ".repeat(10_000);
        let mut chance = vec![0; 100_000];
        blake3::Hasher::new().finalize_xof().fill(&mut chance);
        for (plain, least, most) in [(&text, 1, 1_000), (&chance, 100_000, 100_000)] {
            let (bytes, file) = stored(plain);
            let size = bytes.len() - 6 - FRAME_HEADER;
            assert!((least..=most).contains(&size), "{size} bytes");
            let frame = read_frame(&file, 6).unwrap();
            assert_eq!((frame.plain == *plain, frame.end), (true, bytes.len() as u64));
        }
    }

    #[test]
    fn damaged_header_reserves_no_memory() {
        let (bytes, _) = stored(b"abc");
        for at in 6..6 + FRAME_HEADER {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x80;
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&damaged).unwrap();
            let error = read_frame(&file, 6).unwrap_err();
            assert!(is_damage(&error), "byte {at}: {error}");
        }
    }
}
