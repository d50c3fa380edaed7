//! What all stores share: call types, errors, formats, SQLite and PostgreSQL.

mod error;
#[cfg(feature = "objects")]
pub mod failure;
pub mod format;
pub mod frame_format;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub mod sql_number;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod store_future;

pub use error::StoreError;
pub use format::STORE_FORMAT;
pub use store_future::{NowFn, StoreFuture};
