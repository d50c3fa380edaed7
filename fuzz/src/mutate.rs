//! Random mutations.

use crate::rng::FuzzRng;

/// The maximum length of an input.
const LENGTH_MAX: usize = 4096;

/// The maximum number of mutations of one input.
const CHANGES_MAX: usize = 6;

/// Creates an input from one or two inputs of the pool.
pub(crate) fn mutated(chance: &mut FuzzRng, pool: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut bytes = chance.of(pool).clone();
    for _ in 0..=chance.below(CHANGES_MAX) {
        change(chance, &mut bytes, pool, words);
        bytes.truncate(LENGTH_MAX);
    }
    bytes
}

fn change(chance: &mut FuzzRng, bytes: &mut Vec<u8>, pool: &[Vec<u8>], words: &[&str]) {
    let length = bytes.len();
    match chance.below(12) {
        // Flip a bit.
        0 if length > 0 => bytes[chance.below(length)] ^= 1 << chance.below(8),
        // Replace a byte.
        1 if length > 0 => {
            let at = chance.below(length);
            bytes[at] = b"\0\t\n\r \"'$\\{}[]:#&*!|>,-\xc3\xff"[chance.below(24)];
        }
        // Remove the end.
        2 => bytes.truncate(chance.below(length + 1)),
        // Remove a part.
        3 => drop(bytes.drain(chance.range(length, 40))),
        // Copy a part elsewhere.
        4 => {
            let part = bytes[chance.range(length, 80)].to_vec();
            insert(bytes, chance.below(length + 1), &part);
        }
        // Repeat a part many times.
        5 => {
            let range = chance.range(length, 12);
            let part = bytes[range.clone()].repeat(1 + chance.below(64));
            insert(bytes, range.start, &part);
        }
        // Join the beginning of this input and the end of another.
        6 => {
            let other = chance.of(pool);
            bytes.truncate(chance.below(length + 1));
            bytes.extend_from_slice(&other[chance.below(other.len() + 1)..]);
        }
        // Insert a part of another input.
        7 => {
            let other = chance.of(pool);
            let part = &other[chance.range(other.len(), 120)];
            insert(bytes, chance.below(length + 1), part);
        }
        // Move, remove or repeat a line.
        8 => lines(chance, bytes),
        // Replace a part by a word.
        9 => {
            let range = chance.range(length, 12);
            bytes.splice(range, chance.of(words).bytes());
        }
        _ => insert(bytes, chance.below(length + 1), chance.of(words).as_bytes()),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, part: &[u8]) {
    bytes.splice(at..at, part.iter().copied());
}

fn lines(chance: &mut FuzzRng, bytes: &mut Vec<u8>) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(Vec::from).collect();
    if lines.is_empty() {
        return;
    }
    let at = chance.below(lines.len());
    let line = lines[at].clone();
    let to = chance.below(lines.len());
    match chance.below(4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, line),
        2 => lines.swap(at, to),
        _ => lines[at].splice(0..0, *b"  ").for_each(drop),
    }
    *bytes = lines.concat();
}
