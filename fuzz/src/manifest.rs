//! The properties of manifests.

use std::path::{Component, Path};

use windlass_core::manifest::{
    EntryKind, Manifest, ManifestEntry, ManifestError, ManifestFormatError,
};

use crate::check::{FuzzFinding, FuzzOutcome, promise};

/// Checks bytes as an encoded manifest.
pub(crate) fn check(bytes: &[u8]) -> FuzzOutcome {
    let manifest = match Manifest::decode(bytes) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(kind(&error)),
    };
    promise(manifest.encode() == bytes, "two encodings of one manifest", || {
        format!("{manifest:?}")
    })?;
    let mut shape = String::new();
    for entry in manifest.entries() {
        shape.push_str(stays_inside(entry)?);
    }
    let portable = manifest.check_portable().is_ok();
    Ok(format!("{shape} {portable}"))
}

/// The path and the target of an entry, judged by the standard library and by following them.
fn stays_inside(entry: &ManifestEntry) -> Result<&'static str, FuzzFinding> {
    let path = Path::new(entry.path.as_str());
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let same = path.components().count() == entry.path.depth() + 1;
    promise(plain && same, "a path that is not plain", || format!("{entry:?}"))?;
    let EntryKind::Symlink { target } = &entry.kind else {
        return Ok(if entry.kind == EntryKind::Folder { "d" } else { "f" });
    };
    let mut depth = Some(entry.path.depth());
    for part in Path::new(&**target).components() {
        depth = depth.and_then(|depth| match part {
            Component::Normal(_) => Some(depth + 1),
            Component::CurDir => Some(depth),
            Component::ParentDir => depth.checked_sub(1),
            Component::RootDir | Component::Prefix(_) => None,
        });
    }
    promise(depth.is_some(), "a link that leaves", || format!("{entry:?}"))?;
    Ok(if target.contains("..") { "u" } else { "l" })
}

/// The kind of an error, without the path.
fn kind(error: &ManifestFormatError) -> String {
    match error {
        ManifestFormatError::Invalid(ManifestError::Path { problem, .. }) => problem.to_string(),
        ManifestFormatError::Invalid(ManifestError::Symlink { problem, .. }) => problem.to_string(),
        ManifestFormatError::Invalid(ManifestError::Duplicate { .. }) => "twice".to_owned(),
        ManifestFormatError::Invalid(ManifestError::NoFolder { .. }) => "no folder".to_owned(),
        other => other.to_string(),
    }
}
