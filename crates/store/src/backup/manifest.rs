//! The manifest of a backup.

use serde::{Deserialize, Serialize};

use super::backup_part::BackupPart;
use super::error::BackupError;
use crate::db::{STORE_FORMAT, StoreError};

/// The value of `format`.
const FORMAT: &str = "windlass-backup";

/// The version that this windlass writes, and the newest that it reads.
const VERSION: u32 = 1;

/// The description of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupManifest {
    format: String,
    version: u32,
    /// The version of the windlass that wrote it.
    pub windlass: String,
    /// The format of the files in it.
    pub store_format: String,
    /// The time at which the backup began, in UTC.
    pub created_at: String,
    /// The kind of the store.
    pub source: BackupSource,
    /// The position of the last event.
    pub position: u64,
    /// The content.
    pub counts: BackupCounts,
    /// The files.
    pub parts: BackupParts,
    /// The BLAKE3 hash of the manifest with an empty `check`.
    check: String,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupSource {
    /// A folder.
    Folder,
    /// A PostgreSQL database.
    Postgres,
}

/// The amounts in a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupCounts {
    /// The events in the journal.
    pub journal_events: u64,
    /// Archived runs.
    pub runs: u64,
    /// The events of archived runs.
    pub run_events: u64,
    /// Idempotency keys of submissions.
    pub keys: u64,
    /// Logs.
    pub logs: u64,
    /// The bytes in them.
    pub log_bytes: u64,
    /// Objects.
    pub objects: u64,
    /// The bytes in them.
    pub object_bytes: u64,
}

/// The parts of a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupParts {
    journal: BackupPartSummary,
    archive: BackupPartSummary,
    logs: BackupPartSummary,
    objects: BackupPartSummary,
}

/// The files of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackupPartSummary {
    /// The number of files.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
    /// The BLAKE3 hash of the lines of these files in `backup.files`.
    pub blake3: String,
}

impl BackupParts {
    /// Returns the files of a part.
    pub const fn part(&self, part: BackupPart) -> &BackupPartSummary {
        match part {
            BackupPart::Journal => &self.journal,
            BackupPart::Archive => &self.archive,
            BackupPart::Logs => &self.logs,
            BackupPart::Objects => &self.objects,
        }
    }

    pub(super) const fn part_mut(&mut self, part: BackupPart) -> &mut BackupPartSummary {
        match part {
            BackupPart::Journal => &mut self.journal,
            BackupPart::Archive => &mut self.archive,
            BackupPart::Logs => &mut self.logs,
            BackupPart::Objects => &mut self.objects,
        }
    }
}

/// The fields that every version has.
#[derive(Deserialize)]
struct BackupManifestHeader {
    format: String,
    version: u32,
}

impl BackupManifest {
    /// Begins a manifest. The files are counted when the backup is completed.
    pub fn new(
        source: BackupSource,
        created_at: String,
        windlass: &str,
        (position, counts): (u64, BackupCounts),
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            windlass: windlass.to_owned(),
            store_format: STORE_FORMAT.to_owned(),
            created_at,
            source,
            position,
            counts,
            parts: BackupParts::default(),
            check: String::new(),
        }
    }

    /// Returns the manifest with its hash.
    pub(super) fn checked(&self) -> Self {
        let unchecked = Self { check: String::new(), ..self.clone() };
        let check = blake3::hash(unchecked.to_json().as_bytes()).to_hex().to_string();
        Self { check, ..unchecked }
    }

    /// Writes the manifest as it is.
    pub(super) fn encode(&self) -> String {
        self.to_json() + "\n"
    }

    fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("it has only texts and numbers")
    }

    /// Reads a manifest, and compares it with its hash.
    pub(super) fn decode(bytes: &[u8], place: &str) -> Result<Self, BackupError> {
        let damaged = |reason: String| BackupError::Damaged {
            place: place.to_owned(),
            findings: vec![format!("manifest: backup.json {reason}")],
        };
        let unreadable = |error: serde_json::Error| damaged(format!("cannot be read: {error}"));
        let header: BackupManifestHeader = serde_json::from_slice(bytes).map_err(unreadable)?;
        if header.format != FORMAT {
            return Err(damaged(format!("has the format `{}`", header.format)));
        }
        if header.version > VERSION {
            let (place, content) = (place.to_owned(), "the manifest of the backup");
            let (found, known) = (header.version, VERSION);
            return Err(StoreError::Newer { place, content, found, known }.into());
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(unreadable)?;
        if manifest.checked().encode().as_bytes() != bytes {
            return Err(damaged("does not match its hash".to_owned()));
        }
        if manifest.store_format != STORE_FORMAT {
            let (place, found) = (place.to_owned(), manifest.store_format);
            return Err(StoreError::OtherFormat { place, found }.into());
        }
        Ok(manifest)
    }
}
