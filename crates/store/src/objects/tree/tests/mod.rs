//! Folders that are captured, sent and written elsewhere.

mod attacks;
mod fixtures;
#[cfg(feature = "objects")]
mod folder_store;
mod round_trip;
mod selections;
mod unchanged;
