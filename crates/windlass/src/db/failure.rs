//! The failures that every store tells alike.

use super::error::StoreError;

pub(crate) fn unusable(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Unusable { place: place.to_owned(), reason: reason.into() }
}

pub(crate) fn unavailable(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Unavailable { place: place.to_owned(), reason: reason.into() }
}

pub(crate) fn damaged(place: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { place: place.to_owned(), reason: reason.into() }
}
