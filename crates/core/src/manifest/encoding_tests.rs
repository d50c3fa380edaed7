//! The encoding round-trips, is canonical, and refuses everything else.

use super::encoding::{CUT, HEADER, ManifestFormatError};
use super::entry::{EntryKind, ManifestEntry};
use super::path::{ManifestPath, PathProblem};
use super::tree::{Manifest, ManifestError};
use crate::object::ObjectId;

fn entry(path: &str, kind: EntryKind) -> ManifestEntry {
    ManifestEntry { path: ManifestPath::parse(path).expect("a valid path"), kind }
}

fn file(executable: bool, text: &str) -> EntryKind {
    EntryKind::File { executable, size: text.len() as u64, object: ObjectId::of(text.as_bytes()) }
}

fn sample() -> Manifest {
    let entries = vec![
        entry("bin", EntryKind::Folder),
        entry("bin/run", file(true, "#!/bin/sh\n")),
        entry("bin/start", EntryKind::Symlink { target: "run".into() }),
        entry("empty", EntryKind::Folder),
        entry("größe", file(false, "")),
    ];
    Manifest::from_entries(entries).expect("it keeps the rules")
}

/// Replaces the only occurrence of a text by another of the same length.
fn forge(from: &str, to: &str) -> Result<Manifest, ManifestFormatError> {
    let mut bytes = sample().encode();
    let at = bytes.windows(from.len()).position(|it| it == from.as_bytes()).expect("it is there");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    Manifest::decode(&bytes)
}

#[test]
fn manifest_round_trips() {
    for manifest in [Manifest::default(), sample()] {
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }
}

/// Version 1 is stored and hashed: these bytes never change.
#[test]
fn encoding_of_version_1_is_fixed() {
    let id = ObjectId::of(&sample().encode()).to_string();
    assert_eq!(id, "1284ef27b79331c2157c180a71e2d71e3eed64708c9d750d93c1cbca43ec69a5");
    let small = Manifest::from_entries(vec![
        entry("a", EntryKind::Folder),
        entry("a/l", EntryKind::Symlink { target: "b".into() }),
    ]);
    let bytes = small.expect("it keeps the rules").encode();
    assert_eq!(bytes, b"windlass manifest 1\n\x02\0\0\0\x01\0a\0\x03\0a/l\x03\x01\0b");
}

#[test]
fn every_truncation_and_every_extension_is_refused() {
    let bytes = sample().encode();
    for length in 0..bytes.len() {
        assert!(Manifest::decode(&bytes[..length]).is_err(), "cut to {length}");
    }
    let longer = [&bytes[..], b"\0"].concat();
    assert_eq!(
        Manifest::decode(&longer),
        Err(ManifestFormatError::Damaged("bytes follow its end"))
    );
}

/// A manifest that decodes encodes to the same bytes, so two different encodings never are one manifest.
#[test]
fn whatever_decodes_is_canonical() {
    let bytes = sample().encode();
    for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << bit;
        if let Ok(manifest) = Manifest::decode(&changed) {
            assert_eq!(manifest.encode(), changed, "byte {at}, bit {bit}");
        }
    }
}

#[test]
fn forged_manifests_are_refused() {
    let path = |path: &str, problem| {
        Err(ManifestFormatError::Invalid(ManifestError::Path { path: path.to_owned(), problem }))
    };
    assert_eq!(forge("bin/run", "../../x"), path("../../x", PathProblem::DotName));
    assert_eq!(forge("bin/run", "/in/run"), path("/in/run", PathProblem::Absolute));
    assert_eq!(forge("bin/run", "bin\\run"), path("bin\\run", PathProblem::Backslash));
    assert_eq!(forge("empty", "a\nbcd"), path("a\nbcd", PathProblem::ControlCharacter));
    // Out of order, twice, in no folder, a link that leaves.
    for (from, to) in [("empty", "aaaaa"), ("bin/start", "bin/run\u{7f}x"), ("bin/run", "bix/run")]
    {
        assert!(forge(from, to).is_err(), "{to}");
    }
    assert_eq!(forge("manifest 1", "manifest 2"), Err(ManifestFormatError::Newer));
    assert_eq!(forge("windlass", "Windlass"), Err(ManifestFormatError::NotAManifest));
}

#[test]
fn count_that_lies_reserves_no_memory() {
    let bytes = [HEADER, &u32::MAX.to_le_bytes()].concat();
    assert_eq!(Manifest::decode(&bytes), Err(ManifestError::TooMany.into()));
    let bytes = [HEADER, &1_000_000_u32.to_le_bytes()].concat();
    assert_eq!(Manifest::decode(&bytes), Err(CUT));
}
