//! What journal, archive and logs have in common: how a call is answered, what can go wrong, SQLite and PostgreSQL.

pub(crate) mod checksum_frame;
pub(crate) mod durable_folder;
mod error;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod failure;
pub(crate) mod format;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod private_files;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod sql_number;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod store_future;

pub use error::StoreError;
pub use format::STORE_FORMAT;
pub use store_future::{NowFn, StoreFuture};
