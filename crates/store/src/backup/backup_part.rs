//! The parts of a backup.

use std::fmt;

/// A part of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BackupPart {
    /// The journal with its snapshots, and the id of the cluster.
    Journal,
    /// Ended runs, and the keys of submissions.
    Archive,
    /// The output of steps.
    Logs,
    /// Objects.
    Objects,
}

impl BackupPart {
    /// All parts, in the order of the manifest.
    pub const ALL: [Self; 4] = [Self::Journal, Self::Archive, Self::Logs, Self::Objects];

    /// Returns the part of a file, by its path in the folder; `None` for a file that a backup does not contain. The files that
    /// SQLite would read beside a database belong to the part of it, so that they are found.
    pub fn of_path(path: &str) -> Option<Self> {
        let begins = |start: &str| path.starts_with(start);
        if path.contains('/') {
            let objects = begins("objects/packs/") || begins("objects/files/");
            return if begins("logs/") {
                Some(Self::Logs)
            } else {
                objects.then_some(Self::Objects)
            };
        }
        if begins("journal.db") || begins("snapshot-") || path == "cluster" {
            Some(Self::Journal)
        } else {
            begins("archive.db").then_some(Self::Archive)
        }
    }
}

impl fmt::Display for BackupPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Journal => "journal",
            Self::Archive => "archive",
            Self::Logs => "logs",
            Self::Objects => "objects",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_a_store_belongs_to_a_part_or_stays_out() {
        for (path, part) in [
            ("journal.db", Some(BackupPart::Journal)),
            ("journal.db-wal", Some(BackupPart::Journal)),
            ("snapshot-00000000000000000007-0000000000000001", Some(BackupPart::Journal)),
            ("cluster", Some(BackupPart::Journal)),
            ("archive.db", Some(BackupPart::Archive)),
            ("logs/6gzc/0.1.1.log", Some(BackupPart::Logs)),
            ("objects/packs/ab.pack", Some(BackupPart::Objects)),
            ("objects/files/ab/ab12", Some(BackupPart::Objects)),
        ] {
            assert_eq!(BackupPart::of_path(path), part, "{path}");
        }
        let others =
            ["head", "leader.lock", "snapshot.lock", "copying", "workers/1/lives", "objects/lock"];
        for path in others.into_iter().chain(["objects/new/7", "logs", "starting", "backup.json"]) {
            assert_eq!(BackupPart::of_path(path), None, "{path}");
        }
    }
}
