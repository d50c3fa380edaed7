//! What SQLite and the file system say, in the words of a store.

use std::io;

use rusqlite::{Error, ErrorCode};

use crate::db::StoreError;
pub use crate::db::failure::{damaged, unavailable, unreadable, unusable};

/// What SQLite says.
pub fn from_sqlite(place: &str, error: &Error) -> StoreError {
    let Some(code) = error.sqlite_error_code() else {
        // SQLite did what it was asked, and a value is not of the kind that the schema promises.
        return damaged(place, error.to_string());
    };
    match code {
        ErrorCode::DiskFull => StoreError::Full { place: place.to_owned() },
        ErrorCode::ReadOnly
        | ErrorCode::CannotOpen
        | ErrorCode::PermissionDenied
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::TooBig => unusable(place, with_advice(code, error)),
        ErrorCode::NotADatabase
        | ErrorCode::DatabaseCorrupt
        | ErrorCode::ConstraintViolation
        | ErrorCode::TypeMismatch
        // A plain "SQL error": every statement is tested, so it is the tables that are not as they were made.
        | ErrorCode::Unknown => damaged(place, error.to_string()),
        // Busy, locked, I/O and whatever a later SQLite adds: it may pass, and what was done is not known. A full disk
        // is here too when it is the index of the WAL that finds no room: the batch is in the WAL by then.
        _ => unavailable(place, error.to_string()),
    }
}

/// What the file system says.
pub fn from_io(place: &str, error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full { place: place.to_owned() }
        }
        io::ErrorKind::PermissionDenied => {
            unusable(place, format!("{error}: run windlass as its owner, or name another folder"))
        }
        io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotFound
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::Unsupported => unusable(place, format!("{error}: name another folder")),
        _ => unavailable(place, error.to_string()),
    }
}

fn with_advice(code: ErrorCode, error: &Error) -> String {
    let advice = match code {
        ErrorCode::ReadOnly => {
            "its file or folder is read-only: give this user the right to write there"
        }
        ErrorCode::CannotOpen => {
            "check that it is a file in a folder in which this user may read and write"
        }
        ErrorCode::TooBig => "a batch is larger than SQLite can keep",
        _ => "run windlass as the owner of its folder",
    };
    format!("{error}: {advice}")
}
