//! What journal, archive and logs have in common: how a call is answered, what can go wrong, SQLite and PostgreSQL.

mod error;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod failure;
pub(crate) mod folder;
pub(crate) mod format;
pub(crate) mod frame;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) mod number;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod private;
mod promise;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

pub use error::StoreError;
pub use format::STORE_FORMAT;
pub use promise::{Now, Promise};
