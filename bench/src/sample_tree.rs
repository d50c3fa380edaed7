//! Trees of files that compress as build results do: to about a half.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::plans::SplitMix64;

/// Files of a folder.
const FILES_OF_A_FOLDER: u32 = 50;

/// Writes one file of this size, and returns its bytes.
pub(crate) fn large_file(folder: &Path, bytes: u64) -> f64 {
    fs::create_dir_all(folder).expect("there is room");
    let mut file = BufWriter::new(File::create(folder.join("large")).expect("there is room"));
    let mut chance = SplitMix64(7);
    let mut written = 0;
    while written < bytes {
        let part = content(&mut chance, 1 << 16);
        file.write_all(&part).expect("there is room");
        written += part.len() as u64;
    }
    file.flush().expect("there is room");
    #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
    let written = written as f64;
    written
}

/// Writes many files of about this size, and returns their bytes.
pub(crate) fn many_files(folder: &Path, files: u32, size: u32) -> f64 {
    let mut chance = SplitMix64(11);
    let mut written = 0.0;
    for at in 0..files {
        let group = at / FILES_OF_A_FOLDER;
        let folder = folder.join(format!("package-{}/module-{group}", group % 40));
        if at.is_multiple_of(FILES_OF_A_FOLDER) {
            fs::create_dir_all(&folder).expect("there is room");
        }
        let size = size / 2 + chance.below(size.into());
        fs::write(folder.join(format!("file-{at}.js")), content(&mut chance, size))
            .expect("there is room");
        written += f64::from(size);
    }
    written
}

/// Random bytes and repeated text in turns.
fn content(chance: &mut SplitMix64, size: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size as usize + 256);
    while bytes.len() < size as usize {
        for _ in 0..16 {
            bytes.extend_from_slice(&chance.below(1 << 31).to_le_bytes());
        }
        bytes
            .extend_from_slice(b"export function render(component, properties) { return null; }\n");
    }
    bytes.truncate(size as usize);
    bytes
}
