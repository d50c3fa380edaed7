//! The list of the files of a backup: `backup.files`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::backup_part::BackupPart;

/// The digits of a hash.
const HASH_DIGITS: usize = 64;

/// The files of a backup: paths with `/`, and their BLAKE3 hashes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BackupFileList(BTreeMap<String, String>);

impl BackupFileList {
    pub(super) fn add(&mut self, path: &str, hash: blake3::Hash) {
        self.0.insert(path.to_owned(), hash.to_hex().to_string());
    }

    pub(super) fn hash(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Returns the paths, in order.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Writes a line for each file, as `b3sum` does.
    pub(super) fn encode(&self) -> String {
        self.lines_of(|_| true)
    }

    /// Returns the hash of the lines of a part.
    pub(super) fn part_hash(&self, part: BackupPart) -> String {
        let lines = self.lines_of(|path| BackupPart::of_path(path) == Some(part));
        blake3::hash(lines.as_bytes()).to_hex().to_string()
    }

    fn lines_of(&self, wanted: impl Fn(&str) -> bool) -> String {
        let mut lines = String::new();
        for (path, hash) in self.0.iter().filter(|(path, _)| wanted(path)) {
            writeln!(lines, "{hash}  {path}").expect("a text takes every line");
        }
        lines
    }

    /// Reads a list; `None` if it is not exactly as it was written, or names a file outside of the parts.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut list = Self::default();
        for line in str::from_utf8(bytes).ok()?.lines() {
            let (hash, path) =
                line.split_once("  ").filter(|(hash, _)| hash.len() == HASH_DIGITS)?;
            let is_inside = path.split('/').all(|name| !matches!(name, "" | "." | ".."));
            BackupPart::of_path(path).filter(|_| is_inside)?;
            list.0.insert(path.to_owned(), hash.to_owned());
        }
        (list.encode().as_bytes() == bytes).then_some(list)
    }
}
