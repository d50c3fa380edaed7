//! Converts errors of SQLite to errors of a store.

use rusqlite::{Error, ErrorCode};

use crate::db::StoreError;
pub use crate::db::failure::{damaged, from_io, unavailable, unreadable, unusable};

/// Converts an error of SQLite.
pub fn from_sqlite(place: &str, error: &Error) -> StoreError {
    let Some(code) = error.sqlite_error_code() else {
        // SQLite succeeded, but a value does not have the type of the schema.
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
        // A plain "SQL error": every statement is tested, so the tables are not as they were created.
        | ErrorCode::Unknown => damaged(place, error.to_string()),
        // Busy, locked, I/O and errors of later versions: they may be temporary, and it is unknown whether the call took
        // effect. A full disk is here too if the index of the WAL finds no space: the batch is in the WAL then.
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
