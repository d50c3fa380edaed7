//! The bytes of a manifest, version 1.
//!
//! ```text
//!  "windlass manifest 1\n" │ number of entries (4) │ entries in order
//!  entry: length (2) │ path │ kind (1) │ folder:      nothing
//!                                      │ file, executable file: size (8) │ object (32)
//!                                      │ link:        length (2) │ target
//! ```
//!
//! Numbers are little-endian and of fixed size, so a manifest has one encoding, and its object is the same wherever it is
//! made.

use super::entry::{EntryKind, ManifestEntry};
use super::path::ManifestPath;
use super::tree::{ENTRIES_MAX, Manifest, ManifestError};
use crate::object::ObjectId;

pub(super) const HEADER: &[u8] = b"windlass manifest 1\n";

/// The beginning of every version.
const NAME: &[u8] = b"windlass manifest ";

/// Maximum bytes of an encoded manifest: [`ENTRIES_MAX`] entries with paths of 200 bytes.
pub const MANIFEST_BYTES_MAX: usize = 256 << 20;

const FOLDER: u8 = 0;
const FILE: u8 = 1;
const EXECUTABLE: u8 = 2;
const SYMLINK: u8 = 3;

/// The reason why bytes are not a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestFormatError {
    /// They do not begin as a manifest does.
    #[error("this object is not a manifest")]
    NotAManifest,
    /// A newer windlass wrote it.
    #[error(
        "the manifest has a newer version than 1: use the windlass that wrote it, or a newer one"
    )]
    Newer,
    /// It is cut short, too long, or contains an unknown kind.
    #[error("the manifest is damaged: {0}")]
    Damaged(&'static str),
    /// Its entries break a rule.
    #[error("the manifest is refused: {0}")]
    Invalid(#[from] ManifestError),
}

impl Manifest {
    /// Encodes the manifest.
    pub fn encode(&self) -> Vec<u8> {
        let count = u32::try_from(self.entries().len()).expect("there are at most a million");
        let mut bytes = [HEADER, &count.to_le_bytes()].concat();
        for ManifestEntry { path, kind } in self.entries() {
            push_text(&mut bytes, path.as_str());
            match kind {
                EntryKind::Folder => bytes.push(FOLDER),
                EntryKind::File { executable, size, object } => {
                    bytes.push(if *executable { EXECUTABLE } else { FILE });
                    bytes.extend_from_slice(&size.to_le_bytes());
                    bytes.extend_from_slice(object.as_bytes());
                }
                EntryKind::Symlink { target } => {
                    bytes.push(SYMLINK);
                    push_text(&mut bytes, target);
                }
            }
        }
        bytes
    }

    /// Whether bytes begin as a manifest of any version does.
    pub fn is_encoded(bytes: &[u8]) -> bool {
        bytes.starts_with(NAME)
    }

    /// Decodes a manifest and checks it.
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestFormatError> {
        if bytes.len() > MANIFEST_BYTES_MAX {
            return Err(ManifestFormatError::Damaged("it is too long"));
        }
        let Some(body) = bytes.strip_prefix(HEADER) else {
            return Err(match bytes.strip_prefix(NAME) {
                Some(_) => ManifestFormatError::Newer,
                None => ManifestFormatError::NotAManifest,
            });
        };
        let mut rest = ManifestBytes(body);
        let count = rest.number(u32::from_le_bytes)? as usize;
        if count > ENTRIES_MAX {
            return Err(ManifestError::TooMany.into());
        }
        // The count may lie; the shortest entry has four bytes.
        let mut entries = Vec::with_capacity(count.min(rest.0.len() / 4));
        for _ in 0..count {
            entries.push(rest.entry()?);
        }
        if !rest.0.is_empty() {
            return Err(ManifestFormatError::Damaged("bytes follow its end"));
        }
        Ok(Self::from_sorted(entries)?)
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("paths and targets have at most 1,024 bytes");
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

/// The bytes that are not decoded yet.
struct ManifestBytes<'a>(&'a [u8]);

impl<'a> ManifestBytes<'a> {
    fn entry(&mut self) -> Result<ManifestEntry, ManifestFormatError> {
        let text = self.text()?;
        let path = ManifestPath::parse(text)
            .map_err(|problem| ManifestError::Path { path: text.to_owned(), problem })?;
        let kind = match self.array::<1>()? {
            [FOLDER] => EntryKind::Folder,
            [kind @ (FILE | EXECUTABLE)] => EntryKind::File {
                executable: kind == EXECUTABLE,
                size: self.number(u64::from_le_bytes)?,
                object: ObjectId::new(self.array()?),
            },
            [SYMLINK] => EntryKind::Symlink { target: self.text()?.into() },
            _ => return Err(ManifestFormatError::Damaged("it has an unknown kind of entry")),
        };
        Ok(ManifestEntry { path, kind })
    }

    fn text(&mut self) -> Result<&'a str, ManifestFormatError> {
        let length = usize::from(self.number(u16::from_le_bytes)?);
        let (text, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        str::from_utf8(text).map_err(|_| ManifestFormatError::Damaged("a path is not UTF-8"))
    }

    fn number<T, const N: usize>(
        &mut self,
        read: fn([u8; N]) -> T,
    ) -> Result<T, ManifestFormatError> {
        self.array().map(read)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ManifestFormatError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(*array)
    }
}

pub(super) const CUT: ManifestFormatError = ManifestFormatError::Damaged("it is cut short");
