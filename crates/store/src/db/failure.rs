//! The failures that every store tells alike.

use super::error::StoreError;
use super::frame_format::FrameError;

/// A store that this process cannot use, whatever it does.
pub fn unusable(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Unusable { place: place.to_owned(), reason: reason.into() }
}

/// A store that does not answer at the moment.
pub fn unavailable(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable { place: place.to_owned(), reason: reason.into() }
}

/// A store whose content is damaged.
pub fn damaged(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { place: place.to_owned(), reason: reason.into() }
}

/// A store with a part that cannot be read: it is damaged, or a newer windlass wrote it.
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
