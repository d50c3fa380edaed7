//! The failures that every store tells alike.

use super::error::StoreError;

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
