//! The errors that all stores share.

use std::io;

use super::error::StoreError;
use super::frame_format::FrameError;

/// Creates the error for a store that this process cannot use; a retry does not help.
pub fn unusable(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Unusable { place: place.to_owned(), reason: reason.into() }
}

/// Creates the error for a store that does not answer at the moment.
pub fn unavailable(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable { place: place.to_owned(), reason: reason.into() }
}

/// Creates the error for damaged content.
pub fn damaged(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { place: place.to_owned(), reason: reason.into() }
}

/// Creates the error for an unreadable part: it is damaged, or a newer windlass wrote it.
pub fn unreadable(place: &str, part: &str, error: FrameError) -> StoreError {
    match error {
        FrameError::Newer { content, found, known } => StoreError::Newer {
            place: place.to_owned(),
            content,
            found: u32::from(found),
            known: u32::from(known),
        },
        FrameError::Damaged(what) => damaged(place, format!("{part}: {what}")),
    }
}

/// Converts an error of the file system.
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
